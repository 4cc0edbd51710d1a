"""Files that A1 itself wrote: an array of messages for a context, an object of such arrays for a runtime."""

import re
from pathlib import Path
from typing import Any, cast

import msgspec

from quire.bridges.a1.messages import Message
from quire.errors import Damaged, QuireError

_HEAD = 4096
_NEWER = re.compile(rb'\s*\[\s*(\{\s*"(kind|at)"|\])')
"""How a file of the engine begins, so that most files need not be looked through."""

_FIELDS = tuple(Message.__struct_fields__)


def older_contexts(path: Path) -> dict[str, list[Message]] | None:
    """The messages of each context in a file that A1 wrote; none for any other file, or for no file."""
    if path.suffix.lower() != ".json" or not path.is_file():
        return None
    with path.open("rb") as file:
        head = file.read(_HEAD)
        if _NEWER.match(head):
            return None
        found = _contexts(_decoded(head + file.read()))
    if found is None:
        return None
    return {name: _messages(name, row) for name, row in found.items()}


def _decoded(text: bytes) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None  # torn or damaged: that is for the store to say


def _contexts(found: Any) -> dict[str, list[dict[str, Any]]] | None:
    if isinstance(found, list):
        return {"main": cast(list[dict[str, Any]], found)} if found and _are_messages(found) else None
    contexts = cast(dict[str, Any], found).get("contexts") if isinstance(found, dict) else None
    if not isinstance(contexts, dict) or not all(map(_are_messages, cast(dict[str, Any], contexts).values())):
        return None
    return cast(dict[str, list[dict[str, Any]]], contexts)


def _are_messages(row: Any) -> bool:
    return isinstance(row, list) and all(map(_is_message, row))  # pyright: ignore[reportUnknownArgumentType]


def _is_message(one: Any) -> bool:
    return isinstance(one, dict) and "role" in one and "kind" not in one


def _messages(name: str, row: list[dict[str, Any]]) -> list[Message]:
    messages: list[Message] = []
    for index, fields in enumerate(row):
        try:
            messages.append(Message(**{key: fields[key] for key in _FIELDS if key in fields}))
        except (QuireError, TypeError) as fault:
            raise Damaged(f"a message that A1 wrote cannot be read: {fault}", f"$.{name}[{index}]") from fault
    return messages
