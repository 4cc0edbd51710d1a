"""Items: their ids and times, the parts of their content, the kinds that record what happened, and the edits.

Every kind is a frozen struct. The constructor and the decoder check its fields; an error names the field,
never its value. When a kind is added to the union, the type checker lists every place that must handle it.
"""

import itertools
import os
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import Meta

from quire.errors import InvalidValue
from quire.items.values import MAX_TEXT, NOTHING, check_fields, replace_surrogates

MAX_DATA = 64 * 1024 * 1024
"""Bytes that one part may hold by value."""

FAR_FUTURE = 1e11  # seconds; a later time is surely in milliseconds
FAR_PAST = -FAR_FUTURE

Role = Literal["system", "developer", "user", "assistant"]
"""The role of a message."""
ROLES: frozenset[str] = frozenset(get_args(Role))
Origin = Literal["system", "user", "model", "tool", "external"]
"""Who wrote something, from the most to the least trusted."""
ORIGINS: tuple[Origin, ...] = get_args(Origin)
Detail = Literal["auto", "low", "high"]

Text = Annotated[str, Meta(max_length=MAX_TEXT)]
Name = Annotated[str, Meta(min_length=1)]
Visible = Annotated[str, Meta(pattern=r"\S", max_length=MAX_TEXT)]
Data = Annotated[bytes, Meta(min_length=1, max_length=MAX_DATA)]
Size = Annotated[int, Meta(gt=0, lt=10**9)]
Seconds = Annotated[float, Meta(gt=0, lt=1e9)]
Time = Annotated[float, Meta(gt=FAR_PAST, lt=FAR_FUTURE)]
Priority = Annotated[float, Meta(ge=0, le=1)]


# The clock, and ids that sort by time.
#
# All code reads the time here, so that a test can set it. An id is eighteen hexadecimal digits of time (from
# the far past on) and of a counter, followed by ten random digits of the process. Ids of one process sort in
# the order of their creation, ids of several processes by the millisecond. When the clock steps back, ids
# stay unique and sort by the time that the clock returned.

_COUNTER_BITS = 22  # more than one millisecond can use up, so ids of different milliseconds never collide
_FIRST_MILLISECOND = int(FAR_PAST * 1e3)

_clock: Callable[[], float] = time.time
_next_tick = itertools.count().__next__  # a C call: two threads never get the same number
_process = os.urandom(5).hex()


def now() -> float:
    """The time in UTC epoch seconds."""
    return _clock()


def new_id() -> str:
    """A unique id that sorts by time."""
    ticks = ((int(_clock() * 1e3) - _FIRST_MILLISECOND) << _COUNTER_BITS) + _next_tick()
    return ticks.to_bytes(9, "big").hex() + _process


@contextmanager
def use_clock(clock: Callable[[], float]) -> Generator[None]:
    """Take the time from `clock` inside the `with` block, in the whole process."""
    global _clock
    previous, _clock = _clock, clock
    try:
        yield
    finally:
        _clock = previous


def _renew_process_digits() -> None:
    global _process
    _process = os.urandom(5).hex()


if hasattr(os, "register_at_fork"):  # not available on Windows
    os.register_at_fork(after_in_child=_renew_process_digits)


class Checked(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True):
    """A struct that checks its fields.

    The cyclic garbage collector skips these structs, because visiting them would slow down every collection.
    An object in `extras` must therefore not refer back to its item.
    """

    def __post_init__(self) -> None:
        check_fields(self)


# Parts of content. Text is plain `str`.


class Media(Checked, frozen=True, kw_only=True, tag_field="part"):
    """The base of all media: bytes or a URL, never both.

    Sizes (`width`, `seconds`, `pages`) make the token count exact; without them a usual size is assumed.
    """

    url: Name | None = None
    data: Data | None = None
    media_type: Text | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if (self.url is None) == (self.data is None):
            raise InvalidValue(f"{type(self).__name__} must have either url or data")


class Image(Media, frozen=True, kw_only=True, tag="image"):
    """A picture."""

    detail: Detail = "auto"
    width: Size | None = None
    height: Size | None = None


class Audio(Media, frozen=True, kw_only=True, tag="audio"):
    """A recording; `transcript` is its text, for models that take no audio."""

    seconds: Seconds | None = None
    transcript: Text | None = None


class File(Media, frozen=True, kw_only=True, tag="file"):
    """A document such as a PDF."""

    name: Text | None = None
    pages: Size | None = None


Part = Text | Image | Audio | File
"""A text or one medium."""
Content = Text | tuple[Part, ...]
"""A text, or a tuple of parts."""


def text_of(content: Content) -> str:
    """The text in some content, without its media."""
    if isinstance(content, str):
        return content
    return "\n".join(part for part in parts_of(content) if isinstance(part, str))


def parts_of(content: Content) -> tuple[Part, ...]:
    """Content as a tuple of parts; an empty text has none."""
    if isinstance(content, str):
        return (content,) if content else ()
    return tuple(content)


# Structs inside items


class Opaque(Checked, frozen=True):
    """Provider state that only the model that made it can read: signatures, encrypted reasoning.

    It is sent back only to the same provider and model, and only if the messages before it hash to `prefix`.
    Model `*` stands for any model of the provider; state without a prefix is sent until the transcript is
    edited. Without data it only names the provider and the model.
    """

    provider: Text
    model: Text
    data: Text = ""
    prefix: Text | None = None


class Wording(Checked, frozen=True, kw_only=True):
    """Other wordings of a message: `voice` is to be spoken, `reading` to be displayed."""

    voice: Text | None = None
    reading: Text | None = None


class Address(Checked, frozen=True):
    """The recipient of a direct message, its priority (0 to 1), and the time at which it expires."""

    to: Name
    priority: Priority | None = None
    expires_at: Time | None = None


class Span(Checked, frozen=True):
    """All items from `first` to `last`, both included, in the order of the log, except edits."""

    first: Name
    last: Name


# What happened


class Record(Checked, frozen=True, kw_only=True, tag_field="kind"):
    """The fields that all kinds of items have."""

    id: Name = msgspec.field(default_factory=new_id)
    created_at: Time = msgspec.field(default_factory=now)
    agent_id: Text | None = None
    extras: Mapping[str, Any] = NOTHING
    origin: Origin | None = None
    """Who wrote it, where kind and role do not say so; see `usual_origin`."""


# The `__post_init__` of messages, calls and results first tests for usual values, which takes a few hundred
# nanoseconds. Only an item that fails this test is checked in full by `check_fields`.


def _is_usual(text: object) -> bool:
    return type(text) is str and text != "" and text.isascii()


class _WithContent:
    """Gives messages and results their `text` and `parts`."""

    __slots__ = ()
    content: Content

    @property
    def text(self) -> str:
        """The text, without media."""
        return text_of(self.content)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The content as a tuple of parts."""
        return parts_of(self.content)


class Message(_WithContent, Record, frozen=True, tag="message"):
    """A message of the system, the developer, the user or the assistant.

    `state` holds provider blocks that belong to the text, such as citations or the name of a speaker.
    `wording` is the text as it is spoken or displayed, `address` the recipient of a direct message, and
    `interrupted` marks a message that was cut off; these three are never sent to a model. All items of one
    response of a model share a `reply_id`.
    """

    role: Role
    content: Text | Annotated[tuple[Part, ...], Meta(min_length=1)]
    interrupted: bool = False
    wording: Wording | None = None
    address: Address | None = None
    state: Opaque | None = None
    reply_id: Name | None = None

    def __post_init__(self) -> None:
        if not (
            type(content := self.content) is str
            and type(own_id := self.id) is type(role := self.role) is str
            and (content.isascii() or replace_surrogates(content) is content)
            and len(content) <= MAX_TEXT
            and (own_id and own_id.isascii() and role in ROLES)
            and self.interrupted is False
            and self.wording is self.address is self.state is None
            and (self.reply_id is None or _is_usual(self.reply_id))
            and (type(time := self.created_at) is float and FAR_PAST < time < FAR_FUTURE)
            and (self.agent_id is None or _is_usual(self.agent_id))
            and self.extras is NOTHING
            and self.origin is None
        ):
            check_fields(self)


class ToolCall(Record, frozen=True, tag="tool_call"):
    """A model's request to run a tool; `arguments` is the text that the model wrote, valid JSON or not."""

    call_id: Name
    name: Name
    arguments: Text = "{}"
    state: Opaque | None = None
    reply_id: Name | None = None

    def __post_init__(self) -> None:
        if not (
            type(arguments := self.arguments) is str
            and type(own_id := self.id) is type(call_id := self.call_id) is type(name := self.name) is str
            and (arguments.isascii() or replace_surrogates(arguments) is arguments)
            and len(arguments) <= MAX_TEXT
            and (own_id and own_id.isascii() and call_id and call_id.isascii() and name and name.isascii())
            and self.state is None
            and (self.reply_id is None or _is_usual(self.reply_id))
            and (type(time := self.created_at) is float and FAR_PAST < time < FAR_FUTURE)
            and (self.agent_id is None or _is_usual(self.agent_id))
            and self.extras is NOTHING
            and self.origin is None
        ):
            check_fields(self)


class ToolResult(_WithContent, Record, frozen=True, tag="tool_result"):
    """The output of a tool for one call."""

    call_id: Name
    name: Name
    content: Content
    is_error: bool = False

    def __post_init__(self) -> None:
        if not (
            type(content := self.content) is str
            and type(own_id := self.id) is type(call_id := self.call_id) is type(name := self.name) is str
            and (content.isascii() or replace_surrogates(content) is content)
            and len(content) <= MAX_TEXT
            and (own_id and own_id.isascii() and call_id and call_id.isascii() and name and name.isascii())
            and type(self.is_error) is bool
            and (type(time := self.created_at) is float and FAR_PAST < time < FAR_FUTURE)
            and (self.agent_id is None or _is_usual(self.agent_id))
            and self.extras is NOTHING
            and self.origin is None
        ):
            check_fields(self)


class Reasoning(Record, frozen=True, tag="reasoning"):
    """A model's reasoning; `state` names the model and holds data that only this model can read.

    Raw provider blocks that no other item represents, such as a search by the provider, are reasoning
    without `text`.
    """

    text: Text = ""
    state: Opaque | None = None
    reply_id: Name | None = None


class Handoff(Record, frozen=True, tag="handoff"):
    """One agent hands the conversation over to another."""

    to_agent: Name
    from_agent: Text | None = None
    reason: Text | None = None


class ConfigChange(Record, frozen=True, tag="config_change"):
    """New instructions or tools apply from here on; None leaves the previous ones in force."""

    instructions: Text | None = None
    tools: tuple[Text, ...] | None = None


class Note(Record, frozen=True, tag="note"):
    """A piece of knowledge; with a key it belongs in the pool, without one in the transcript.

    `content` is any value, but only JSON values and bytes can be stored.
    """

    content: Any
    key: Name | None = None
    description: Text | None = None


# Edits: items that change what is shown of other items, never the items themselves


class Summary(Record, frozen=True, tag="summary"):
    """A short text shown in place of the spans; without spans it is shown where it was recorded."""

    text: Visible
    spans: tuple[Span, ...] = ()


class Mask(Record, frozen=True, tag="mask"):
    """A short stub shown in place of one item's content."""

    target: Name
    stub: Visible


class Hide(Record, frozen=True, tag="hide"):
    """The spans are not shown."""

    spans: Annotated[tuple[Span, ...], Meta(min_length=1)]


class Pin(Record, frozen=True, tag="pin"):
    """One item, with its group, stays shown in full, whatever else is hidden, masked or summarised."""

    target: Name


class Distrust(Record, frozen=True, tag="distrust"):
    """One item is treated as text from outside: it is shown as a quotation, and trusted least."""

    target: Name


class Undo(Record, frozen=True, tag="undo"):
    """One edit no longer applies; an `Undo` can be undone too."""

    target: Name


class Unknown(Record, frozen=True, tag="unknown"):
    """An item of a kind that only a newer version knows: it is stored and never shown.

    `name` is the name of the kind. `fields` are its fields as read, except the kind and those in `COMMON`.
    """

    name: Text
    fields: Mapping[str, Any]


COMMON = ("id", "created_at", "agent_id", "origin")
"""The fields of a `Record` that an `Unknown` has as attributes."""

Edit = Summary | Mask | Hide | Pin | Distrust | Undo
"""Any of the six edits."""
Known = Message | ToolCall | ToolResult | Reasoning | Handoff | ConfigChange | Note | Edit
Item = Known | Unknown
"""Any item."""

KNOWN: dict[str, type[Known]] = {str(kind.__struct_config__.tag): kind for kind in get_args(Known)}
"""The kinds of this version, by name."""

KINDS: frozenset[type] = frozenset((*KNOWN.values(), Unknown))
"""The classes of all kinds of item."""
EDITS: frozenset[type] = frozenset(get_args(Edit))
"""The classes of the edits."""


def kind_of(item: Item) -> str:
    """The name of an item's kind, as a codec writes it."""
    if isinstance(item, Unknown):
        return item.name
    return str(type(item).__struct_config__.tag)


_ROLE_ORIGINS: dict[str, Origin] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "model",
}
_KIND_ORIGINS: dict[type, Origin] = {
    ConfigChange: "system",
    Hide: "user",
    Pin: "user",
    Distrust: "user",
    Undo: "user",
    ToolResult: "tool",
    Note: "user",
    Unknown: "external",
}


def usual_origin(item: Item) -> Origin:
    """The origin that the kind and role of an item imply. A message between agents is a model's."""
    if isinstance(item, Message):
        return _ROLE_ORIGINS[item.role] if item.address is None else "model"
    return _KIND_ORIGINS.get(type(item), "model")


def own_origin(item: Item) -> Origin:
    """The recorded origin of an item, or its usual one. Items that it was made from do not count here."""
    return item.origin or usual_origin(item)


def checked_origin(origin: str) -> Origin:
    """Return the name if it is that of an origin, or raise `InvalidValue`."""
    for known in ORIGINS:
        if known == origin:
            return known
    raise InvalidValue(f"an origin must be one of {', '.join(ORIGINS)}")


def lowest(origins: Iterable[Origin]) -> Origin:
    """The least trusted of several origins; `system` if there are none."""
    return ORIGINS[max(map(ORIGINS.index, origins), default=0)]


def is_below(origin: Origin, other: Origin) -> bool:
    """Whether the first origin is trusted less than the other."""
    return ORIGINS.index(origin) > ORIGINS.index(other)
