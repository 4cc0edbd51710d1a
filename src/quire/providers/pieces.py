"""Calls that come in pieces: their arguments put together, whether they came to their end, and their ids."""

from collections.abc import Sequence
from typing import Any

import msgspec

from quire.items import Item, ToolCall, new_id
from quire.providers.native import FORM

_NO_ARGUMENTS = "{}"
_CLOSED = (dict, list, str)  # what says itself where it ends, so that it is the beginning of nothing else


def joined(arguments: str, piece: str) -> str:
    """The arguments of a call with one more piece.

    Some services send an empty object first, to hold the place of the real ones, and some send all of them
    again at the end: no JSON has another object after one that is closed.
    """
    held = piece.lstrip().startswith("{") and (is_placeholder(arguments) or is_same(arguments, piece))
    return piece if held else arguments + piece


def is_placeholder(arguments: str) -> bool:
    """Whether arguments may only hold the place of others."""
    return arguments.strip() == _NO_ARGUMENTS


def is_same(arguments: str, others: str) -> bool:
    """Whether two texts are the same whole arguments, however they are spaced."""
    return is_whole(arguments) and is_whole(others) and _decoded(arguments) == _decoded(others)


def whole_calls(items: Sequence[Item]) -> list[Item]:
    """The items of an answer that broke off, without calls whose arguments did not come to their end.

    Of a text nothing tells whether there was more of it: a last call with one is left out.
    """
    last = items[-1] if items else None
    if isinstance(last, ToolCall) and FORM in last.extras:
        items = items[:-1]
    return [
        item
        for item in items
        if not isinstance(item, ToolCall) or isinstance(_decoded(item.arguments), _CLOSED)
    ]


def is_whole(arguments: str) -> bool:
    """Whether arguments are an object that has come to its end."""
    # Most texts are half an object, which is seen without reading it.
    return arguments.rstrip().endswith("}") and isinstance(_decoded(arguments), dict)


def made_id() -> str:
    """An id for a call that came without one; whoever answers it needs one all the same."""
    return f"call_{new_id()}"


def _decoded(arguments: str) -> Any:
    try:
        return msgspec.json.decode(arguments)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
