"""The floor: plain structs in a plain list, with ids and times but with no checks and no library."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal

import msgspec

from libraries.adapter import Adapter
from quire.items import Content, Opaque, new_id, now
from quire.items.kinds import Address, Wording
from transcript import Entry, add_all

FIXED = {"frozen": True, "kw_only": True, "tag_field": "kind", "omit_defaults": True, "gc": False}


class Plain(msgspec.Struct, **FIXED):
    id: str = msgspec.field(default_factory=new_id)
    created_at: float = msgspec.field(default_factory=now)
    agent_id: str | None = None
    extras: dict[str, Any] | None = None


class PlainMessage(Plain, tag="message", **FIXED):
    role: Literal["system", "developer", "user", "assistant"]
    content: Content
    interrupted: bool = False
    wording: Wording | None = None
    address: Address | None = None
    state: Opaque | None = None


class PlainCall(Plain, tag="tool_call", **FIXED):
    call_id: str
    name: str
    arguments: str = "{}"
    state: Opaque | None = None


class PlainResult(Plain, tag="tool_result", **FIXED):
    call_id: str
    name: str
    content: Content
    is_error: bool = False


KINDS = (PlainMessage, PlainCall, PlainResult)


class History:
    """A list, the size of each item and their running sum."""

    __slots__ = ("items", "sizes", "sum")

    def __init__(self, items: list[Any]) -> None:
        self.items = items
        self.sizes: list[int] = []
        self.sum = 0


def size_of(item: Any) -> int:
    """Four tokens, and one for each four characters."""
    text = item.arguments if type(item) is PlainCall else item.content
    return 4 + len(text) // 4


class Floor(Adapter):
    name = "floor"
    package = "msgspec"
    by_tokens = True
    how: ClassVar = {
        "append": "struct without checks, `list.append`",
        "memory": "struct without checks in a list",
        "fork": "`list.copy`",
        "truncate": "walk back over the known sizes, slice the list",
        "tokens": "running sum",
        "codec": "msgspec on structs without checks",
    }

    def __init__(self) -> None:
        self.encode: Callable[[Any], bytes] = msgspec.json.Encoder().encode
        self.decode = msgspec.json.Decoder(list[PlainMessage | PlainCall | PlainResult]).decode

    def new(self) -> History:
        return History([])

    def add(self, history: History, chat: Sequence[Entry]) -> None:
        add_all(history.items.append, chat, KINDS)

    def length(self, history: History) -> int:
        return len(history.items)

    def forks(self) -> dict[str, Callable[[Any], Any]]:
        return {"": lambda history: History(history.items.copy())}

    def spare(self, history: History) -> History:
        return history

    def truncate(self, history: History, limit: int) -> History:
        kept = 0
        for size in reversed(history.sizes):
            limit -= size
            if limit < 0:
                break
            kept += 1
        return History(history.items[-kept:])

    def total(self, history: History) -> int:
        for item in history.items[len(history.sizes) :]:
            history.sizes.append(size := size_of(item))
            history.sum += size
        return history.sum

    def dump(self, history: History) -> bytes:
        return self.encode(history.items)

    def load(self, data: bytes) -> History:
        return History(self.decode(data))


LIBRARY = Floor()
