"""What every client can do: the protocol, and what they share."""

import os
from collections.abc import AsyncGenerator, Mapping
from importlib import import_module
from inspect import signature
from typing import Any, NamedTuple, Protocol, cast

from quire.errors import MissingExtra, NotAuthorized, WrongType
from quire.models.failing import Failure
from quire.models.patience import Patience
from quire.providers import plain_json

Json = dict[str, Any]

NO_KEY = "none"
"""Sent where somebody else's address is asked without a key: one meant for the provider goes nowhere else."""


class Place(NamedTuple):
    """Where a model is, with what key it is asked and how long it is waited for."""

    model: str
    base_url: str | None
    api_key: str | None
    patience: Patience
    variable: str | None = None
    """The environment variable that has the key, where the SDK does not know which."""
    given: Any = None
    """An SDK's client that somebody made, to be used as it is."""


class NoResponse(Exception):
    """What came with a good status is no response: a page, or a text; its words, if it has any."""


class Client(Protocol):
    """Sends requests of one wire. It belongs to the event loop in which it was made."""

    def events(self, request: Json, *, stream: bool) -> AsyncGenerator[Json, None]:
        """What comes back, as plain JSON: the events of a stream, or the whole response as the only one.

        Who was asked for a stream and answers in one piece has its response marked as `Whole`.
        """
        ...

    def explain(self, fault: Exception) -> Failure:
        """What an exception of the SDK means."""
        ...

    async def close(self) -> None:
        """Let go of the connections."""
        ...


def sdk(module: str, extra: str) -> Any:
    """The module of an SDK."""
    try:
        return import_module(module)
    except ModuleNotFoundError as fault:
        raise MissingExtra(f"the client {module.partition('.')[0]!r}", extra) from fault


def plain(response: Any) -> Json:
    """What an SDK gives, as plain JSON; it gives a text where a service answers with a page."""
    if isinstance(response, str | bytes) or response is None:
        raise NoResponse(response if isinstance(response, str) else "")
    try:
        return plain_json(response)
    except WrongType as fault:  # an object that was made of something else, and cannot be written
        raise NoResponse from fault


def key_for(place: Place) -> str | None:
    """The key to send; None leaves it to the SDK, which knows the variables of its own service."""
    if place.api_key is not None:
        return place.api_key
    if place.variable is not None:
        key = os.environ.get(place.variable)
        if not key:
            raise no_key(place.model, place.variable)
        return key
    return NO_KEY if place.base_url else None


def no_key(model: str, variable: str) -> NotAuthorized:
    """The error where no key is there to be sent."""
    return NotAuthorized(f"there is no key for {model}: set {variable}, or give api_key")


def fitted(call: Any, request: Mapping[str, Any]) -> Json:
    """A request as arguments of an SDK's method; what the method does not know goes along in `extra_body`."""
    known = signature(call).parameters
    body = {name: value for name, value in request.items() if name not in known}
    arguments = {name: value for name, value in request.items() if name in known}
    if body:
        arguments["extra_body"] = {**body, **cast(Json, arguments.get("extra_body") or {})}
    return arguments


def is_named(fault: BaseException, *names: str) -> bool:
    """Whether an exception is of one of these classes, by name: there are two httpx, with the same ones."""
    return any(kind.__name__ in names for kind in type(fault).__mro__)


def object_in(value: Any) -> Mapping[str, Any]:
    """A JSON object; an empty one where something else stands in its place."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def seconds_for(patience: Patience, *, stream: bool) -> Json:
    """The limits of a connection; of an answer in one piece nothing is heard until it is there."""
    read = patience.idle if stream else patience.total
    return {"connect": patience.connect, "read": read, "write": patience.idle, "pool": patience.total}
