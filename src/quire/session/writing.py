"""Writing to a conversation: items into a transcript, one verb for each, heard by hooks on the way."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar, cast

from msgspec.json import encode

from quire.errors import UnknownId, UnknownKey, WrongType, cut
from quire.items import (
    EDITS,
    KINDS,
    Content,
    Handoff,
    Item,
    Message,
    Pin,
    ToolCall,
    ToolResult,
    Undo,
    new_id,
)
from quire.session.calls import add_results
from quire.session.events import Added, Adding
from quire.session.hooks import Hooks
from quire.session.ledger import Ledger, appending
from quire.state import Transcript, View
from quire.stores import Place
from quire.stores.streams import MAIN, checked_name
from quire.stores.threads import STORE

T = TypeVar("T")
I = TypeVar("I", bound=Item)  # noqa: E741

logger = logging.getLogger("quire.session")

_LOOKED_AT = EDITS | {ToolResult}
"""What is tried before it is written, or looked at."""


Redact = Callable[[Item], Item]
"""Sees an item before it is stored, logged or sent, and gives what may be."""


_going_on: set["asyncio.Task[Any]"] = set()
"""What goes on though who asked for it was cancelled."""


async def _nothing(_: object) -> None:
    pass


class Desk:
    """Where one conversation is written: the ledger beneath, hooks beside, redaction before."""

    def __init__(self, ledger: Ledger, *, hooks: Hooks, redact: Redact | None = None) -> None:
        self._ledger = ledger
        self._redact = redact
        self.hooks = hooks

    @cached_property
    def _allowed(self) -> set[str]:
        """The ids of what hooks have heard of, and that is yet to be written."""
        return set()

    @property
    def _is_plain(self) -> bool:
        """Whether nobody hears of what is written, and nobody changes it."""
        return self._redact is None and not self.hooks

    @property
    def place(self) -> Place:
        """Where the conversation rests."""
        return self._ledger.place

    @property
    def version(self) -> int:
        """How many entries the conversation has, as far as it was read."""
        return self._ledger.workspace.version

    @property
    def transcripts(self) -> tuple[str, ...]:
        """The names of the transcripts, `main` first."""
        return tuple(self._ledger.workspace.transcripts)

    def view(self, name: str = MAIN) -> View:
        """What a transcript shows now."""
        with self._ledger.lock:  # a writer of another thread may be half way through
            return self._transcript(name).view

    def recorded(self, name: str = MAIN) -> list[Item]:
        """All items of a transcript in the order they came, edits and what they hide included."""
        with self._ledger.lock:
            return self._transcript(name).recorded()

    def append(self, *items: Item, to: str = MAIN, expected: int | None = None) -> tuple[Item, ...]:
        """Record items, all or none; they are kept when this returns. They are given back as they are kept.

        What others wrote meanwhile comes before. With an `expected` version they must not have: `Conflict`.
        """
        return self._append(items, to, expected)

    def _append(self, items: Iterable[Item], to: str, expected: int | None = None) -> tuple[Item, ...]:
        items, to = self._ready(items), self._checked(to)
        if self.hooks:
            self.hooks.fire(Adding(self.place, to, items))
        items = self._commit(items, to, expected)
        if self.hooks:
            self.hooks.fire(Added(self.place, to, items))
        return items

    async def add(self, *items: Item, to: str = MAIN, expected: int | None = None) -> tuple[Item, ...]:
        """`append` without blocking the loop; hooks may be async.

        Who cancels it does not take it back: what had begun to be written is written, and heard of.
        """
        return await self._add(items, to, expected)

    async def say(self, *items: Item, to: str = MAIN) -> tuple[Item, ...]:
        """`add` without an expected version."""
        return await self._add(items, to)

    async def _add(self, items: Iterable[Item], to: str, expected: int | None = None) -> tuple[Item, ...]:
        ready, to = self._ready(items), self._checked(to)
        if self.hooks:
            if new := tuple(item for item in ready if item.id not in self._allowed):
                await self.hooks.fire_and_wait(Adding(self.place, to, new))
            self._allowed.difference_update(item.id for item in ready)
        return await self._aside(
            lambda: self._commit(ready, to, expected),
            lambda kept: self.hooks.fire_and_wait(Added(self.place, to, kept)),
        )

    async def _aside(self, work: Callable[[], T], then: Callable[[T], Awaitable[None]] = _nothing) -> T:
        """What some work with the store gives, once hooks were told; a slow store works in a thread."""
        if self._ledger.store.is_quick and not self.hooks:
            return work()
        return await aside(work, then)

    def _transcript(self, name: str) -> Transcript:
        transcripts = self._ledger.workspace.transcripts
        if name not in transcripts:
            known = ", ".join(map(repr, transcripts))
            raise UnknownKey(f"no transcript {cut(str(name))!r} here; there is {known}")
        return transcripts[name]

    def _commit(self, items: Sequence[Item], to: str, expected: int | None) -> tuple[Item, ...]:
        if len(items) == 1 and expected is None and type(items[0]) not in _LOOKED_AT:
            return (self._ledger.append(to, items[0]),)
        if any(type(item) is ToolResult for item in items):
            return add_results(self._ledger, to, items, expected)
        written = self._ledger.commit(appending(to, items), expected=expected)
        return tuple(item for _, item in written)

    def _checked(self, to: str) -> str:
        names = self._ledger.workspace.transcripts
        return to if to.__class__ is str and to in names else checked_name(to)

    def _ready(self, items: Iterable[Item]) -> tuple[Item, ...]:
        ready = tuple(items)
        for item in ready:
            if type(item) not in KINDS:
                raise WrongType(f"a session keeps items, not {type(item).__name__}")
        return ready if self._redact is None else tuple(redacted(self._redact, item) for item in ready)


async def aside(work: Callable[[], T], then: Callable[[T], Awaitable[None]] = _nothing) -> T:
    """What work in a thread gives, once `then` was told.

    A cancellation waits for the work, since no thread is called back. Who is told hears of it all the same,
    once; but for how long he takes, nobody waits who was cancelled.
    """
    working = STORE.begin(work)

    async def whole() -> T:
        done = await asyncio.shield(working)  # a loop that ends cancels its tasks, but no work
        await then(done)
        return done

    task = asyncio.ensure_future(whole())
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        _going_on.add(task)  # a loop holds its tasks weakly
        task.add_done_callback(_going_on.discard)
        task.add_done_callback(_note_fault)
        await asyncio.wait([working])
        raise


def _note_fault(task: "asyncio.Task[Any]") -> None:
    """Say that work has failed of which nobody hears any more: who asked for it was cancelled."""
    fault = None if task.cancelled() else task.exception()
    if fault is not None:
        logger.warning("something was cancelled while it failed: %s", type(fault).__name__)


def redacted(redact: Redact | None, item: I) -> I:
    """An item as it may be kept: another content, but the same item."""
    given = item if redact is None else redact(item)
    if type(given) is not type(item) or given.id != item.id:
        raise WrongType("redaction gives the same item back, with other content")
    return given


class Verbs(Desk):
    """What is said and done in a conversation, one verb for each. Each gives the item that it recorded."""

    def user(self, content: Content, *, to: str = MAIN, **fields: Any) -> Message:
        """Something the user said."""
        return self._one(Message("user", content, **fields), to)

    def assistant(
        self, content: Content = "", *, calls: Iterable[ToolCall] = (), to: str = MAIN, **fields: Any
    ) -> Message | None:
        """Something the assistant said, and the calls it made with it."""
        said = [Message("assistant", content, **fields)] if content else []
        kept = self._append((*said, *calls), to)
        return cast(Message, kept[0]) if said else None

    def system(self, content: Content, *, to: str = MAIN, **fields: Any) -> Message:
        """An instruction."""
        return self._one(Message("system", content, **fields), to)

    def developer(self, content: Content, *, to: str = MAIN, **fields: Any) -> Message:
        """An instruction of the developer."""
        return self._one(Message("developer", content, **fields), to)

    def tool(
        self, content: Content, *, call_id: str, name: str | None = None, to: str = MAIN, **fields: Any
    ) -> ToolResult:
        """What a tool gave for a call; its name is that of the call, where it waits here."""
        return self._one(ToolResult(call_id, name or self._called(call_id, to), content, **fields), to)

    def call(self, name: str, arguments: str | Mapping[str, Any] = "{}", *, to: str = MAIN) -> ToolCall:
        """A call that waits for its result."""
        text = arguments if isinstance(arguments, str) else encode(arguments).decode()
        return self._one(ToolCall(f"call_{new_id()}", name, text), to)

    def handoff(self, to_agent: str, *, from_agent: str | None = None, to: str = MAIN) -> Handoff:
        """Another agent goes on."""
        return self._one(Handoff(to_agent, from_agent), to)

    def pin(self, item_id: str, *, to: str = MAIN) -> Pin:
        """Keep an item shown, whatever else is cut, masked or summarised."""
        return self._one(Pin(item_id), to)

    def undo(self, edit_id: str | None = None, *, to: str = MAIN) -> Undo:
        """Take an edit back; without an id, the last one that is in force."""
        if edit_id is None:
            self._ledger.catch_up()  # the last one may be another's
        return self._one(Undo(edit_id or _last_edit(self.recorded(to))), to)

    def _one(self, item: T, to: str) -> T:
        if self._is_plain and type(item) not in _LOOKED_AT and to in self._ledger.workspace.transcripts:
            return cast(T, self._ledger.append(to, cast(Item, item)))  # nobody is to be asked
        return cast(T, self._append((cast(Item, item),), to)[0])

    def _called(self, call_id: str, to: str) -> str:
        name = self._waits(call_id, to)
        if name is None:
            self._ledger.catch_up()  # it may be another's
            name = self._waits(call_id, to)
        if name is None:
            raise UnknownId(f"no call {cut(call_id)!r} waits for a result: say the name of the tool")
        return name

    def _waits(self, call_id: str, to: str) -> str | None:
        """The name of the tool of a call that is known to wait."""
        calls = self.view(to).pending() if to in self.transcripts else ()
        return next((call.name for call in calls if call.call_id == call_id), None)


def _last_edit(recorded: Sequence[Item]) -> str:
    """The id of the last edit of a transcript that is in force."""
    gone: set[str] = set()
    for item in reversed(recorded):
        if item.id in gone or type(item) not in EDITS:
            continue
        if not isinstance(item, Undo):
            return item.id
        gone.add(item.target)
    raise UnknownId("there is no edit to take back")
