"""Gemini: the calls of an answer, each once, also where a later chunk says one again."""

from collections.abc import Mapping, MutableSequence
from typing import Any, NamedTuple

from quire.providers.gemini.arguments import arguments_in
from quire.providers.gemini.blocks import field
from quire.providers.pieces import is_placeholder, is_same


class Called(NamedTuple):
    """A call with its signature, and the number of the chunk that it came in."""

    call: Mapping[str, Any]
    signature: str | None
    chunk: int
    in_pieces: bool = False
    """Whether it came in pieces, and so said where it ends."""


class Calls:
    """Adds calls to what came before; one that is said again takes the place of what it was."""

    __slots__ = ("_outputs", "_places")

    def __init__(self, outputs: MutableSequence[Any]) -> None:
        self._outputs = outputs
        self._places: dict[tuple[str, str], int] = {}  # the last of an id and a name

    def add(self, called: Called) -> None:
        """Add a call, or say one again."""
        key = _key(called.call)
        at = self._places.get(key) if key else None
        if at is not None and _is_again(self._outputs[at], called):
            self._outputs[at] = _said_again(self._outputs[at], called)
            return
        if key:
            self._places[key] = len(self._outputs)
        self._outputs.append(called)


def _key(call: Mapping[str, Any]) -> tuple[str, str] | None:
    """The id and the name by which a call may be said again.

    What is no text is told where the call is read; no call without an id is another said again.
    """
    called, name = field(call, "id"), field(call, "name")
    return (called, name) if isinstance(called, str) and called and isinstance(name, str) else None


def _said_again(before: Called, called: Called) -> Called:
    return called._replace(
        signature=called.signature or before.signature, in_pieces=called.in_pieces or before.in_pieces
    )


def _is_again(before: Called, called: Called) -> bool:
    """Whether a call of the same id and name is one of an earlier chunk: nothing else is it made with.

    Some services give all calls one id, and no chunk says a call twice.
    """
    if before.chunk == called.chunk:
        return False
    came, more = (arguments_in(one.call, "functionCall.args") for one in (before, called))
    return is_placeholder(came) or is_same(came, more)
