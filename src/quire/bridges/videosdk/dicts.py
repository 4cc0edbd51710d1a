"""A context as plain values, fit for JSON, and back."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from quire.bridges.videosdk.items import KINDS, ChatItem
from quire.errors import Damaged, InvalidValue, WrongType

_KINDS: dict[str, type[ChatItem]] = {kind.type: kind for kind in KINDS}


def read_items(data: object) -> list[ChatItem]:
    """The items of a dictionary; what cannot be read is an error that says where it is."""
    items = cast(Mapping[str, Any], data).get("items") if isinstance(data, Mapping) else None
    if not isinstance(items, Sequence) or isinstance(items, str):
        raise Damaged("a context is a dictionary with a list of items", "$.items")
    found = cast(Sequence[object], items)
    return [_read(fields, f"$.items[{index}]") for index, fields in enumerate(found)]


def _read(fields: object, path: str) -> ChatItem:
    if not isinstance(fields, Mapping):
        raise Damaged(f"expected an item, got {type(fields).__name__}", path)
    given = dict(cast(Mapping[str, Any], fields))
    kind = _KINDS.get(str(given.pop("type", None)))
    if kind is None:
        raise Damaged("a type of item that is not known here", f"{path}.type")
    if not isinstance(given.get("id"), str):
        raise Damaged("an item has an id, which is a text", f"{path}.id")
    try:
        return kind(**given)
    except (InvalidValue, WrongType, TypeError) as fault:
        raise Damaged(_explained(fault), path) from None


def _explained(fault: Exception) -> str:
    """What is wrong, without the name of the constructor that said so."""
    return str(fault).partition("__init__() ")[2] or str(fault)
