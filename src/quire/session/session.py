"""The session: the workspace of one conversation, through which everything is written.

`AioSession` has the verbs. `Session` has the same verbs as plain functions, and what there is to read.
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
from quire.session.branches import Draft, Keep, Merge, begin_fork, labelled, merged_by_time, take_name
from quire.session.calls import AioCalls, Calls
from quire.session.compaction import AioCompaction, Compaction, Compactions
from quire.session.erasure import find, finish_erasing, forget
from quire.session.heard import Metered
from quire.session.hooks import Hook, HookFailure, Hooks
from quire.session.jobs import Jobs
from quire.session.log import Log, follow, open_log, open_store
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
    """The verbs of a session to be awaited. Work with the store runs in a thread, and hooks may be async.

    A cancellation does not take back what had begun to be written.
    """

    def __init__(self, parts: "Parts", io: IO) -> None:
        self._writer, self._compaction, self._turns = parts
        self._log, self._io = parts.writer.log, io
        self.pool, self.calls = AioPool(self._writer, io), AioCalls(self._writer, io)
        """The verbs of the pool, and those of calls, to be awaited."""
        self.compaction = AioCompaction(self._compaction)
        """The verbs of compaction, to be awaited."""

    async def append(self, *items: Item, to: str = MAIN, expected: int | None = None) -> tuple[Item, ...]:
        """Record items, all or none, and return them as they were recorded.

        Items that others wrote meanwhile come before them. With an `expected` version, others must not have
        written since that version: otherwise `Conflict` is raised, and nothing is recorded.
        """
        return await self._writer.append(self._io, items, to, expected)

    async def user(self, /, content: Content, *, to: str = MAIN, **fields: Any) -> Message:
        """Record a message of the user."""
        return await self._one(_made(Message, "user", content, **fields), to)

    async def assistant(
        self, /, content: Content = "", *, calls: Iterable[ToolCall] = (), to: str = MAIN, **fields: Any
    ) -> Message | None:
        """Record a message of the assistant, and the calls it made with it."""
        said = [_made(Message, "assistant", content, **fields)] if content else []
        made = checked_type(calls, Iterable, "the calls of the assistant are items")
        kept = await self._writer.append(self._io, in_one_reply([*said, *made]), to)
        return cast(Message, kept[0]) if said else None

    async def tool(
        self, /, content: Content, *, call_id: str, name: str | None = None, to: str = MAIN, **fields: Any
    ) -> ToolResult:
        """Record the result of the open call with this `call_id`. The name is taken from the call."""
        to, has_name = checked_name(to), name is not None
        call = await self._do(lambda: _open_call(self._log, call_id, to, has_name))
        if call is not None:
            call_id, name = call.call_id, name or call.name
        return await self._one(_made(ToolResult, call_id, name or "", content, **fields), to)

    async def pin(self, item: Item | str, *, to: str = MAIN, origin: Origin | None = None) -> Pin:
        """Show an item, given by itself or its id, in every request, whatever else is cut or summarised.

        The pin is the user's, unless another `origin` is given.
        """
        return await self._one(Pin(_id_of(item), origin=origin), to)

    async def distrust(self, item: Item | str, *, to: str = MAIN) -> Distrust:
        """Trust an item, and all that is made of it, no more than text from outside; `undo` takes it back.

        A message is then shown as a quotation.
        """
        return await self._one(Distrust(_id_of(item)), to)

    async def undo(self, edit_id: str | None = None, *, to: str = MAIN, origin: Origin | None = None) -> Undo:
        """Undo an edit; without an id, the last one that still applies.

        What the edit hid is shown again. What was recorded after the edit stays shown. The undo is the
        user's, unless another `origin` is given: one below the user's undoes nothing that a person did.
        """
        if edit_id is None:
            await self._do(self._log.catch_up)  # the last edit may be another's
        return await self._one(Undo(edit_id or _last_edit(_view(self._log, to)), origin=origin), to)

    async def hide(self, *items: Item | str, to: str = MAIN) -> Hide:
        """Hide items from now on, each with its group, from recall too; `undo` shows them again.

        A call that waits for its result is refused (`CallPending`), and so are the last message of the user
        (`edit` replaces it), pinned items, and items that are summarised.
        """
        return cast(Hide, (await self._rewrite(hiding([*map(_id_of, items)]), to))[0])

    async def retract(self, *, to: str = MAIN) -> Hide | None:
        """Hide the last answer, so that the question can be answered again; `None` if there is none yet.

        Calls and results of the turn stay shown: what tools have done is not done again.
        """
        made = await self._rewrite(retracting(), to)
        return cast(Hide, made[0]) if made else None

    async def edit(
        self, /, message: Item | str, content: Content, *, to: str = MAIN, **fields: Any
    ) -> Message:
        """Record another message of the user in place of one, and hide that one and all after it.

        `undo` shows them again, before the new message; `fork(at=...)` returns to the time before. Tools that
        ran are not undone. Instructions, configuration and pinned items stay. A call that waits for its
        result is refused (`CallPending`), and so is an edit while an agent answers in this process
        (`TurnBusy`).
        """
        if self._log.at_work is not None:
            raise TurnBusy(f"a turn is running in {self._log.place}: interrupt it first")
        edit = editing(_id_of(message), _made(Message, "user", content, **fields))
        return cast(Message, (await self._rewrite(edit, to))[0])

    async def build(self, template: Template, **asked: Unpack[BuildOptions]) -> Context:
        """Build the context of the next request. Nothing is sent, and no receipt is kept.

        `record` or `context.sent` keep the receipt. See `BuildOptions` for the options. `Session.build` runs
        async sections on an event loop of its own; in a coroutine use `session.aio.build`.
        """
        return await self._turns.build(self._io, template, **asked)

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

        `sent` is the context that it answers, or a rendering of it: by default, what this task, or this
        thread outside of one, rendered last, or rendered last for `provider`. If that was answered, and
        another task waits for a response, `InvalidValue` is raised. If this task has rendered nothing,
        `provider` says how to read the response to a request that no session rendered. The receipt of the
        request is kept with the response, if `context.sent` did not keep it. `parameters` are what was sent
        beside the rendering, such as the model and the temperature; without them the receipt marks the
        parameters as unknown.

        The usage is added to the spending, and calibrates the token counter. A response that is only an error
        raises `ModelFailed`. If a stream breaks, what came is recorded as interrupted, and its error is
        raised.
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

        The past ends now, or `at` an earlier version, or with the item of that id. It can be narrowed to the
        last so many turns of the user, and to some tools. Open calls are closed in it. It has the notes of
        the pool as they were, and the options of this session, compaction included.
        """
        checked_type(at, int | str | None, "a fork begins at a version, or at an item by its id")
        self._writer.check_open()
        _view(self._log, of)
        only = None if tools is None else list(checked_type(tools, Iterable, "the tools of a fork are names"))
        log = await self._do(lambda: begin_fork(self._log, checked_name(name), turns, only, of, at))
        return self._like(log, is_fork=True)

    async def child(self, name: str) -> "Session":
        """Open the conversation at `conversation/name`: a fork of this one, or one that begins empty."""
        here = self._log.place
        place = here._replace(conversation=f"{here.conversation}/{checked_name(name)}")
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
        """Record here what a fork did: all of it, its final answer ("result"), or a "summary" by a model.

        The child may be any conversation of the same scope and store. Returns what was recorded here.
        """
        checked_type(child, Session, "a session merges a session")
        writes = None
        if keep == "summary" or model is not None:
            writes = Metered(self._compaction.checked_writer(model), self._turns.prices, self._writer)
        return await Merge(self._writer, log_of(child), keep, writes, agent_id).run(self._io)

    async def forget(self, *ids: str) -> None:
        """Erase the content of items, and of all that names them as its source; a tombstone stays.

        Summaries, quotes, offloaded outputs, receipts, indexes, forks and conversations that quoted them are
        included, in the files of the store as well. Without ids, all items and notes are erased.
        """
        for item_id in ids:
            checked_type(item_id, str, "items are forgotten by their ids, such as item.id")
        self._writer.check_open()
        await self._do(lambda: forget(self._log, ids))

    async def refresh(self) -> list[Written]:
        """Read what other processes have written, and return it."""
        root = self._log.root
        written = await self._io.write(self._log, root.catch_up)
        if root.state.is_erasing:
            await self._do(lambda: finish_erasing(root))
        return written

    async def close(self, timeout: float | None = None) -> None:
        """Wait for a compaction that is running, and write no more.

        What takes longer than `timeout` seconds is left to the next session; with 0, that is done at once. A
        closed session can be read. Its forks, and other sessions of the conversation, stay open.
        """
        checked_type(timeout, int | float | None, "a timeout is a number of seconds")
        try:
            await self._compaction.close(timeout)
            await self._io.do(self._log, self._log.let_go)
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
        """A session of another log with the same options; a fork has the compactor, too."""
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
        """Record what changes the past, computed on what the transcript shows by then."""
        _view(self._log, to)

        def decide(state: State) -> Change:
            items = self._writer.ready(rewrite(state.transcripts[to].view))
            return Change.adding(self._log.place, to, items)

        await self._do(self._log.catch_up)
        return tuple(item for _, item in (await self._writer.write_change(self._io, decide)).entries)

    async def _one(self, item: I, to: str) -> I:
        to, writer = to if to is MAIN else checked_name(to), self._writer
        is_seen = writer.redact is not None or writer.hooks.hear_records or type(item) in EDITS
        if self._io is INLINE and not is_seen and to in self._log.state.transcripts:
            with self._log.lock:
                writer.check_open()
                return self._log.append(to, item)
        return cast(I, (await self._writer.append(self._io, (item,), to))[0])

    async def _do(self, work: Callable[[], T]) -> T:
        return await self._io.do(self._log, work)


def _made(kind: type[I], *given: Any, **fields: Any) -> I:
    try:
        return kind(*given, **fields)
    except QuireError:
        raise
    except TypeError as fault:
        raise wrong_arguments(kind, fields, fault) from None


def _id_of(item: Item | str) -> str:
    checked_type(item, Item | str, "an item is given itself or by its id")
    return item if isinstance(item, str) else item.id


class Options(TypedDict, total=False):
    """The options of a session."""

    hooks: Iterable[Hook] | Hooks
    """Functions that are called for events."""
    redact: Redact | None
    """Changes each item before it is recorded or sent."""
    caps: Caps | None
    """What the conversation may spend; a request over it is not sent."""
    prices: Mapping[str, Prices]
    """Prices of models that the list of models does not have."""
    pool_limit: int | None
    """How many notes the pool keeps; more evict the oldest."""
    compactor: Compactor | None
    """Keeps the main transcript small."""
    model: AnyModel | str | None
    """Writes summaries, for the compactor and of forks."""


@hint_attributes
class Session(metaclass=HintedType):
    """One conversation at an address: transcripts by name, a pool of notes, and all that was sent and spent.

    A verb that returned is stored. Every verb may be called from any thread, and other sessions and processes
    may write to the same conversation: nothing is lost. `session.aio` has the same verbs to be awaited.
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
            raise WrongType('a session is made by Session.open("scope/conversation", store="…")')
        hooks, redact, caps = options.get("hooks", ()), options.get("redact"), options.get("caps")
        if not isinstance(hooks, Hooks):
            hooks = Hooks(checked_type(hooks, Iterable, "Session.open(hooks=…) is a list"))
        checked_type(redact, Callable | None, "Session.open(redact=…) is a function")
        checked_type(caps, Caps | None, "Session.open(caps=…) is a Caps(cost=5.0)")
        prices = checked_type(options.get("prices", {}), Mapping, "Session.open(prices=…) is a mapping")
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
        """Work that was accepted, and is answered once."""
        self._plain = AioSession(self._parts, INLINE)
        self.aio = self._verbs(AWAITED)
        """The same verbs to be awaited."""
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

        Without a scope it is a scope of its own: recall finds nothing but what it and its forks have.
        `store` is a store or its address, `durable` what an append survives ("process" or "power"), `key`
        encrypts what is stored. See `Options` for the rest.
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
        """How many entries the conversation has, as far as it was read."""
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
        """The hooks that failed after the fact, the newest last."""
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
        """What a transcript shows now, or showed `at` an earlier version of the conversation.

        `view().recorded()` are all items, edits and hidden ones included.
        """
        if at is None:
            return _view(self._log, name)
        views = self._log.look(lambda state: state.at(at))
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

        It is also recorded if the stream breaks, at the end of a `with` block, and when the iterator is
        dropped. See `record`.
        """
        return Listening(self._parts.turns.listen(INLINE, events, provider, to, sent, parameters))

    def draft(self) -> "Draft[Session]":
        """A fork that is merged all at once when its block ends well, and forgotten if it raises.

        What it spent is spent either way. Hooks hear what it recorded when it is merged, and may refuse it.
        The block is `with`, or `async with` if hooks are async.
        """
        return self.aio.draft()

    def follow(self, after: int | None = None) -> AsyncIterator[Written]:
        """Yield what any process appends, from now on or after a version."""
        return follow(self._log, self.version if after is None else after)

    def __enter__(self) -> Self:
        self._parts.writer.check_open()
        _entered.set((*_entered.get(), self))
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._leave():
            # After a failure nobody waits for a model: the next session takes the compaction up.
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
    """What a session is made of, for the packages that work on it."""

    writer: Writer
    compactions: Compactions
    turns: Turns


def parts_of(session: Session) -> Parts:
    """What a session is made of."""
    return session._parts  # pyright: ignore[reportPrivateUsage]  # it is no name for users


def log_of(session: Session) -> Log:
    """The log that a session writes to."""
    return parts_of(session).writer.log


def hooks_of(session: Session) -> Hooks:
    """The hooks of a session."""
    return parts_of(session).writer.hooks


def turn_of(session: Session) -> Turn:
    """A turn of an agent in a session."""
    writer, _, turns = parts_of(session)
    return Turn(writer, turns)


async def rewrite_with(session: Session, rewrite: Rewrite) -> tuple[Item, ...]:
    """Record what changes the past of the main transcript, computed on what it shows by then."""
    return await session.aio._rewrite(rewrite, MAIN)  # pyright: ignore[reportPrivateUsage]


async def beside_loop(session: Session, work: Callable[[], T]) -> T:
    """The result of work that may wait for the store of a session; it does not block the event loop."""
    return await AWAITED.do(log_of(session), work)


_entered: ContextVar[tuple[Session, ...]] = ContextVar("quire_sessions", default=())


def current_session() -> Session:
    """The session of the innermost `with` or `async with` block of this task or thread."""
    sessions = _entered.get()
    if not sessions:
        raise UnknownKey("no session is open here: enter one with `with` or `async with`")
    return sessions[-1]


def timeline(session: Session, labels: str | Iterable[str] | None = None) -> list[Item]:
    """What several transcripts show, merged by time, each item once.

    A label stands for the transcript of that name, and for all whose names begin with it and an underscore.
    """
    return merged_by_time([session.view(name) for name in labelled(session.transcripts, labels)])


def new_transcript(session: Session, label: str) -> str:
    """Reserve a name for another transcript: `label_a`, `label_b`, … the first that is free."""
    return take_name(parts_of(session).writer, label)


def find_items(session: Session, text: str) -> list[str]:
    """The ids of all items that contain a text, in any letter case: candidates for `Session.forget`."""
    return find(log_of(session), checked_type(text, str, "`find_items` searches for a text"))


def transcript_with(session: Session, item_id: str) -> str | None:
    """The first transcript that has an item, shown or not; `None` if none has it."""
    views = ((name, session.view(name)) for name in session.transcripts)
    return next((name for name, view in views if view.log.find(item_id, view.end) is not None), None)


def _opened(store: Store, place: Place) -> Log:
    log = open_log(store, place)
    finish_erasing(log)
    return log


def _view(log: Log, name: str) -> View:
    log.check_not_forgotten()
    views = log.views()
    if checked_type(name, str, "a transcript has a name") not in views:
        raise UnknownKey(f"no transcript {cut(name)!r} here; there is {', '.join(map(repr, views))}")
    return views[name]


def _open_call(log: Log, call_id: str, to: str, has_name: bool) -> ToolCall | None:
    """The open call that a provider's id means: of the newest reply, the first with this id.

    A call whose id was in use is recorded under a longer one: `a_2` for `a`. A call that is not known here
    may be another's; a result that has a name needs none.
    """
    alike = re.compile(rf"{re.escape(checked_type(call_id, str, 'a call has an id'))}(_\d+)?").fullmatch
    for catch_up in (list, log.catch_up):
        catch_up()
        view = log.state.transcripts.get(to, Transcript()).view
        heads = map(view.log.head, view.open_calls())
        found = [pair for pair in zip(heads, view.pending(), strict=True) if alike(pair[1].call_id)]
        if found:
            newest = [call for head, call in found if head == found[-1][0]]
            return next((call for call in newest if call.call_id == call_id), newest[0])
        if has_name:
            return None
    raise UnknownId(
        f"no call {cut(call_id)!r} waits for a result: record it before, or give the name of the tool"
    )


def _last_edit(view: View) -> str:
    """The id of the last edit of a transcript that is in force."""
    undone: set[str] = set()
    for edit in map(view.log.item, reversed(view.log.positions("edits", 0, view.end))):
        is_automatic = isinstance(edit, Pin) and is_below(own_origin(edit), "user")
        if edit.id not in undone and not isinstance(edit, Undo) and not is_automatic:
            return edit.id
        if isinstance(edit, Undo) and edit.id not in undone:
            undone.add(edit.target)
    raise UnknownId("there is no edit to undo")
