"""The floor: plain structs in a plain list, with ids and times but with no checks and no library."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import msgspec

from libraries import plain_wires
from libraries.adapter import Adapter
from libraries.plain_items import PlainCall, PlainMessage, PlainResult
from transcript import Entry, add_all

KINDS = (PlainMessage, PlainCall, PlainResult)


class History:
    """A list, the size of each item and their running sum; once rendered, the messages of OpenAI's wire."""

    __slots__ = ("items", "messages", "sizes", "sum")
    messages: list[Any]

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
        "render": "one loop over the structs; for one more message: one dictionary, `list.copy`",
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

    def renders(self) -> dict[str, Callable[[Any], Any]]:
        return {"openai": _kept, "anthropic": _of(plain_wires.anthropic), "gemini": _of(plain_wires.gemini)}

    def again(self, history: History, _write: Callable[[Any], Any]) -> list[Any]:
        history.messages.append(plain_wires.said(history.items[-1]))
        return history.messages.copy()

    def turns(self, payload: Any) -> list[Any]:
        return payload if isinstance(payload, list) else payload.get("messages") or payload["contents"]


def _kept(history: History) -> list[Any]:
    history.messages = plain_wires.openai(history.items)
    return history.messages


def _of(write: Callable[[Sequence[Any]], Any]) -> Callable[[History], Any]:
    return lambda history: write(history.items)


LIBRARY = Floor()
