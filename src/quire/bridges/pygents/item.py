"""The one thing that queues and pools hold."""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from quire.bridges.pygents.dicts import read_fields, written_fields
from quire.errors import InvalidValue, WrongType
from quire.items import Note

T = TypeVar("T")


@dataclass(frozen=True)  # slots would break `ContextItem[int](...)` in Python 3.11
class ContextItem(Generic[T]):
    """A content, a short description to choose by, an id to be kept under. Equal fields make equal items."""

    content: T
    description: str | None = None
    id: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON; a content that cannot be written is an error that says where."""
        return item_as_dict(self, "$")

    @classmethod
    def from_dict(cls, data: object) -> "ContextItem[Any]":
        """The item that was written as these values."""
        return ContextItem(**read_fields(data, "$"))


def item_as_dict(item: ContextItem[Any], path: str) -> dict[str, Any]:
    """The plain values of an item that stands at a path."""
    return written_fields(item.id, item.description, item.content, path)


def checked_item(item: object) -> ContextItem[Any]:
    """The item, if it is one."""
    if not isinstance(item, ContextItem):
        raise WrongType(f"a ContextItem is taken here, not {type(item).__name__}")
    return item  # pyright: ignore[reportUnknownVariableType]


def note_of(item: object) -> Note:
    """The note that keeps an item in the engine's pool: its content is the item, as it is."""
    kept = checked_item(item)
    if kept.id is None or kept.description is None:
        missing = "an id" if kept.id is None else "a description"
        raise InvalidValue(f"an item needs {missing} to be kept in a pool")
    return Note(kept, kept.id, kept.description)
