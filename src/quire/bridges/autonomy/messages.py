"""Autonomy's messages, which are dictionaries with a role and a content, and the memory that keeps them.

A message is one item of the engine, or with tool calls several: its words, if there are any, and one for each
call. What the engine has no field for is in the `extras` of an item under one key.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import Any, cast

from msgspec.structs import replace

from quire.errors import EditRefused, InvalidValue, WrongType
from quire.items import (
    EDITS,
    Content,
    Hide,
    Item,
    Message,
    Note,
    Summary,
    ToolCall,
    ToolResult,
    new_id,
    now,
    parts_of,
    thaw,
)
from quire.providers import content_for_model
from quire.sections import items_of, parse_content
from quire.session import Session
from quire.state import Answers, View, is_user_message, spans_over
from quire.stores import MemoryStore, Place, Store, place_at
from quire.stores.store import is_tombstone

_OURS, _OTHER_FIELDS, _IS_TEXT = "autonomy", "other_fields", "is_text"
_FIELDS = frozenset(("role", "content", "tool_calls", "tool_call_id"))


class ReadMessage(dict[str, Any]):
    """A message that was read, with the items it shows: unchanged, it goes to a model as it was recorded."""

    behind: tuple[Item, ...] = ()


def text_content(text: str) -> dict[str, str]:
    """A text as the content of a message."""
    return {"text": text, "type": "text"}


def system_message(text: str) -> dict[str, Any]:
    """A message of the system."""
    return {"role": "system", "content": text_content(text), "phase": "system"}


def messages_of(items: Iterable[Item]) -> list[ReadMessage]:
    """Items as messages. Calls belong to the reply before them, and reasoning to the message after it."""
    found: list[ReadMessage] = []
    silent: list[Item] = []
    for item in items:
        if isinstance(item, ToolCall) and found and not silent and found[-1]["role"] == "assistant":
            found[-1].setdefault("tool_calls", []).append(_call_of(item))
            found[-1].behind += (item,)
            continue
        fields = _fields_of(item)
        if fields is None:
            silent.append(item)
            continue
        message = ReadMessage(fields)
        # A summary stands for items that are not here: on its own it is a message like any other.
        message.behind = () if isinstance(item, Summary | Note) else (*silent, item)
        found.append(message)
        silent = []
    return found


def recorded_items(view: View) -> list[Item]:
    """All items of a conversation, also those that are not shown any more."""
    return [item for item in view.recorded() if type(item) not in EDITS and not is_tombstone(item)]


def items_in(messages: object, section: str) -> tuple[Item, ...]:
    """What a section returned, as items: those a message was read from if it is unchanged, else new ones."""
    if not isinstance(messages, list | tuple):
        raise WrongType(f"section {section!r} returns a list of messages, not {type(messages).__name__}")
    given: list[Any] = []
    for message in cast("Sequence[Any]", messages):
        behind: tuple[Item, ...] = getattr(message, "behind", ())
        given += behind if behind and messages_of(behind) == [message] else [_readable(message)]
    return items_of(given, section)


def recorded(message: Mapping[str, Any], called: Mapping[str, str]) -> list[Item]:
    """A message as items to record now; `called` are the names of tools by the ids of their calls."""
    if not isinstance(message, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"a message is a dictionary with a role, not {type(message).__name__}")
    readable = _readable(message)
    if readable.get("role") == "tool" and not readable.get("name"):
        readable = {**readable, "name": called.get(str(readable.get("tool_call_id")))}
    items = [replace(item, id=new_id(), created_at=now()) for item in items_of([readable], "memory")]
    own: dict[str, Any] = {_IS_TEXT: True} if isinstance(message.get("content"), str) else {}
    if others := {name: value for name, value in message.items() if name not in _FIELDS}:
        own[_OTHER_FIELDS] = others
    return [replace(items[0], extras={_OURS: own}), *items[1:]] if own else items


def content_in(message: object) -> Content:
    """What somebody sends, as content: a text, a content, a message of the user, or several of these."""
    if isinstance(message, Mapping) and "role" in message:
        fields = cast("Mapping[str, Any]", message)
        if fields["role"] != "user":
            raise WrongType("an agent is sent messages of the user; others are added to its memory")
        return parse_content(fields.get("content"))
    if isinstance(message, list | tuple):
        parts = [part for one in cast("Sequence[object]", message) for part in parts_of(content_in(one))]
        return parse_content(parts) if parts else ""
    return parse_content(message)  # pyright: ignore[reportUnknownArgumentType]


def _readable(message: Any) -> Any:
    """A message in the shape that the engine reads: a reply of calls alone has no content."""
    if not isinstance(message, Mapping):
        return message
    fields = cast("Mapping[str, Any]", message)
    content: Any = fields.get("content")
    is_empty = content.get("text") == "" if isinstance(content, Mapping) else not content  # pyright: ignore
    return {**fields, "content": None} if is_empty and fields.get("tool_calls") else fields


def _fields_of(item: Item) -> dict[str, Any] | None:
    match item:
        case Message():
            fields = {"role": item.role, "content": _content_of(item, content_for_model(item))}
        case Note() | Summary():
            fields = {"role": "system", "content": _content_of(item, content_for_model(item))}
        case ToolCall():
            fields = {"role": "assistant", "content": text_content(""), "tool_calls": [_call_of(item)]}
        case ToolResult():
            about = {"tool_call_id": item.call_id, "name": item.name}
            fields = {"role": "tool", "content": _content_of(item, item.content), **about}
        case _:
            return None
    others: dict[str, Any] = thaw(_own(item).get(_OTHER_FIELDS, {}))
    return fields | {"timestamp": item.created_at} | others


def _content_of(item: Item, content: Content) -> Any:
    if not isinstance(content, str):
        return [text_content(part) if isinstance(part, str) else part for part in parts_of(content)]
    return content if _own(item).get(_IS_TEXT) else text_content(content)


def _call_of(item: ToolCall) -> dict[str, Any]:
    function = {"name": item.name, "arguments": item.arguments}
    return {"id": item.call_id, "type": "function", "function": function}


def _own(item: Item) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", item.extras.get(_OURS, {}))


# Calls and results


def paired(items: Sequence[Item], view: View) -> list[Item]:
    """What a section shows, without calls whose results it left out, and results whose calls it left out.

    Otherwise a model would read that such a call was interrupted. In the turn under way a call stays, with a
    note in place of its result, so that the model does not make it again. A call that waits for its result
    stays as it is.
    """
    found = Answers(items)
    answered = set(found.call_of.values())
    waiting = {call.call_id for call in view.pending()}
    turn = takewhile(lambda item: not is_user_message(item), reversed(view.recorded()))
    new = {item.call_id: item for item in turn if isinstance(item, ToolResult)}
    shown: list[Item] = []
    for place, item in enumerate(items):
        if isinstance(item, ToolCall) and place not in answered and item.call_id not in waiting:
            if item.call_id in new:
                result = new[item.call_id]
                outcome = "failed; the error" if result.is_error else "done; the result"
                note = f"(This was {outcome} is left out here.)"
                shown += [item, replace(result, content=note, id=f"{result.id}/left-out")]
        elif not isinstance(item, ToolResult) or place in found.call_of:
            shown.append(item)
    return shown


# Memory

Opening = Callable[[str, str], Session]
"""Opens the session of a scope and a conversation."""

_MOST_SESSIONS = 256


class Memory:
    """Conversations by scope and name. Nothing of one scope can be read from another.

    It is in this process alone, unless `store` says where it is kept. `opening` is for sessions of others.
    """

    def __init__(self, *, store: str | Path | Store | None = None, opening: Opening | None = None) -> None:
        own = MemoryStore() if store is None else store

        def open_session(scope: str, conversation: str) -> Session:
            return Session.open(scope=scope, conversation=conversation, store=own)

        self._open = opening or open_session
        self._sessions: dict[Place, Session] = {}  # those used last, the newest last

    async def add_message(self, scope: str, conversation: str, message: Mapping[str, Any]) -> None:
        """Keep a message at the end of a conversation, with the present time."""
        await self.add_messages(scope, conversation, [message])

    async def add_messages(
        self, scope: str, conversation: str, messages: Iterable[Mapping[str, Any]]
    ) -> None:
        """Keep messages in their order, all or none."""
        session = self.session(scope, conversation)
        called = {call.call_id: call.name for call in session.view().pending()}
        items: list[Item] = []
        for message in messages:
            items += recorded(message, called)
            called |= {item.call_id: item.name for item in items if isinstance(item, ToolCall)}
        if items:
            await session.aio.append(*items)

    async def get_messages_only(self, scope: str, conversation: str) -> list[ReadMessage]:
        """All messages of a conversation, oldest first, also those that a summary stands for."""
        return messages_of(recorded_items(self.session(scope, conversation).view()))

    async def get_message_count(self, scope: str, conversation: str) -> int:
        """The number of messages of a conversation."""
        return len(await self.get_messages_only(scope, conversation))

    async def clear_short_term_memory(self, scope: str, conversation: str) -> None:
        """Forget what was said in a conversation, for good."""
        session = self.session(scope, conversation)
        view = session.view()
        last = [item for item in view if is_user_message(item)][-1:]
        with suppress(EditRefused, InvalidValue):  # of what must stay, a tombstone is shown
            session.append(Hide(spans_over(view, (item for item in view if item not in last))))
        session.forget()

    def session(self, scope: str, conversation: str) -> Session:
        """The engine's session of a conversation."""
        place = place_at(scope=scope, conversation=conversation)
        session = self._sessions.pop(place, None) or self._open(scope, conversation)
        self._sessions[place] = session
        if len(self._sessions) > _MOST_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        return session


class MemoryCopy:
    """A memory of somebody else, which needs `get_messages_only`, copied into one of ours."""

    def __init__(self, source: Any) -> None:
        if not callable(getattr(source, "get_messages_only", None)):
            raise WrongType(f"a memory has get_messages_only; {type(source).__name__} has not")
        self.source, self._copy = source, Memory()
        self._known: dict[Place, list[Any]] = {}

    async def session(self, scope: str, conversation: str) -> Session:
        """The copy of a conversation, with what is new in it.

        The oldest messages may be gone; if nothing is as it was, the conversation is another.
        """
        messages: list[Any] = list(await self.source.get_messages_only(scope, conversation))
        place = place_at(scope=scope, conversation=conversation)
        known = self._known.get(place, [])
        gone = next(n for n in range(len(known) + 1) if known[n:] == messages[: len(known) - n])
        if known and gone == len(known):
            await self._copy.clear_short_term_memory(scope, conversation)
        await self._copy.add_messages(scope, conversation, messages[len(known) - gone :])
        self._known[place] = messages
        return self._copy.session(scope, conversation)
