"""OpenAI Responses: what a stream said was done, and the response at its end, as one output.

The response at the end lists all items once more. Services that only speak the wire leave some out, calls
among them, or parts of them, such as encrypted content.
"""

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import msgspec

from quire.errors import QuireError
from quire.providers.json_values import json_text
from quire.providers.provider import words_in
from quire.providers.sheet import Json

_Key = Callable[[Json], Hashable | None]

_ITS_OWN = ("id", "call_id", "status")  # of an item, which may change when it is said again
_CALLED = ("name", "arguments", "input")  # of a call of a function, all that makes it another


def output_of(final: Sequence[Json], done: Sequence[Json]) -> list[Json]:
    """The items of the final response with what they lack, and those it leaves out where they were done.

    In doubt two are the same, since a call that is made twice does more harm than one that is not made.
    """
    found = _matched(final, done)
    listed = {name_of(item) for item in final}
    left_out: dict[int, list[Json]] = {}
    last = -1
    for number, item in enumerate(done):
        if number in found:
            last = found[number]
        elif name_of(item) not in listed:
            left_out.setdefault(last, []).append(item)
    said_before = {at: done[number] for number, at in found.items()}
    output = left_out.get(-1, [])
    for at, item in enumerate(final):
        output += [_filled(item, said_before.get(at, {})), *left_out.get(at, ())]
    return output


def kind_of(item: Json) -> str:
    """The type of an item; what has none is a message."""
    return words_in(item.get("type")) or "message"


def name_of(item: Json) -> Hashable:
    """What tells an item from others of its kind: the id of its call, else its own, else what is in it."""
    named = words_in(item.get("call_id")) or words_in(item.get("id"))
    return kind_of(item), named or content_of(item)


def content_of(item: Json) -> str:
    """What is in an item, however it is spaced; what cannot be compared is like nothing else."""
    named = item.get("call_id") and item.get("name")
    told = {name: item.get(name) for name in _CALLED} if named else item
    held = {name: value for name, value in told.items() if name not in _ITS_OWN and _is_said(value)}
    try:
        return json_text(held | {"arguments": _decoded(held.get("arguments"))}, "item", ordered=True)
    except QuireError:
        return f"item {id(item)}"


def _decoded(arguments: Any) -> Any:
    try:
        return msgspec.json.decode(arguments) if isinstance(arguments, str) else arguments
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return arguments


def _id_of(item: Json) -> Hashable | None:
    return name_of(item) if item.get("call_id") or item.get("id") else None


def _kind_alone(item: Json) -> Hashable | None:
    """The kind of an item, for those that are alike in nothing else; calls with ids are never that alike."""
    return None if item.get("call_id") else kind_of(item)


_KEYS: tuple[_Key, ...] = (
    lambda item: (name_of(item), content_of(item)),
    _id_of,
    lambda item: (kind_of(item), content_of(item)),
    _kind_alone,
)
"""What two items may have in common that makes them one, the surest first."""


def _matched(final: Sequence[Json], done: Sequence[Json]) -> dict[int, int]:
    """Which of the final items each that was done is, by their numbers."""
    found: dict[int, int] = {}
    for key in _KEYS:
        taken, free = set(found.values()), dict[Hashable, deque[int]]()
        for at, item in enumerate(final):
            if at not in taken and (held := key(item)) is not None:
                free.setdefault(held, deque()).append(at)
        for number, item in enumerate(done):
            if number not in found and (alike := free.get(key(item))):
                found[number] = alike.popleft()
    return found


def _filled(final: Json, done: Json) -> Json:
    """A final item with what it lacks of what it was when it was done."""
    held = {name: value for name, value in final.items() if _is_said(value)}
    if all(name in held for name, value in done.items() if _is_said(value)):
        return final
    # What is sealed is bound to the id that it came with.
    return {**done, **held} if final.get("id") in (None, done.get("id")) else {**final, **done}


def _is_said(value: Any) -> bool:
    return value is not None and value not in ("", [], {})
