"""What VideoSDK's items have in common: each holds one frozen item of the engine and renames its fields.

What the engine has no field for (`extra`, `confidence`, `metrics`, `metadata`) is in the `extras` of the item
under one key, so that it goes wherever the item goes.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, Self, TypeVar, cast

import msgspec

from quire.items import ConfigChange, Handoff, Message, Summary, ToolCall, ToolResult

OURS = "videosdk"
"""The key of `extras` under which the bridge keeps what the engine has no field for."""

Kind = TypeVar("Kind", Message | Summary, ToolCall, ToolResult, Handoff, ConfigChange)


class Entry(ABC, Generic[Kind]):
    """What all items have. An item cannot change; `model_copy` makes another."""

    __slots__ = ("_item",)

    type: ClassVar[str]
    _item: Kind

    @classmethod
    def over(cls, item: Kind) -> Self:
        """The item of the engine, under this framework's name."""
        entry = object.__new__(cls)
        entry._item = item
        return entry

    @property
    def item(self) -> Kind:
        """The item as the engine keeps it."""
        return self._item

    @property
    def id(self) -> str:
        """Its id."""
        return self._item.id

    @property
    def created_at(self) -> float:
        """When it was made, in seconds since 1970, whatever its place."""
        return float(self._own("created_at", self._item.created_at))

    @property
    def agent_id(self) -> str | None:
        """The agent that it belongs to."""
        return self._item.agent_id

    def model_dump(self) -> dict[str, Any]:
        """The item as plain values."""
        common = {"type": self.type, "id": self.id, "created_at": self.created_at, "agent_id": self.agent_id}
        return common | self._fields()

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Another item with some fields changed; nothing in an item can change, so all copies are deep."""
        if not update:
            return self
        fields = {key: value for key, value in self.model_dump().items() if key != "type"}
        return type(self)(**(fields | dict(update)))

    @abstractmethod
    def _fields(self) -> dict[str, Any]:
        """The fields of this kind, as plain values."""

    def _own(self, name: str, default: Any = None) -> Any:
        return self._item.extras.get(OURS, {}).get(name, default)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.model_dump() == cast(Any, other).model_dump()

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}>"


def not_before(item: Any, time: float) -> Any:
    """An item of the engine to be put at the end: it goes by time there, so it gets one that is not earlier.

    The time that it was given is kept beside it, and shown.
    """
    if item.created_at >= time:
        return item
    ours = {"created_at": item.created_at} | item.extras.get(OURS, {})
    return msgspec.structs.replace(item, created_at=time, extras={**item.extras, OURS: ours})


def stamp(id: str | None, created_at: float | None, agent_id: str | None, **ours: Any) -> dict[str, Any]:
    """What all items of the engine take, the clock and new ids left to it where nothing is given."""
    given = {"id": id, "created_at": created_at, "agent_id": agent_id}
    kept = {name: value for name, value in ours.items() if value is not None}
    return {name: value for name, value in given.items() if value is not None} | (
        {"extras": {OURS: kept}} if kept else {}
    )
