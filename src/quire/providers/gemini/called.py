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


def add_called(outputs: MutableSequence[Any], called: Called) -> None:
    """Add a call to what came before; one that is said again takes the place of what it was."""
    for at, output in enumerate(outputs):
        if isinstance(output, Called) and _is_again(output, called):
            outputs[at] = called._replace(
                signature=called.signature or output.signature,
                in_pieces=called.in_pieces or output.in_pieces,
            )
            return
    outputs.append(called)


def _is_again(before: Called, called: Called) -> bool:
    """Whether a call is one of an earlier chunk: the same id and name, and nothing else that it is made with.

    Some services give all calls one id, and no chunk says a call twice.
    """
    if before.chunk == called.chunk or not field(called.call, "id"):
        return False
    if any(field(before.call, name) != field(called.call, name) for name in ("id", "name")):
        return False
    came, more = (arguments_in(one.call, "functionCall.args") for one in (before, called))
    return is_placeholder(came) or is_same(came, more)
