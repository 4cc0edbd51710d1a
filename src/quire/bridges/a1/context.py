"""A1's messages and contexts, their files, and the strategies that keep contexts short.

A context is a transcript of a session. A message is one item, or several if it has tool calls: its text, if
there is any, and one item per call.
"""

import json
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Self, TypeGuard, TypeVar, cast, overload

import msgspec
from msgspec.structs import replace

from quire.bridges.kit import damaged
from quire.compactors import leaving_out
from quire.errors import InvalidValue, Irreducible, WrongType
from quire.items import (
    Hide,
    Item,
    Message as TextItem,
    Summary,
    ToolCall,
    ToolResult,
    check_fields,
    new_id,
    now,
    thaw,
)
from quire.programs import PROGRAM
from quire.session import Session
from quire.state import Transcript, View, truncate
from quire.tokens import Tally, whole

logger = logging.getLogger("quire.bridges.a1")

T = TypeVar("T")

_EXTRAS_KEY = "a1"  # the key of `extras` for fields of messages that items do not have
_UNKNOWN = "unknown"  # the name or the id of a call without one
MessageItem = TextItem | ToolCall | ToolResult | Summary


# Messages


def _time_now() -> datetime:
    return datetime.fromtimestamp(now())


def _message_id(item_id: str = "") -> str:
    """The id of a message: at least 32 characters, as long as a UUID in hexadecimal digits."""
    return (item_id or new_id()).ljust(32, "0")


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One message in OpenAI's form, which cannot change. The timestamp is local time without a zone."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str
    name: str | None = None
    tool_call_id: str | None = None
    tool_calls: list[dict[str, Any]] | None = None
    timestamp: datetime = msgspec.field(default_factory=_time_now)
    message_id: str = msgspec.field(default_factory=_message_id)

    def __post_init__(self) -> None:
        check_fields(self)

    def model_dump(
        self, *, mode: str = "json", exclude_none: bool = False, exclude: Iterable[str] = ()
    ) -> dict[str, Any]:
        """The message as JSON values, in every mode. `Message(**dump)` restores it."""
        dump: dict[str, Any] = msgspec.to_builtins(self)
        left_out = {*exclude, *(name for name, value in dump.items() if exclude_none and value is None)}
        return {name: value for name, value in dump.items() if name not in left_out}


# Messages as items


def _items_of(message: Message) -> list[Item]:
    """A message as items. `extras` of the first have the message's other fields, those of the rest its id."""
    others = {"name": message.name, "tool_call_id": message.tool_call_id, "tool_calls": message.tool_calls}
    common: dict[str, Any] = {"created_at": message.timestamp.timestamp()}
    items: list[Item] = []
    if message.role == "tool":
        call_id, name = message.tool_call_id or _UNKNOWN, message.name or _UNKNOWN
        items.append(ToolResult(call_id, name, message.content, **common))
    elif message.content or message.role != "assistant" or not message.tool_calls:
        items.append(TextItem(message.role, message.content, **common))
    if message.role == "assistant":
        items += [_call_of(call, common) for call in message.tool_calls or ()]
    message_id = message.message_id
    for index, item in enumerate(items):
        item_id, fields = (f"{message_id}:{index}", {"of": message_id}) if index else (message_id, others)
        items[index] = replace(item, id=item_id, extras={_EXTRAS_KEY: fields})
    return items


def _call_of(call: Mapping[str, Any], common: dict[str, Any]) -> ToolCall:
    """A tool call in OpenAI's form, or in a form with `name` and `arguments` beside the `id`."""
    function = call.get("function")
    fields = cast("Mapping[str, Any]", function) if isinstance(function, Mapping) else call
    arguments = fields.get("arguments", "{}")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, default=str)
    return ToolCall(str(call.get("id") or _message_id()), str(fields.get("name") or _UNKNOWN), text, **common)


def _call_dict(call: ToolCall) -> dict[str, Any]:
    """A tool call in OpenAI's form."""
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.call_id, "type": "function", "function": function}


def _message_of(item: MessageItem) -> Message:
    """The message whose only or first item this is."""
    others: dict[str, Any] = thaw(item.extras.get(_EXTRAS_KEY)) or {}
    match item:
        case TextItem():
            fields: dict[str, Any] = {"role": item.role, "content": item.text}
        case ToolResult():
            fields = {"role": "tool", "content": item.text, "name": item.name, "tool_call_id": item.call_id}
        case ToolCall():
            fields = {"role": "assistant", "content": "", "tool_calls": [_call_dict(item)]}
        case Summary():
            fields = {"role": "assistant", "content": item.text}
    time = datetime.fromtimestamp(item.created_at)
    return Message(**fields | others, timestamp=time, message_id=_message_id(item.id))


def _begins_message(item: Item) -> TypeGuard[MessageItem]:
    """Whether an item is the only or the first item of a message."""
    return isinstance(item, MessageItem) and "of" not in item.extras.get(_EXTRAS_KEY, {})


# Contexts


class Messages(list[Message]):
    """The messages of a context. A change of the list changes the context."""

    def __init__(self, context: "Context") -> None:
        super().__init__()
        self.context = context


def _changing(name: str) -> Any:
    """A method of `list` that also changes the context."""

    def method(self: Messages, *args: Any, **kwargs: Any) -> Any:
        messages = list(self.context.messages)
        result = getattr(messages, name)(*args, **kwargs)
        self.context.messages = messages
        return self if result is messages else result

    return method


for _name in ("append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"):
    setattr(Messages, _name, _changing(_name))
for _name in ("__delitem__", "__iadd__", "__setitem__"):
    setattr(Messages, _name, _changing(_name))


class Context:
    """Messages in the order in which they were appended. The session keeps messages that were removed.

    With `keep_updated`, a method that changes the context also writes the file. By default a context has a
    session of its own, in memory. `on_change` is called after each change.
    """

    def __init__(
        self,
        messages: Iterable[Message] = (),
        file_path: str | os.PathLike[str] | None = None,
        keep_updated: bool = False,
        *,
        session: Session | None = None,
        transcript: str = "main",
        on_change: "Callable[[Context], None] | None" = None,
    ) -> None:
        self.file_path = None if file_path is None else Path(file_path)
        self.keep_updated = keep_updated
        self.session = session or Session.open(store="memory:")
        self.transcript = self._name = transcript
        self._on_change = on_change
        self._view: View | None = None
        self._messages = Messages(self)
        self.extend(messages)
        if self.keep_updated:
            self._save()

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], keep_updated: bool = False) -> Self:
        """Read a context from a file; if there is none, it is empty. Only `keep_updated` writes the file."""
        return cls(read_json(path, list[Message]) or (), path, keep_updated)

    def __repr__(self) -> str:
        return f"<Context {self._name!r} of {len(self)} messages>"

    @property
    def view(self) -> View:
        """The view of the transcript."""
        exists = self.transcript in self.session.transcripts
        return self.session.view(self.transcript) if exists else Transcript().view

    @property
    def messages(self) -> list[Message]:
        """The messages, oldest first: a list that can be changed or assigned."""
        self._refresh()
        return self._messages

    @messages.setter
    def messages(self, messages: Iterable[Message]) -> None:
        new, current = list(messages), self.messages
        if new[: len(current)] == current:
            self.extend(new[len(current) :])
        else:
            self._replace_messages(new)
            self.after_change()

    def user(self, content: str) -> Message:
        """Append a message of the user."""
        return self._appended(Message(role="user", content=content))

    def assistant(self, content: str, tool_calls: list[dict[str, Any]] | None = None) -> Message:
        """Append a message of the model, with its tool calls."""
        return self._appended(Message(role="assistant", content=content, tool_calls=tool_calls))

    def system(self, content: str) -> Message:
        """Append an instruction."""
        return self._appended(Message(role="system", content=content))

    def tool(self, content: str, name: str | None = None, tool_call_id: str | None = None) -> Message:
        """Append the result of a tool."""
        return self._appended(Message(role="tool", content=content, name=name, tool_call_id=tool_call_id))

    def append(self, message: Message) -> None:
        """Append a message."""
        self.extend([message])

    def extend(self, messages: Iterable[Message]) -> None:
        """Append messages, all or none."""
        items = [item for message in messages for item in _items_of(_checked(message))]
        if items:
            self.session.append(*items, to=self.transcript)
            self.after_change()

    def clear(self) -> None:
        """Remove all messages."""
        self.messages = []

    def to_dict_list(self) -> list[dict[str, Any]]:
        """The messages in the form that is sent to a model."""
        left_out = ("timestamp", "message_id")
        return [message.model_dump(exclude_none=True, exclude=left_out) for message in self.messages]

    def __len__(self) -> int:
        return len(self.messages)

    def __iter__(self) -> Iterator[Message]:
        return iter(list(self.messages))

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> list[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | list[Message]:
        return self.messages[index]

    def after_change(self) -> None:
        """Bring the list of messages up to date, let the runtime compact, and save."""
        self._refresh()
        if self._on_change is not None:
            self._on_change(self)
        if self.keep_updated:
            self._save()

    def copies(self) -> list[Item]:
        """The shown items as items for another transcript, with the same ids."""
        return [replace(item, spans=()) if isinstance(item, Summary) else item for item in self.view]

    def _appended(self, message: Message) -> Message:
        self.append(message)
        return message

    def _refresh(self) -> None:
        """Bring the list of messages up to date with the transcript."""
        view = self.view
        added = None if self._view is None else view.added_since(self._view)
        if added is None:
            list[Message].clear(self._messages)
            added = list(view)
        for item in filter(_begins_message, added):
            self._show(item)
        self._view = view

    def _show(self, item: MessageItem) -> None:
        last = self._messages[-1] if self._messages else None
        # A call that an LLM made belongs to the message before it. A call by a program is a message itself.
        is_by_llm = isinstance(item, ToolCall) and item.agent_id != PROGRAM and _EXTRAS_KEY not in item.extras
        if is_by_llm and last is not None and last.role == "assistant":
            calls = [*(last.tool_calls or ()), _call_dict(cast("ToolCall", item))]
            list[Message].__setitem__(self._messages, -1, replace(last, tool_calls=calls))
        else:
            list[Message].append(self._messages, _message_of(item))

    def _replace_messages(self, messages: list[Message]) -> None:
        """Continue in a new transcript, such as `main~2`; the session keeps the one before."""
        number = int(self.transcript.rpartition("~")[2]) + 1 if "~" in self.transcript else 2
        transcript = f"{self._name}~{number}"
        items = [item for message in messages for item in _items_of(_checked(message))]
        if items:
            self.session.append(*items, to=transcript)
        self.transcript, self._view = transcript, None

    def _save(self) -> None:
        if self.file_path is not None:
            write_json(self.file_path, dumped(self))


def no_context() -> Context:
    """A context that belongs to no runtime and is not saved."""
    return Context()


def _checked(message: object) -> Message:
    if not isinstance(message, Message):
        raise WrongType(f"expected a Message, got {type(message).__name__}")
    return message


# Files


def dumped(context: Context) -> list[dict[str, Any]]:
    """The messages of a context as JSON values, for a file."""
    return [message.model_dump(exclude_none=True) for message in context]


def read_json(path: str | os.PathLike[str], kind: type[T]) -> T | None:
    """Read a value of a type from a JSON file; `None` if there is no file."""
    if not Path(path).exists():
        return None
    if not Path(path).is_file():
        raise InvalidValue(f"{os.fspath(path)} is not a regular file")
    try:
        return msgspec.json.decode(Path(path).read_bytes(), type=kind)
    except (msgspec.DecodeError, UnicodeError) as fault:
        raise damaged(fault, f"{os.fspath(path)}: ") from None


def write_json(path: Path, data: Any) -> None:
    """Replace a JSON file in one step, so that it is valid at any time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.new")
    new.write_text(json.dumps(data, indent=2))
    new.replace(path)


# Compaction


class Compact:
    """The base class of strategies that shorten contexts. It changes nothing itself."""

    def compact(self, contexts: dict[str, Context]) -> dict[str, Context]:
        """Return the contexts by name, changed in place or replaced by others."""
        return contexts


_MESSAGES = Tally("a1.messages", lambda item: int(_begins_message(item)))


class TruncateOldest(Compact):
    """Leaves out the oldest messages of each context, so that at most `max_messages` remain.

    Instructions, calls without a result and the last message of the user stay. A call and its result are left
    out together, so fewer messages may remain.
    """

    def __init__(self, max_messages: int = 100) -> None:
        self.max_messages = whole(max_messages, "max_messages", least=1)

    def compact(self, contexts: dict[str, Context]) -> dict[str, Context]:
        """Leave out the oldest messages, in place."""
        for context in contexts.values():
            edit = self._cut(context.view)
            if edit is not None:
                context.session.append(edit, to=context.transcript)
        return contexts

    def _cut(self, view: View) -> Hide | None:
        try:
            return truncate(view, tokens=self.max_messages, counter=_MESSAGES)  # a message counts as a token
        except Irreducible as fault:
            logger.warning("%d items must stay: more than max_messages", len(fault.parts))
            return leaving_out(view, fault.parts)
