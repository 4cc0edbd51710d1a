"""Sections: a section is a named slice of what the model sees, and is asked for its content once per turn.

This file has the protocol, the `Ask` that a section gets, its settings, and the conversion to items.
"""

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Literal, NamedTuple, Protocol, TypedDict, TypeVar, Unpack, cast

import msgspec

from quire.errors import InvalidValue, QuireError, UnknownKey, WrongType, cut
from quire.guesses import no_option, option_names
from quire.items import (
    KINDS,
    Audio,
    Content as MessageContent,
    Distrust,
    File,
    Hide,
    Image,
    Item,
    Mask,
    Message,
    Origin,
    Part,
    Pin,
    ToolCall,
    ToolResult,
    Undo,
    parts_of,
    prepared,
)
from quire.state import Pool, View
from quire.tokens import Definition, Share, named

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

Stability = Literal["static", "slow", "volatile"]
"""How a section changes between turns: never, only by growing at its end, or in any way."""

Content = View | Sequence[Item | Mapping[str, Any]]
"""What a section returns: a view, or items. A mapping with a role and content becomes a message."""

Count = Callable[[Item], int]
"""Returns the tokens of one item."""

IsShown = Callable[[Sequence[str], Callable[[Item], bool]], bool]
"""Takes ids and a test; returns whether one of the ids is shown and the item with the first id passes."""

TURN = "quire.turn"
"""The key in the `extras` of a block of quotes. Its value is the turn for which the block was made."""

NEVER_SHOWN = (Hide, Mask, Pin, Distrust, Undo)
"""Edits that have no content to show."""

_SHOWABLE = KINDS - set(NEVER_SHOWN)


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """The data that sections get for one turn.

    `input` is the message to answer, if it is known. `parameters` are shared: a section can read values that
    an earlier one has set. `memory` returns the memory of the scope, if there is one.
    """

    views: Mapping[str, View] = {}
    pool: Pool = msgspec.field(default_factory=Pool)
    tools: Sequence[Definition] = ()
    scope: str = ""
    conversation: str = ""
    input: Item | None = None
    inbox: Sequence[Message] = ()
    now: float = 0.0
    parameters: dict[str, Any] = msgspec.field(default_factory=dict)
    memory: Callable[[], object] | None = None

    def view(self, name: str = "main") -> View:
        """Return the view of a transcript by its name."""
        if name not in self.views:
            known = ", ".join(map(repr, self.views)) or "none"
            raise UnknownKey(f"there is no transcript {cut(name)!r}; known transcripts: {known}")
        return self.views[name]


class Section(Protocol):
    """The attributes that a section must have; `Settings` has defaults for the others."""

    @property
    def name(self) -> str:
        """The name, unique in its template."""
        ...

    async def items(self, ask: Ask) -> Content:
        """Return the content of the section for this turn."""
        ...


class Options(TypedDict, total=False):
    """The options of every section; see `Settings`."""

    enabled: bool
    required: bool
    stability: Stability
    share: Share | None
    keeps: Literal["first", "newest"]
    closely: bool
    ledger: bool
    shortens: bool
    independent: bool


class Settings:
    """The settings of a section. A custom section can inherit them, or have attributes of the same names.

    A `required` section is shown whole: if it does not fit or raises an error, the build fails. An optional
    one gets its `share` of the budget, and is left out if it fails. `keeps` says which items stay if the
    section is too large: the first or the newest. A section that keeps the newest is cut in steps, where a
    turn begins, so that its beginning stays the same for some turns; with `closely`, only as much is cut as
    necessary, between any two groups. If it is cut in steps, it may list what was left out in a `ledger`, and
    may shorten old results first (`shortens`); a history does both. An `independent` section neither sets nor
    reads parameters, so that a session can ask it concurrently with others.
    """

    enabled: bool = True
    required: bool = True
    stability: Stability = "volatile"
    share: Share | None = None
    keeps: Literal["first", "newest"] = "first"
    closely: bool = False
    ledger: bool = False
    shortens: bool = False
    independent: bool = False

    def __init__(self, name: str, **options: Unpack[Options]) -> None:
        self.name = named(name, "the name of a section")
        for option, value in options.items():
            if option not in Options.__annotations__:
                names, call = option_names(type(self).__init__), f"{type(self).__name__}(...)"
                own = [name for name in names if name not in Options.__annotations__]
                raise InvalidValue(no_option(call, option, own, Options.__annotations__))
            setattr(self, option, value)
        if not isinstance(self.share, Share | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            what, kind = f"{type(self).__name__}(share=…)", type(self.share).__name__
            raise WrongType(f"{what} must be a Share(maximum=2_000), not {kind}")
        if self.stability not in ("static", "slow", "volatile"):
            raise InvalidValue(f"stability must be static, slow or volatile, not {cut(self.stability)!r}")
        if self.keeps not in ("first", "newest"):
            raise InvalidValue(f"keeps must be first or newest, not {cut(self.keeps)!r}")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"


def settings_of(section: object) -> Settings:
    """Return the settings of a section, read from its attributes if it does not inherit `Settings`."""
    if isinstance(section, Settings):
        return section
    if not hasattr(section, "name") or not callable(getattr(section, "items", None)):
        kind, hint = type(section).__name__, 'Instructions("…")'
        if isinstance(section, type):
            kind, hint = f"the class {section.__name__}", f"{section.__name__}()"
        elif isinstance(section, list | tuple):
            hint = "Template(*sections, budget=8_000)"
        raise WrongType(f"a section must have a name and items(ask); {kind} has not: use `{hint}`")
    options = {key: getattr(section, key) for key in Options.__annotations__ if hasattr(section, key)}
    return Settings(getattr(section, "name"), **cast(Options, options))  # noqa: B009  # its type is unknown


class Candidate(NamedTuple):
    """One candidate of a selection, with the data for its entry in the receipt."""

    item: Item
    is_selected: bool
    reason: str
    source: str = ""
    origin: Origin | None = None
    """The origin of the content, if the item does not have one."""


class Selection(Protocol):
    """The result of a selection: the items to show, and what became of each candidate."""

    items: tuple[Item, ...]

    def __len__(self) -> int:
        """Return how many candidates were selected."""
        ...

    def candidates(self) -> Iterator[Candidate]:
        """Yield every candidate, selected or not."""
        ...


class Candidates(Sequence[Item]):
    """Content from which items are selected once the room and the other visible items are known."""

    turn = ""
    """Identifies the turn: during a turn, the same selection is shown again."""

    @abstractmethod
    def select(
        self,
        tokens: int | None,
        count: Count,
        is_shown: IsShown | None = None,
        earlier: Sequence[Selection] = (),
    ) -> Selection:
        """Select for a number of tokens; `earlier` are the selections of other sections."""

    def again(
        self, items: Sequence[Item], is_shown: IsShown | None = None, earlier: Sequence[Selection] = ()
    ) -> Selection | None:
        """Return the selection of this turn that showed these items; `None` if it is not valid any more."""
        return None

    @abstractmethod
    def changed(self, change: Callable[[Item], Item]) -> "Candidates":
        """Return the same candidates, each item changed by a function."""


async def maybe_await(value: T | Awaitable[T]) -> T:
    """Return the value of a sync function, or the awaited value of an async one."""
    plain, awaitable = cast(T, value), cast("Awaitable[T]", value)
    return await awaitable if isinstance(value, Awaitable) else plain


def checked_function(value: F, what: str) -> F:
    """Return the value if it can be called."""
    if not callable(value):
        raise WrongType(f"{what} must be a function, not {type(value).__name__}")
    return value


def items_of(content: object, section_name: str) -> tuple[Item, ...]:
    """Convert the content of a section to items. An error names the section and the index.

    A dictionary with a role becomes a message. Its id depends only on the section and the content, so that it
    is the same item in the next turn and in the next run.
    """
    kind = type(content).__name__
    if isinstance(content, str | bytes | Mapping) or not isinstance(content, Iterable):
        raise WrongType(f"section {cut(section_name)!r} must return a list of items, not {kind}")
    elements = tuple(cast("Iterable[object]", content))
    if _SHOWABLE.issuperset(map(type, elements)):
        return cast("tuple[Item, ...]", elements)
    reader = _Reader(section_name)
    items: list[Item] = []
    for index, element in enumerate(elements):
        try:
            items += reader.read(element)
        except QuireError as fault:
            raise type(fault)(f"section {cut(section_name)!r}, [{index}]: {fault}") from None
    return tuple(items)


def stable_id(section_name: str, *contents: str | MessageContent) -> str:
    """Return an id that depends only on the section and the contents."""
    digest = blake2b(digest_size=12)
    for content in contents:
        parts = parts_of(content)
        digest.update(b"%d:" % len(parts))
        for part in parts:
            encoded = (part if isinstance(part, str) else repr(part)).encode("utf-8", "surrogatepass")
            digest.update(b"%d:" % len(encoded) + encoded)
    return f"{section_name}/{digest.hexdigest()}"


class _Function(msgspec.Struct):
    name: str
    arguments: str = "{}"


class _Call(msgspec.Struct):
    id: str
    function: _Function


@prepared
class _Dictionary(msgspec.Struct):
    """A message as a dictionary, in the shape of OpenAI's chat API."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: Any = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str = ""
    name: str | None = None


class _Reader:
    """Converts the elements of one section, in order."""

    def __init__(self, section_name: str) -> None:
        self._section = section_name
        self._uses_by_id: dict[str, int] = {}
        self._tool_by_call: dict[str, str] = {}  # results in dictionaries rarely have the name of the tool

    def read(self, element: object) -> list[Item]:
        if isinstance(element, NEVER_SHOWN):
            raise WrongType(f"{type(element).__name__} is recorded in a transcript; it cannot be shown")
        if type(element) in KINDS:
            return [cast(Item, element)]
        if not isinstance(element, Mapping):
            raise WrongType(f"expected an item or a dictionary with a role, not {type(element).__name__}")
        try:
            entry = msgspec.convert(element, _Dictionary)
        except msgspec.ValidationError as fault:
            raise InvalidValue(str(fault)) from None
        if entry.role == "tool":
            return [self._result(entry)]
        calls = entry.tool_calls or []
        if calls and entry.role != "assistant":
            raise InvalidValue("only a message of the assistant may have tool_calls")
        call_items = [self._call(call) for call in calls]
        if call_items and entry.content in (None, "", [], ()):
            return call_items
        parts = parse_content(entry.content)
        own_id = self._id("message", entry.role, parts)
        return [Message(entry.role, parts, id=own_id, created_at=0.0), *call_items]

    def _call(self, call: _Call) -> Item:
        name, arguments = call.function.name, call.function.arguments
        self._tool_by_call[call.id] = name
        return ToolCall(
            call.id, name, arguments, id=self._id("call", call.id, name, arguments), created_at=0.0
        )

    def _result(self, entry: _Dictionary) -> Item:
        call_id, parts = entry.tool_call_id, parse_content(entry.content)
        name = entry.name or self._tool_by_call.get(call_id) or "tool"
        return ToolResult(call_id, name, parts, id=self._id("result", call_id, parts), created_at=0.0)

    def _id(self, *contents: str | MessageContent) -> str:
        own_id = stable_id(self._section, *contents)
        number = self._uses_by_id[own_id] = self._uses_by_id.get(own_id, 0) + 1
        return own_id if number == 1 else f"{own_id}#{number}"


def parse_content(content: object) -> MessageContent:
    """Convert a text, a dictionary with a text, or a list of these and media to message content."""
    if not isinstance(content, list | tuple):
        part = _part(content)
        return part if isinstance(part, str) else (part,)
    parts = [_part(part) for part in cast("Sequence[object]", content)]
    if not parts:
        raise InvalidValue("the content must not be an empty list")
    return parts[0] if len(parts) == 1 and isinstance(parts[0], str) else tuple(parts)


def _part(part: object) -> Part:
    if isinstance(part, str | Image | Audio | File):
        return part
    entry = cast("Mapping[str, object]", part if isinstance(part, Mapping) else {})
    kind, text = entry.get("type", "text"), entry.get("text")
    if kind not in ("text", "input_text", "output_text"):
        raise InvalidValue(
            f"content of type {cut(str(kind))!r} must be given as an Image, an Audio or a File"
        )
    if not isinstance(text, str):
        raise WrongType("content must be a text, a dictionary with a text, or a list of these")
    return text
