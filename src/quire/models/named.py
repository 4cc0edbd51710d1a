"""Models by name: of the providers, of any service that speaks their wires, and local ones."""

import asyncio
import os
import re
import tomllib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self, Unpack

from quire.errors import InvalidValue, WrongType, cut
from quire.models.answers import Answering, AnswerReader, Sending
from quire.models.clients import CLIENTS, Client, Endpoint, PerLoop, Retries, Timeouts, answer_deltas
from quire.models.local import Local
from quire.models.model import AnyModel, Asks, sent_shape
from quire.models.requests import AnswerShape, Terms, checked, request_for
from quire.providers import Rendered, provider_for
from quire.tokens import facts_for, named

_Json = dict[str, Any]

LOCAL = "local"
_ADDRESS = re.compile(r"@(https?://\S+)$")
_NO_SCHEME = re.compile(r"@[\w.-]+:\d+")  # a host and a port
_OPENAI = re.compile(r"https://([\w-]+\.)?api\.openai\.com([:/]|$)")
_FORMS = (
    'use "openai:gpt-5.6", "openai-responses:…", "anthropic:…", "google:…", "local", '
    '"local:/path/to/weights.gguf", or "openai:name@http://127.0.0.1:8000/v1" for any service that speaks '
    "the wire"
)


class Named(NamedTuple):
    """A parsed name: the wire or `local`, the model's name, its address, the variable of its key."""

    client: str
    model: str
    base_url: str | None = None
    key: str | None = None

    @property
    def wire(self) -> str:
        return Local.wire if self.client == LOCAL else self.client


ALIASES: dict[str, Named] = {
    name: Named(**row)
    for name, row in tomllib.loads(Path(__file__).with_name("aliases.toml").read_text("utf-8")).items()
}
"""Names of models in other libraries."""


def read_name(name: str) -> Named:
    """Parse a name; an unknown name is an error that lists the forms."""
    match = _ADDRESS.search(named(name, "the name of a model"))
    rest, address = (name[: match.start()], match[1]) if match else (name, None)
    if _NO_SCHEME.search(rest):
        raise InvalidValue(f"the address in {cut(name)!r} must begin with http:// or https://")
    client, colon, model = rest.partition(":")
    client = "gemini" if client == "google" else client
    if (client in CLIENTS and model) or client == LOCAL:
        return Named(client, model, address)
    if alias := ALIASES.get(rest):
        return alias._replace(base_url=address, key=None) if address else alias
    provider = None if colon or "/" in rest else facts_for(rest).provider
    if provider is None:
        raise InvalidValue(f"no model {cut(name)!r} is known; {_FORMS}")
    return Named(provider, rest, address)


class Model(Asks):
    """A model by name: `openai:…`, `anthropic:…`, `google:…`, `local`, or one of the known names.

    A model needs a key, the network and an SDK only from its first request on. `base_url` is the address of
    any service with the provider's API. One object may be used in several event loops; `close`, or the end of
    `async with`, closes the connections of the running loop.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float | Timeouts = Timeouts(),  # noqa: B008
        retries: int | Retries = Retries(),  # noqa: B008
        options: Mapping[str, Any] | None = None,
        client: Any = None,
        answer_schema: bool | None = None,
        cache: bool | None = None,
    ) -> None:
        """Name a model; `options` go with every request, `client` is the caller's client of the SDK.

        `answer_schema` says whether the service enforces the schema of an answer; None uses the facts of the
        model, and once the service has refused one, no more are sent. `cache` says whether the service takes
        fields for prompt caches; None is yes, except for OpenAI's wires at an address that is not OpenAI's.
        """
        if not isinstance(base_url, str | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"base_url must be a text, not {type(base_url).__name__}")
        parsed_name = read_name(name)
        self.wire = parsed_name.wire
        self.answer_schema = answer_schema
        self._cache = cache
        self._is_local = parsed_name.client == LOCAL
        self._retries = Retries.of(retries)
        self._options = checked({"options": options}).get("options") or {}
        variable = None if base_url else parsed_name.key
        address = base_url or parsed_name.base_url
        self._endpoint = Endpoint(parsed_name.model, address, api_key, Timeouts.of(timeout), variable, client)
        self._clients: PerLoop[Client] = PerLoop(lambda: CLIENTS[self.wire](self._endpoint))
        self._local: Local | None = None

    def __repr__(self) -> str:
        return f"<Model {LOCAL if self._is_local else self.wire}:{self._endpoint.model}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def name(self) -> str:
        """The name that is sent to the service, or that of a local model's file."""
        return self._weights().name if self._is_local else self._endpoint.model

    @property
    def context(self) -> int | None:
        """The window of a local model in tokens; for other models it is a fact."""
        return self._weights().context if self._is_local else None

    @property
    def caches(self) -> bool:
        """Whether requests are rendered with fields for prompt caches."""
        return not self._is_other_service() if self._cache is None else self._cache

    def send(self, rendered: Rendered, *, stream: bool = True, **terms: Unpack[Terms]) -> Answering:
        """The answer to exactly this payload. Nothing is sent before the answer is read."""
        if not isinstance(rendered, Rendered):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"expected a Rendered, not {type(rendered).__name__}")
        terms["options"] = {**self._options, **(checked(terms).get("options") or {})}
        if self._is_local:
            return self._weights().send(rendered, stream=stream, **terms)
        shape = sent_shape(self, rendered, terms)
        request = request_for(self.wire, rendered, self.name, terms, shape)
        plain = partial(self._plain_request, request, rendered, terms, shape)
        reader = AnswerReader(provider_for(self.wire), rendered, self.name, stream=stream)
        sending, total = Sending(), self._endpoint.timeouts.total
        deltas = answer_deltas(self._clients.get, request, plain, reader, self._retries, total, sending)
        return Answering(deltas, reader.close, sending)

    async def close(self) -> None:
        """Close the connections of the running event loop, and unload weights."""
        await self._clients.close()
        local, self._local = self._local, None
        if local is not None:
            await asyncio.to_thread(local.close)

    def _plain_request(
        self, refused: _Json, rendered: Rendered, terms: Terms, shape: AnswerShape
    ) -> _Json | None:
        """The request without a refused schema, if the items also have the schema in words.

        Later requests send no schema.
        """
        request = request_for(self.wire, rendered, self.name, terms, AnswerShape())
        if shape.is_enforced or request == refused:
            return None
        self.answer_schema = False
        return request

    def _is_other_service(self) -> bool:
        """Whether another service speaks OpenAI's wire; many of these refuse the cache key."""
        default = os.environ.get("OPENAI_BASE_URL") if self._endpoint.client is None else None
        address = getattr(self._endpoint.client, "base_url", None) or self._endpoint.base_url or default
        return self.wire.startswith("openai") and address is not None and not _OPENAI.match(str(address))

    def _weights(self) -> Local:
        if self._local is None:
            self._local = Local(self._endpoint.model or None)
        return self._local


def model_of(model: AnyModel | str, what: str) -> AnyModel:
    """A model as it is, or the model of a name; `WrongType` for anything else."""
    if isinstance(model, str):
        return Model(model)
    if isinstance(model, type) or not callable(getattr(model, "send", None)):
        kind = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
        raise WrongType(f"{what} must be a model, or the name of one, not {kind}")
    return model
