"""The session: the workspace of one conversation. Everything is written through it.

`AioSession` has the verbs as coroutines. `Session` has them as plain functions, and the properties to read.
"""

import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NamedTuple, Self, TypedDict, TypeVar, Unpack, cast

from quire.compactors import Compactor
from quire.context import Context, Template
from quire.errors import QuireError, TurnBusy, UnknownId, UnknownKey, WrongType, cut
from quire.guesses import HintedType, hint_attributes, hint_options, option_names
from quire.items import (
    EDITS,
    Content,
    Distrust,
    Hide,
    Item,
    Message,
    Origin,
    Pin,
    ToolCall,
    ToolResult,
    Undo,
    is_below,
    own_origin,
    wrong_arguments,
)
from quire.memory import Memory
from quire.models import AnyModel, model_of
from quire.providers import Parsed
from quire.session.aio import AWAITED, BLOCKING, INLINE, IO, Change, Writer, check_names, checked_type, plain
from quire.session.branches import Draft, Keep, Merge, begin_fork, labelled, merged_by_time, reserve_name
from quire.session.calls import AioCalls, Calls
from quire.session.compaction import AioCompaction, Compaction, Compactions
from quire.session.erasure import find, finish_erasing, forget
from quire.session.hooks import Hook, HookFailure, Hooks
from quire.session.jobs import Jobs
from quire.session.log import Log, follow, open_log, open_store
from quire.session.metering import Metered
from quire.session.pool import AioPool, SessionPool
from quire.session.receipts import Receipts
from quire.session.redaction import Redact
from quire.session.responses import Listening
from quire.session.rewrites import Rewrite, editing, hiding, retracting
from quire.session.spending import Caps, Spending, named_prices
from quire.session.state import State, Written
from quire.session.turn import Turn
from quire.session.turns import BuildOptions, Turns
from quire.state import Transcript, View, in_one_reply
from quire.stores import Durability, Place, Store, place_at
from quire.stores.store import checked_name
from quire.stores.streams import MAIN
from quire.tokens import Prices

T = TypeVar("T")
I = TypeVar("I", bound=Item)  # noqa: E741


@hint_attributes
class AioSession:
    """The verbs of a session as coroutines. Store access runs in a thread, and hooks may be async.

    Cancelling a verb does not undo a write that had begun.
    """

    def __init__(self, parts: "Parts", io: IO) -> None:
        self._writer, self._compaction, self._turns = parts
        self._log, self._io = parts.writer.log, io
        self.pool, self.calls = AioPool(self._writer, io), AioCalls(self._writer, io)
        """The verbs of the pool and of calls, as coroutines."""
        self.compaction = AioCompaction(self._compaction)
        """The verbs of compaction, as coroutines."""

    async def append(self, *items: Item, to: str = MAIN, expected: int | None = None) -> tuple[Item, ...]:
        """Record items, all or none, and return them as they were recorded.

        They come after items that others wrote meanwhile. With an `expected` version, `Conflict` is raised
        if others wrote after that version, and nothing is recorded.
        """
        return await self._writer.append(self._io, items, to, expected)

    async def user(self, /, content: Content, *, to: str = MAIN, **fields: Any) -> Message:
        """Record a message of the user."""
        return await self._append_one(_new_item(Message, "user", content, **fields), to)

    async def assistant(
        self, /, content: Content = "", *, calls: Iterable[ToolCall] = (), to: str = MAIN, **fields: Any
    ) -> Message | None:
        """Record a message of the assistant, and the calls it made with it."""
        messages = [_new_item(Message, "assistant", content, **fields)] if content else []
        checked_type(calls, Iterable, "the calls of the assistant must be items")
        recorded = await self._writer.append(self._io, in_one_reply([*messages, *calls]), to)
        return cast(Message, recorded[0]) if messages else None

    async def tool(
        self, /, content: Content, *, call_id: str, name: str | None = None, to: str = MAIN, **fields: Any
    ) -> ToolResult:
        """Record the result of the open call with this `call_id`. The name is taken from the call."""
        to, has_name = checked_name(to), name is not None
        call = await self._do(lambda: _open_call(self._log, call_id, to, has_name))
        if call is not None:
            call_id, name = call.call_id, name or call.name
        return await self._append_one(_new_item(ToolResult, call_id, name or "", content, **fields), to)

    async def pin(self, item: Item | str, *, to: str = MAIN, origin: Origin | None = None) -> Pin:
        """Show an item in every request, even when items around it are cut or summarised.

        `item` is the item or its id. The origin of the pin is "user", unless another one is given.
        """
        return await self._append_one(Pin(_id_of(item), origin=origin), to)

    async def distrust(self, item: Item | str, *, to: str = MAIN) -> Distrust:
        """Treat an item, and all that is made of it, like text from outside; `undo` takes this back.

        A message is then shown as a quotation.
        """
        return await self._append_one(Distrust(_id_of(item)), to)

    async def undo(self, edit_id: str | None = None, *, to: str = MAIN, origin: Origin | None = None) -> Undo:
        """Undo an edit; without an id, the last one that still applies.

        Items that the edit hid are shown again, and items recorded after the edit stay shown. The origin of
        the undo is "user", unless another one is given: a lower one cannot undo the edits of a person.
        """
        if edit_id is None:
            await self._do(self._log.catch_up)  # another writer may have made the last edit
        return await self._append_one(Undo(edit_id or _last_edit(_view(self._log, to)), origin=origin), to)

    async def hide(self, *items: Item | str, to: str = MAIN) -> Hide:
        """Hide items, each with its group, from requests and from recall; `undo` shows them again.

        A call that waits for its result cannot be hidden (`CallPending`). Nor can the last message of the
        user (`edit` replaces it), pinned items, and items that are summarised.
        """
        return cast(Hide, (await self._rewrite(hiding([*map(_id_of, items)]), to))[0])

    async def retract(self, *, to: str = MAIN) -> Hide | None:
        """Hide the last answer, so that the question can be answered again; `None` if there is none yet.

        Calls and results of the turn stay shown, so that no tool runs again.
        """
        recorded = await self._rewrite(retracting(), to)
        return cast(Hide, recorded[0]) if recorded else None

    async def edit(
        self, /, message: Item | str, content: Content, *, to: str = MAIN, **fields: Any
    ) -> Message:
        """Replace a message of the user: record the new one, and hide the old one and all items after it.

        Instructions, configuration and pinned items stay shown. `undo` shows the hidden items again, before
        the new message. `fork(at=...)` returns to an earlier time. Effects of tools are not undone.
        `CallPending` if a call still waits for its result, `TurnBusy` while an agent answers in this process.
        """
        if self._log.running_turn is not None:
            raise TurnBusy(f"a turn is running in {self._log.place}: interrupt it first")
        edit = editing(_id_of(message), _new_item(Message, "user", content, **fields))
        return cast(Message, (await self._rewrite(edit, to))[0])

    async def build(self, template: Template, **options: Unpack[BuildOptions]) -> Context:
        """Build the context of the next request. Nothing is sent, and no receipt is kept.

        `record` or `context.sent` keep the receipt. See `BuildOptions` for the options. `Session.build` runs
        async sections on an event loop of its own; in a coroutine use `session.aio.build`.
        """
        return await self._turns.build(self._io, template, **options)

    async def record(
        self,
        response: Any,
        *,
        provider: str | None = None,
        to: str = MAIN,
        sent: Any = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> Parsed:
        """Record the response of a provider's client: an object, its JSON, a stream, or a `Parsed`.

        `sent` is the context that the response answers, or a rendering of it. The default is the last
        rendering of this task (outside of a task, of this thread), or its last one for `provider`. If that
        rendering was answered before, and one of another task waits for its answer, `InvalidValue` is raised.
        If this task has rendered nothing, the request was made without Quire: then `provider` says how to
        read the response. The receipt of the request is kept with the response, unless `context.sent` kept
        it before. `parameters` are what was sent beside the rendering, such as the model and the temperature;
        without them the receipt marks the parameters as unknown.

        The usage is added to the spending, and calibrates the token counter. A response that is only an error
        raises `ModelFailed`. If a stream breaks, the part that came is recorded as interrupted, and the error
        of the stream is raised.
        """
        return await self._turns.record(self._io, response, provider, to, sent, parameters)

    def listen(
        self,
        events: AsyncIterator[Any],
        *,
        provider: str | None = None,
        to: str = MAIN,
        sent: Any = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> AsyncGenerator[Any]:
        """`Session.listen` for an async stream; to leave it early, use `contextlib.aclosing`."""
        return self._turns.listen(self._io, events, provider, to, sent, parameters)

    async def fork(
        self,
        name: str,
        *,
        at: int | str | None = None,
        turns: int | None = None,
        tools: Iterable[str] | None = None,
        of: str = MAIN,
    ) -> "Session":
        """Begin another conversation at `conversation/name` with the past of this one. Nothing is copied.

        The past ends now, or `at` an earlier version, or with the item whose id is given as `at`. `turns`
        narrows it to the last turns of the user, and `tools` to these tools. Open calls are closed in it. The
        fork has the notes of the pool as they were then, and the options of this session with its compactor.
        """
        checked_type(at, int | str | None, "a fork must begin at a version, or at an item by its id")
        self._writer.check_open()
        _view(self._log, of)
        checked_type(tools, Iterable | None, "tools of a fork must be names")
        log = await self._do(lambda: begin_fork(self._log, checked_name(name), turns, tools, of, at))
        return self._like(log, is_fork=True)

    async def child(self, name: str) -> "Session":
        """Open the conversation at `conversation/name`: a fork of this one, or one that begins empty."""
        parent = self._log.place
        place = parent._replace(conversation=f"{parent.conversation}/{checked_name(name)}")
        log = await self._do(lambda: _opened(self._log.root.store, place))
        return self._like(log, is_fork=log.state.origin is not None)

    async def merge(
        self,
        child: "Session",
        *,
        keep: Keep = "all",
        model: AnyModel | str | None = None,
        agent_id: str | None = None,
    ) -> tuple[Item, ...]:
        """Record here what a fork did: "all" items, its final answer ("result"), or a "summary" by a model.

        The child may be any conversation of the same scope and store. Returns the items recorded here.
        """
        checked_type(child, Session, "what is merged must be a session")
        summarizer = None
        if keep == "summary" or model is not None:
            summarizer = Metered(self._compaction.checked_writer(model), self._turns.prices, self._writer)
        return await Merge(self._writer, log_of(child), keep, summarizer, agent_id).run(self._io)

    async def forget(self, *ids: str) -> None:
        """Erase the content of items, and of everything that was made of them; tombstones stay.

        This includes summaries, quotes, offloaded outputs, receipts, indexes, forks, and conversations that
        quoted them, in the files of the store as well. Without ids, all items and notes are erased.
        """
        for item_id in ids:
            checked_type(item_id, str, "items must be forgotten by their ids, such as item.id")
        self._writer.check_open()
        await self._do(lambda: forget(self._log, ids))

    async def refresh(self) -> list[Written]:
        """Read the new entries of other processes, and return them."""
        root = self._log.root
        written = await self._io.write(self._log, root.catch_up)
        if root.state.is_erasing:
            await self._do(lambda: finish_erasing(root))
        return written

    async def close(self, timeout: float | None = None) -> None:
        """Wait for a compaction that is running, and refuse writes from then on.

        A compaction that takes longer than `timeout` seconds is left to the next session. A closed session
        can be read. Its forks, and other sessions of the conversation, stay open.
        """
        checked_type(timeout, int | float | None, "a timeout must be a number of seconds")
        try:
            await self._compaction.close(timeout)
            await self._io.do(self._log, self._log.save_checkpoint_if_grown)
        finally:
            with self._log.lock:
                self._writer.is_closed = True

    def draft(self) -> "Draft[Session]":
        """See `Session.draft`."""

        def make(log: Log, hooks: Hooks) -> tuple[Session, Writer]:
            session = self._like(log, hooks)
            return session, parts_of(session).writer

        return Draft(self._writer, make)

    def _like(self, log: Log, hooks: Hooks | None = None, *, is_fork: bool = False) -> "Session":
        """A session of another log with the options of this one; only a fork gets the compactor."""
        return Session(
            log,
            hooks=hooks or self._writer.hooks.all,
            redact=self._writer.redact,
            caps=self._turns.caps,
            prices=self._turns.prices,
            pool_limit=self._writer.pool_limit,
            compactor=self._compaction.compactor if is_fork else None,
            model=self._compaction.model,
        )

    async def _rewrite(self, rewrite: Rewrite, to: str) -> tuple[Item, ...]:
        """Record the edits of a rewrite, computed from the latest view of the transcript."""
        _view(self._log, to)

        def decide(state: State) -> Change:
            items = self._writer.ready(rewrite(state.transcripts[to].view))
            return Change.adding(self._log.place, to, items)

        await self._do(self._log.catch_up)
        return tuple(item for _, item in (await self._writer.write_change(self._io, decide)).entries)

    async def _append_one(self, item: I, to: str) -> I:
        to, writer = to if to is MAIN else checked_name(to), self._writer
        is_plain = writer.redact is None and not writer.hooks.has_record_hooks and type(item) not in EDITS
        if self._io is INLINE and is_plain and to in self._log.state.transcripts:
            with self._log.lock:
                writer.check_open()
                return self._log.append(to, item)
        return cast(I, (await self._writer.append(self._io, (item,), to))[0])

    async def _do(self, work: Callable[[], T]) -> T:
        return await self._io.do(self._log, work)


def _new_item(kind: type[I], *values: Any, **fields: Any) -> I:
    try:
        return kind(*values, **fields)
    except QuireError:
        raise
    except TypeError as fault:
        raise wrong_arguments(kind, fields, fault) from None


def _id_of(item: Item | str) -> str:
    checked_type(item, Item | str, "an item must be given itself or by its id")
    return item if isinstance(item, str) else item.id


class Options(TypedDict, total=False):
    """The options of a session."""

    hooks: Iterable[Hook] | Hooks
    """Functions that are called for events."""
    redact: Redact | None
    """Changes each item before it is recorded or sent, such as to remove names."""
    caps: Caps | None
    """What the conversation may spend; a request over it is not sent."""
    prices: Mapping[str, Prices]
    """Prices of models that the built-in list does not have."""
    pool_limit: int | None
    """How many notes the pool keeps; a further note evicts the oldest one."""
    compactor: Compactor | None
    """Keeps the main transcript small."""
    model: AnyModel | str | None
    """The model that writes summaries, for the compactor and for `merge`."""


@hint_attributes
class Session(metaclass=HintedType):
    """One conversation at an address: its transcripts, a pool of notes, and the record of its requests.

    When a verb returns, what it wrote is stored. Verbs may be called from any thread. Other sessions and
    processes may write to the same conversation, and no write is lost. `session.aio` has the same verbs as
    coroutines.
    """

    append = plain(AioSession.append)
    user = plain(AioSession.user)
    assistant = plain(AioSession.assistant)
    tool = plain(AioSession.tool)
    pin = plain(AioSession.pin)
    undo = plain(AioSession.undo)
    distrust = plain(AioSession.distrust)
    hide = plain(AioSession.hide)
    retract = plain(AioSession.retract)
    edit = plain(AioSession.edit)
    record = plain(AioSession.record)
    fork = plain(AioSession.fork)
    child = plain(AioSession.child)
    forget = plain(AioSession.forget)
    refresh = plain(AioSession.refresh)
    build = plain(AioSession.build, BLOCKING)
    merge = plain(AioSession.merge, BLOCKING)
    close = plain(AioSession.close, BLOCKING)

    def __init__(self, log: Log | None = None, **options: Unpack[Options]) -> None:
        """Use `Session.open`."""
        if not isinstance(log, Log):
            raise WrongType('a session must be made by Session.open("scope/conversation", store="…")')
        hooks, redact, caps = options.get("hooks", ()), options.get("redact"), options.get("caps")
        if not isinstance(hooks, Hooks):
            hooks = Hooks(checked_type(hooks, Iterable, "Session.open(hooks=…) must be a list"))
        checked_type(redact, Callable | None, "Session.open(redact=…) must be a function")
        checked_type(caps, Caps | None, "Session.open(caps=…) must be a Caps(cost=5.0)")
        prices = checked_type(options.get("prices", {}), Mapping, "Session.open(prices=…) must be a mapping")
        prices = named_prices(prices)
        writer = Writer(log, hooks, redact, options.get("pool_limit"))
        compactions = Compactions(writer, caps, prices)
        self._parts = Parts(writer, compactions, Turns(writer, compactions, caps, prices))
        self._log = log
        self.pool = SessionPool(writer)
        """The notes of the session, by key."""
        self.compaction = Compaction(compactions)
        """Keeps the main transcript small."""
        self.calls = Calls(writer)
        """Tool calls that have no result yet."""
        self.jobs = Jobs(writer)
        """The jobs of the conversation."""
        self._plain = AioSession(self._parts, INLINE)
        self.aio = self._verbs(AWAITED)
        """The same verbs as coroutines."""
        model, compactor = options.get("model"), options.get("compactor")
        compactions.model = None if model is None else model_of(model, "Session.open(model=…)")
        if compactor is not None:
            self.compaction.use(compactor, compactions.model)

    @staticmethod
    @hint_options
    def open(
        address: str | None = None,
        *,
        scope: str = "",
        conversation: str = "",
        store: str | Path | Store = "quire.db",
        durable: Durability | None = None,
        key: bytes | None = None,
        **options: Unpack[Options],
    ) -> "Session":
        """Open the conversation at `"scope/conversation"`; a new one begins with its first item.

        Without a scope, recall finds only items of the conversation and its forks. `store` is a store or its
        address. `durable` says what an append survives: the end of the "process", or a loss of "power". `key`
        encrypts the stored content. See `Options` for the rest.
        """
        check_names(options, Options, "Session.open", option_names(Session.open))
        place = place_at(address, scope=scope, conversation=conversation)
        return Session(_opened(open_store(store, durable, key), place), **options)

    def __repr__(self) -> str:
        return f"<Session {self.place} at version {self.version}>"

    def _verbs(self, io: IO) -> AioSession:
        return self._plain if io is INLINE else AioSession(self._parts, io)

    @property
    def place(self) -> Place:
        """The address: scope and conversation."""
        return self._log.place

    @property
    def version(self) -> int:
        """How many entries the conversation has, as far as this process has read them."""
        return self._log.version

    @property
    def transcripts(self) -> tuple[str, ...]:
        """The names of the transcripts, `main` first."""
        return tuple(self._log.views())

    @property
    def memory(self) -> Memory:
        """The memory of the scope: search over all its conversations and documents."""
        return Memory.of(self._log.root.store, self.place.scope)

    @property
    def hook_failures(self) -> Sequence[HookFailure]:
        """Errors of hooks that were called after their event, the newest last."""
        return self._parts.writer.hooks.failures

    @property
    def receipts(self) -> Receipts:
        """The requests that were sent, oldest first; each can be rendered again as it was."""
        return Receipts(self._log)

    @property
    def spending(self) -> Spending:
        """What the conversation has used and cost so far."""
        return self._log.spending

    def view(self, name: str = MAIN, *, at: int | None = None) -> View:
        """The view of a transcript now, or `at` an earlier version of the conversation.

        `view().recorded()` returns all items, edits and hidden ones included.
        """
        if at is None:
            return _view(self._log, name)
        views = self._log.read_state(lambda state: state.at(at))
        if name not in views:
            raise UnknownKey(f"there was no transcript {cut(name)!r} at version {at:,}")
        return views[name]

    def listen(
        self,
        events: Iterable[Any],
        *,
        provider: str | None = None,
        to: str = MAIN,
        sent: Any = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> Listening:
        """Pass on the events of a stream one by one, and record the response when it ends.

        The part that has come is recorded if the stream breaks, at the end of a `with` block, and when the
        iterator is dropped. See `record`.
        """
        return Listening(self._parts.turns.listen(INLINE, events, provider, to, sent, parameters))

    def draft(self) -> "Draft[Session]":
        """Begin a draft: a fork that is merged as a whole when its block ends, and discarded if it raises.

        Its spending is recorded either way. Hooks hear of its items when it is merged, and may refuse them.
        Use `with`, or `async with` if hooks are async.
        """
        return self.aio.draft()

    def follow(self, after: int | None = None) -> AsyncIterator[Written]:
        """Yield the entries that any process appends, from now on or after a version."""
        return follow(self._log, self.version if after is None else after)

    def __enter__(self) -> Self:
        self._parts.writer.check_open()
        _entered.set((*_entered.get(), self))
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._leave():
            # After a failure, do not wait for a model: the next session continues the compaction.
            self.close(None if kind is None else 0)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._leave():
            await self.aio.close(None if kind is None else 0)

    def _leave(self) -> bool:
        """Leave a block; return whether it was the outermost of this session in this task or thread."""
        sessions = _entered.get()
        if self in sessions:
            last = len(sessions) - 1 - sessions[::-1].index(self)
            sessions = (*sessions[:last], *sessions[last + 1 :])
            _entered.set(sessions)
        return self not in sessions


class Parts(NamedTuple):
    """The objects that a session consists of, for other packages of this library."""

    writer: Writer
    compactions: Compactions
    turns: Turns


def parts_of(session: Session) -> Parts:
    """The objects that a session consists of."""
    return session._parts  # pyright: ignore[reportPrivateUsage]  # it is private for users


def log_of(session: Session) -> Log:
    """The log that a session writes to."""
    return parts_of(session).writer.log


def hooks_of(session: Session) -> Hooks:
    """The hooks of a session."""
    return parts_of(session).writer.hooks


def turn_of(session: Session) -> Turn:
    """A new turn of an agent in a session."""
    writer, _, turns = parts_of(session)
    return Turn(writer, turns)


async def rewrite_with(session: Session, rewrite: Rewrite) -> tuple[Item, ...]:
    """Record the edits of a rewrite of the main transcript, computed from its latest view."""
    return await session.aio._rewrite(rewrite, MAIN)  # pyright: ignore[reportPrivateUsage]


async def beside_loop(session: Session, work: Callable[[], T]) -> T:
    """Run work that may wait for the store of a session, without blocking the event loop."""
    return await AWAITED.do(log_of(session), work)


_entered: ContextVar[tuple[Session, ...]] = ContextVar("quire_sessions", default=())


def current_session() -> Session:
    """The session of the innermost `with` or `async with` block of this task or thread."""
    sessions = _entered.get()
    if not sessions:
        raise UnknownKey("no session is open here: enter one with `with` or `async with`")
    return sessions[-1]


def timeline(session: Session, labels: str | Iterable[str] | None = None) -> list[Item]:
    """The visible items of several transcripts, merged by time, each item once.

    The label `a` selects the transcript `a` and all transcripts whose names begin with `a_`.
    """
    return merged_by_time([session.view(name) for name in labelled(session.transcripts, labels)])


def new_transcript(session: Session, label: str) -> str:
    """Reserve the first free name of `label_a`, `label_b` and so on for a new transcript."""
    return reserve_name(parts_of(session).writer, label)


def find_items(session: Session, text: str) -> list[str]:
    """The ids of all items that contain a text, in any letter case: candidates for `Session.forget`."""
    return find(log_of(session), checked_type(text, str, "`find_items` searches for a text"))


def transcript_with(session: Session, item_id: str) -> str | None:
    """The name of the first transcript that has an item, visible or not; `None` if none has it."""
    views = ((name, session.view(name)) for name in session.transcripts)
    return next((name for name, view in views if view.log.find(item_id, view.end) is not None), None)


def _opened(store: Store, place: Place) -> Log:
    log = open_log(store, place)
    finish_erasing(log)
    return log


def _view(log: Log, name: str) -> View:
    log.check_not_forgotten()
    views = log.views()
    if checked_type(name, str, "a transcript must have a name") not in views:
        raise UnknownKey(f"no transcript {cut(name)!r} here; there is {', '.join(map(repr, views))}")
    return views[name]


def _open_call(log: Log, call_id: str, to: str, has_name: bool) -> ToolCall | None:
    """The open call that a provider means by a call id; if several match, one in the newest reply.

    A call `a` is recorded as `a_2` if the id `a` was in use. If no call matches, returns `None` if the caller
    has named the tool (`has_name`); else the log is read again, and then `UnknownId` is raised.
    """
    matches = re.compile(rf"{re.escape(checked_type(call_id, str, 'a call has an id'))}(_\d+)?").fullmatch
    for attempt in range(2):
        if attempt:
            log.catch_up()
        view = log.state.transcripts.get(to, Transcript()).view
        heads = map(view.log.head, view.open_calls())
        matching = [
            (head, call) for head, call in zip(heads, view.pending(), strict=True) if matches(call.call_id)
        ]
        if matching:
            newest = [call for head, call in matching if head == matching[-1][0]]
            return next((call for call in newest if call.call_id == call_id), newest[0])
        if has_name:
            return None
    raise UnknownId(
        f"no call {cut(call_id)!r} waits for a result: record it before, or give the name of the tool"
    )


def _last_edit(view: View) -> str:
    """The id of the last edit that still applies; undos, and pins that no user made, do not count."""
    undone: set[str] = set()
    for edit in map(view.log.item, reversed(view.log.positions("edits", 0, view.end))):
        is_automatic = isinstance(edit, Pin) and is_below(own_origin(edit), "user")
        if edit.id not in undone and not isinstance(edit, Undo) and not is_automatic:
            return edit.id
        if isinstance(edit, Undo) and edit.id not in undone:
            undone.add(edit.target)
    raise UnknownId("there is no edit to undo")
