"""What a stream says beside its answer: that something went wrong, or nothing at all that is of its wire."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast

from quire.errors import QuireError
from quire.providers.json_values import json_text
from quire.providers.provider import error_in
from quire.providers.sheet import Json

_ALIVE = ("ping", "keepalive")  # what says no more than that something may still come, on any wire
_LONGEST = 300  # characters of a strange event that are told


def fault_in(body: Json) -> str | None:
    """What a response or an event says went wrong: under a name of its own, or by being an error itself."""
    told = body.get("error")
    is_error = told is None and "error" in (body.get("object"), body.get("type"))
    return error_in(body if is_error else told)


class Hearing:
    """Hears every event of a stream, so that no answer is lost in silence.

    `kind` is what each event should be, in words.
    """

    __slots__ = ("_first", "_is_known", "_kind")

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._first: str | None = None
        self._is_known = False

    def fault(self, event: Any, told: Json, *, is_known: bool) -> str | None:
        """Take an event, and give what it says went wrong; `is_known` tells that it is of the wire."""
        if not told or told.get("type") in _ALIVE:
            return None
        fault = fault_in(told)
        self._is_known = self._is_known or is_known or fault is not None
        if self._first is None:
            self._first = "" if self._is_known else _shown(event)
        return fault

    def unheard(self) -> str | None:
        """What went wrong where events came, and none was of the wire."""
        if self._is_known or self._first is None:
            return None
        return f"no event was {self._kind}: the first was {self._first}"


def _shown(event: Any) -> str:
    """An event that nobody knows; often it says in words of its own what went wrong."""
    text = f"a {type(event).__name__}"
    if isinstance(event, Mapping):
        with suppress(QuireError):
            text = json_text(cast("Json", event), "$")
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
