"""What a scripted model may be given to say, and how that becomes an answer."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar, cast

import msgspec

from quire.errors import InvalidValue, WrongType
from quire.items import KINDS, Item, Message, Reasoning, ToolCall, new_id, now
from quire.models.answering import Delta
from quire.providers import Parsed

Reply = str | Item | Sequence[Item] | Parsed | Exception
"""A text, an item or several, a whole answer, or an exception to be raised."""

_Any = TypeVar("_Any")
_PIECES = re.compile(r"\s*\S{1,16}|\s+")
_EXPECTED = "a reply is a text, an item or several, a Parsed, an exception, or a function that gives one"


def check_reply(reply: Any) -> Reply:
    """The reply, if it is one."""
    if isinstance(reply, str | Exception):
        return reply
    for item in _items_of(reply):
        if type(item) not in KINDS:
            raise WrongType(f"{_EXPECTED}; not {type(item).__name__}")
        if isinstance(item, Message) and item.role != "assistant":
            raise InvalidValue(f"a model answers as the assistant, not as the {item.role}")
    return cast(Reply, reply)


def parsed_reply(reply: Reply, model: str) -> Parsed:
    """The reply as an answer of a model; an exception is raised."""
    if isinstance(reply, Exception):
        raise reply
    if isinstance(reply, Parsed):
        return reply if reply.model else reply._replace(model=model)
    if isinstance(reply, str):
        items: tuple[Item, ...] = (Message("assistant", reply),) if reply else ()
    else:
        items = tuple(_items_of(reply))
    calls = any(isinstance(item, ToolCall) for item in items)
    return Parsed(items, None, "calls" if calls else "stop", model)


def anew(reply: _Any) -> _Any:
    """The reply once more: its items said now, so that a transcript takes them a second time."""
    if isinstance(reply, Parsed):
        return cast(_Any, reply._replace(items=tuple(map(_said_now, reply.items))))
    if isinstance(reply, list | tuple):
        return cast(_Any, tuple(map(_said_now, cast("Sequence[Item]", reply))))
    return cast(_Any, _said_now(cast(Item, reply))) if type(reply) in KINDS else reply


def words_of(parsed: Parsed) -> str:
    """What a model said, without its thoughts, calls and media."""
    return "".join(item.text for item in parsed.items if isinstance(item, Message))


def pieces_of(item: Item) -> Iterator[str | Delta]:
    """An item as it comes in pieces: a text word by word, a thought at once, a call by its name."""
    if isinstance(item, Message):
        yield from _PIECES.findall(item.text)
    elif isinstance(item, Reasoning) and item.text:
        yield Delta("thinking", item.text)
    elif isinstance(item, ToolCall):
        yield Delta("call", item.name)


def thoughts_in(event: str | Delta | Parsed) -> tuple[Delta, ...]:
    """What a piece tells beside words."""
    return (event,) if isinstance(event, Delta) else ()


class RepliesReader:
    """Reads pieces of text, then the answer they are of; without it the answer was broken off."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._said = ""
        self._whole: Parsed | None = None

    def feed(self, event: str | Delta | Parsed) -> str:
        """Take a piece or the answer; the words that were added."""
        if isinstance(event, Parsed):
            self._whole = event
            return ""
        if isinstance(event, Delta):
            return ""
        self._said += event
        return event

    def close(self) -> Parsed:
        """The answer; what was said so far if it did not come to its end."""
        if self._whole is not None:
            return self._whole
        items = (Message("assistant", self._said, interrupted=True),) if self._said else ()
        return Parsed(items, model=self._model)


def _items_of(reply: Any) -> Sequence[Any]:
    if isinstance(reply, Parsed):
        return reply.items
    return cast("Sequence[Any]", reply) if isinstance(reply, list | tuple) else (reply,)


def _said_now(item: Item) -> Item:
    return msgspec.structs.replace(item, id=new_id(), created_at=now())
