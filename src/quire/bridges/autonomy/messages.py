"""Autonomy's messages, which are dictionaries with a role and a content, and the memory that records them.

A message is one item of the engine. A message with tool calls is several: its text, unless it is empty, and
each call. Fields that items do not have are in the `extras` of the first item, under one key.
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

_EXTRAS_KEY, _OTHER_FIELDS, _IS_TEXT = "autonomy", "other_fields", "is_text"
_FIELDS = frozenset(("role", "content", "tool_calls", "tool_call_id"))


class ReadMessage(dict[str, Any]):
    """A message with the items that it was made from. If it is not changed, a model gets these items."""

    origins: tuple[Item, ...] = ()


def text_content(text: str) -> dict[str, str]:
    """A text as the content of a message."""
    return {"text": text, "type": "text"}


def system_message(text: str) -> dict[str, Any]:
    """A message of the system."""
    return {"role": "system", "content": text_content(text), "phase": "system"}


def messages_of(items: Iterable[Item]) -> list[ReadMessage]:
    """Items as messages. Calls belong to the reply before them, and reasoning to the message after it."""
    messages: list[ReadMessage] = []
    without_message: list[Item] = []  # reasoning, and other items that become part of the next message
    for item in items:
        last = messages[-1] if messages else None
        if isinstance(item, ToolCall) and last and not without_message and last["role"] == "assistant":
            last.setdefault("tool_calls", []).append(_call_of(item))
            last.origins += (item,)
            continue
        fields = _fields_of(item)
        if fields is None:
            without_message.append(item)
            continue
        message = ReadMessage(fields)
        # A section may show a summary without the items that it covers: then it is sent as a new message.
        message.origins = () if isinstance(item, Summary | Note) else (*without_message, item)
        messages.append(message)
        without_message = []
    return messages


def recorded_items(view: View) -> list[Item]:
    """All items of a conversation except edits, also items that are hidden or summarised."""
    return [item for item in view.recorded() if type(item) not in EDITS and not is_tombstone(item)]


def items_in(messages: object, section: str) -> tuple[Item, ...]:
    """The messages of a section as items. An unchanged message gives the items that it was made from."""
    if not isinstance(messages, list | tuple):
        raise WrongType(f"section {section!r} returns a list of messages, not {type(messages).__name__}")
    readable: list[Any] = []
    for message in cast("Sequence[Any]", messages):
        origins: tuple[Item, ...] = getattr(message, "origins", ())
        readable += origins if origins and messages_of(origins) == [message] else [_readable(message)]
    return items_of(readable, section)


def new_items(message: Mapping[str, Any], tool_names: Mapping[str, str]) -> list[Item]:
    """A message as items to be recorded now; `tool_names` are by call id."""
    if not isinstance(message, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"a message must be a dictionary with a role, not {type(message).__name__}")
    readable = _readable(message)
    if readable.get("role") == "tool" and not readable.get("name"):
        readable = {**readable, "name": tool_names.get(str(readable.get("tool_call_id")))}
    items = [replace(item, id=new_id(), created_at=now()) for item in items_of([readable], "memory")]
    extras: dict[str, Any] = {_IS_TEXT: True} if isinstance(message.get("content"), str) else {}
    if others := {name: value for name, value in message.items() if name not in _FIELDS}:
        extras[_OTHER_FIELDS] = others
    return [replace(items[0], extras={_EXTRAS_KEY: extras}), *items[1:]] if extras else items


def content_in(message: object) -> Content:
    """The content that a caller sends: a text, a content, a message of the user, or a list of these."""
    if isinstance(message, Mapping) and "role" in message:
        fields = cast("Mapping[str, Any]", message)
        if fields["role"] != "user":
            raise WrongType("an agent must be sent messages of the user; others are added to its memory")
        return parse_content(fields.get("content"))
    if isinstance(message, list | tuple):
        parts = [part for row in cast("Sequence[object]", message) for part in parts_of(content_in(row))]
        return parse_content(parts) if parts else ""
    return parse_content(message)  # pyright: ignore[reportUnknownArgumentType]


def _readable(message: Any) -> Any:
    """A message in the form that the engine reads: with calls, an empty content becomes `None`."""
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
            call = {"tool_call_id": item.call_id, "name": item.name}
            fields = {"role": "tool", "content": _content_of(item, item.content), **call}
        case _:
            return None
    others: dict[str, Any] = thaw(_extras(item).get(_OTHER_FIELDS, {}))
    return fields | {"timestamp": item.created_at} | others


def _content_of(item: Item, content: Content) -> Any:
    if not isinstance(content, str):
        return [text_content(part) if isinstance(part, str) else part for part in parts_of(content)]
    return content if _extras(item).get(_IS_TEXT) else text_content(content)


def _call_of(item: ToolCall) -> dict[str, Any]:
    function = {"name": item.name, "arguments": item.arguments}
    return {"id": item.call_id, "type": "function", "function": function}


def _extras(item: Item) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", item.extras.get(_EXTRAS_KEY, {}))


# Calls and results


def paired(items: Sequence[Item], view: View) -> list[Item]:
    """The items of a section, without calls whose results it omits, and without results whose calls it omits.

    Rendering would report such a call as interrupted. In the current turn a call stays, with a note in place
    of its result, so that the model does not repeat the call. A pending call stays as it is.
    """
    answers = Answers(items)
    indexes_of_answered = set(answers.call_of.values())
    pending = {call.call_id for call in view.pending()}
    turn = takewhile(lambda item: not is_user_message(item), reversed(view.recorded()))
    result_by_call = {item.call_id: item for item in turn if isinstance(item, ToolResult)}
    shown: list[Item] = []
    for index, item in enumerate(items):
        if isinstance(item, ToolCall) and index not in indexes_of_answered and item.call_id not in pending:
            if item.call_id in result_by_call:
                result = result_by_call[item.call_id]
                outcome = "failed; the error" if result.is_error else "done; the result"
                note = f"(This was {outcome} is left out here.)"
                shown += [item, replace(result, content=note, id=f"{result.id}/left-out")]
        elif not isinstance(item, ToolResult) or index in answers.call_of:
            shown.append(item)
    return shown


# Memory

Opening = Callable[[str, str], Session]
"""Opens the session of a scope and a conversation."""

_MAX_OPEN_SESSIONS = 256


class Memory:
    """Conversations by scope and name. A scope cannot read the conversations of another.

    Without a `store`, the memory is in this process alone. `opening`, in place of a store, is a function that
    opens its sessions.
    """

    def __init__(self, *, store: str | Path | Store | None = None, opening: Opening | None = None) -> None:
        own_store = MemoryStore() if store is None else store

        def open_session(scope: str, conversation: str) -> Session:
            return Session.open(scope=scope, conversation=conversation, store=own_store)

        self._open = opening or open_session
        self._sessions: dict[Place, Session] = {}  # the most recently used last

    async def add_message(self, scope: str, conversation: str, message: Mapping[str, Any]) -> None:
        """Add a message to a conversation, with the current time."""
        await self.add_messages(scope, conversation, [message])

    async def add_messages(
        self, scope: str, conversation: str, messages: Iterable[Mapping[str, Any]]
    ) -> None:
        """Add messages to a conversation, all or none."""
        session = self.session(scope, conversation)
        tool_names = {call.call_id: call.name for call in session.view().pending()}
        items: list[Item] = []
        for message in messages:
            items += new_items(message, tool_names)
            tool_names |= {item.call_id: item.name for item in items if isinstance(item, ToolCall)}
        if items:
            await session.aio.append(*items)

    async def get_messages_only(self, scope: str, conversation: str) -> list[ReadMessage]:
        """All messages of a conversation, oldest first, also those that a summary covers."""
        return messages_of(recorded_items(self.session(scope, conversation).view()))

    async def get_message_count(self, scope: str, conversation: str) -> int:
        """The number of messages of a conversation."""
        return len(await self.get_messages_only(scope, conversation))

    async def clear_short_term_memory(self, scope: str, conversation: str) -> None:
        """Erase the messages of a conversation from memory and store."""
        session = self.session(scope, conversation)
        view = session.view()
        last_question = [item for item in view if is_user_message(item)][-1:]
        with suppress(EditRefused, InvalidValue):  # items that cannot be hidden are shown as tombstones
            session.append(Hide(spans_over(view, (item for item in view if item not in last_question))))
        session.forget()

    def session(self, scope: str, conversation: str) -> Session:
        """The engine's session of a conversation."""
        place = place_at(scope=scope, conversation=conversation)
        session = self._sessions.pop(place, None) or self._open(scope, conversation)
        self._sessions[place] = session
        if len(self._sessions) > _MAX_OPEN_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        return session


class MemoryCopy:
    """A copy of a user's own memory, which is any object with `get_messages_only`."""

    def __init__(self, source: Any) -> None:
        if not callable(getattr(source, "get_messages_only", None)):
            raise WrongType(f"a memory must have get_messages_only; {type(source).__name__} has not")
        self.source, self._copy = source, Memory()
        self._copied: dict[Place, list[Any]] = {}

    async def session(self, scope: str, conversation: str) -> Session:
        """The copy of a conversation, brought up to date.

        The source may have dropped its oldest messages: the copy keeps them. If none of the copied messages
        is left, the copy is erased and begins again.
        """
        messages: list[Any] = list(await self.source.get_messages_only(scope, conversation))
        place = place_at(scope=scope, conversation=conversation)
        copied = self._copied.get(place, [])
        size = len(copied)
        dropped = next(n for n in range(size + 1) if copied[n:] == messages[: size - n])
        if copied and dropped == size:
            await self._copy.clear_short_term_memory(scope, conversation)
        await self._copy.add_messages(scope, conversation, messages[size - dropped :])
        self._copied[place] = messages
        return self._copy.session(scope, conversation)
