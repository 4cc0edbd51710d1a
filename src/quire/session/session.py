"""The session: one conversation's workspace, and the only writer of it."""

import json
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypedDict, TypeVar, Unpack, cast

from quire.compactors import Compactor
from quire.context import Context, Template
from quire.errors import InvalidValue, UnknownId, UnknownKey, WrongType, cut
from quire.items import EDITS, Content, Item, Message, Pin, ToolCall, ToolResult, Undo, new_id
from quire.memory import Memory
from quire.models import AnyModel
from quire.providers import Parsed
from quire.session.aio import AWAITED, BLOCKING, INLINE, Writer, run, run_on_loop
from quire.session.branches import Draft, DraftLog, Keep, Merge, begin_fork, labelled, take_name, woven
from quire.session.compaction import AioCompaction, Close, Compaction
from quire.session.contexts import Asked, Contexts
from quire.session.erasure import find, finish_erasing, forget
from quire.session.hooks import Hook, Hooks
from quire.session.log import Log, follow, open_log, open_store
from quire.session.pool import AioPool, SessionPool
from quire.session.receipts import Receipts
from quire.session.redaction import Redact, Redaction
from quire.session.responses import AioListening, Listening, Responses
from quire.session.spending import Caps, Spending, named_prices
from quire.session.state import Written
from quire.session.steps import Steps
from quire.state import Transcript, View
from quire.stores import Durability, Place, Store, place_at
from quire.stores.streams import MAIN, checked_name
from quire.tokens import Prices

I = TypeVar("I", bound=Item)  # noqa: E741


class Options(TypedDict, total=False):
    """The options of a session.

    `hooks` hear of what happens. `redact` sees each item before it is kept or sent. `caps` stop a turn before
    it is sent. `prices` are those of models that the list does not have. The oldest of more notes than
    `pool_limit` are evicted. A `compactor`, with a `model` that writes for it, keeps the main transcript
    small. The `model` writes summaries of forks as well.
    """

    hooks: Iterable[Hook | str]
    redact: Redact | None
    caps: Caps | None
    prices: Mapping[str, Prices]
    pool_limit: int | None
    compactor: Compactor | None
    model: AnyModel | None


class Session:
    """One conversation at an address: transcripts by name, a pool of notes, and all that was sent and spent.

    A verb that returned is stored. Every verb may be called from any thread, and other sessions and processes
    may write to the same conversation: nothing is lost. `session.aio` has the same verbs to be awaited.
    """

    pool: SessionPool
    """The notes at hand: read it as a collection; `keep`, `drop` and `clear` change it."""
    receipts: Receipts
    """The requests that were sent, oldest first; each can be rendered again as it was."""
    compaction: Compaction
    """What keeps the main transcript small: `use` a compactor, `run` it now."""
    steps: Steps
    """Tool calls on their way: begun, held, answered."""
    hooks: Hooks
    """The hooks, and those that failed."""

    def __init__(
        self,
        log: Log,
        *,
        hooks: Iterable[Hook | str] | Hooks = (),
        redact: Redact | None = None,
        caps: Caps | None = None,
        prices: Mapping[str, Prices] | None = None,
        pool_limit: int | None = None,
        compactor: Compactor | None = None,
        model: AnyModel | None = None,
    ) -> None:
        """Use `Session.open`."""
        self._log = log
        self._caps, self._prices = caps, named_prices(prices or {})
        self.hooks = hooks if isinstance(hooks, Hooks) else Hooks(hooks)
        redaction = Redaction(redact) if redact and not isinstance(redact, Redaction) else redact
        self._writer = Writer(log, self.hooks, redaction)
        self.pool = SessionPool(self._writer, pool_limit)
        self.receipts = Receipts(log)
        self.steps = Steps(self._writer, self.pool)
        self.compaction = Compaction(self._writer, caps, self._prices)
        self._contexts = Contexts(self._writer, self.compaction, caps, self._prices)
        self._responses = Responses(self._writer, self._contexts, self._prices)
        if compactor is not None:
            self.compaction.use(compactor, model)
        else:
            self.compaction.model = model

    @staticmethod
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

        `store` is a store or its address, `durable` what an append survives ("process" or "power"), `key`
        encrypts what is stored. See `Options` for the rest.
        """
        place = place_at(address, scope=scope, conversation=conversation)
        log = open_log(open_store(store, durable, key), place)
        finish_erasing(log)
        return Session(log, **options)

    def __repr__(self) -> str:
        return f"<Session {self.place} at version {self.version}>"

    @property
    def aio(self) -> "AioSession":
        """The same verbs to be awaited: they do not block the event loop, and hooks may be async."""
        return AioSession(self)

    @property
    def place(self) -> Place:
        """The address: scope and conversation."""
        return self._log.place

    @property
    def version(self) -> int:
        """How many entries the conversation has, as far as it was read."""
        return self._log.state.version

    @property
    def transcripts(self) -> tuple[str, ...]:
        """The names of the transcripts, `main` first."""
        return tuple(self._log.state.transcripts)

    @property
    def memory(self) -> Memory:
        """What the scope of this conversation remembers: all its conversations and documents."""
        return Memory.of(self._log.root.store, self.place.scope)

    @property
    def spending(self) -> Spending:
        """What the conversation has used and cost so far."""
        return self._log.state.spending

    def view(self, name: str = MAIN) -> View:
        """What a transcript shows now; `view().recorded()` are all items, edits and hidden ones included."""
        return self._transcript(name).view

    def at(self, version: int) -> dict[str, View]:
        """What each transcript showed at an earlier version of the conversation."""
        return self._log.look(lambda state: state.at(version))

    def _transcript(self, name: str) -> Transcript:
        self._log.check_known()
        with self._log.lock:
            transcripts = self._log.state.transcripts
            if name not in transcripts:
                known = ", ".join(map(repr, transcripts))
                raise UnknownKey(f"no transcript {cut(str(name))!r} here; there is {known}")
            return transcripts[name]

    # What is said and done

    def append(self, *items: Item, to: str = MAIN, expected: int | None = None) -> tuple[Item, ...]:
        """Record items, all or none; returns them as they were kept.

        What others wrote meanwhile comes before them. With an `expected` version, that is a `Conflict`.
        """
        return run(self._writer.append(INLINE, items, to, expected))

    def user(self, content: Content, *, to: str = MAIN, **fields: Any) -> Message:
        """Record a message of the user."""
        return self._one(Message("user", content, **fields), to)

    def assistant(
        self, content: Content = "", *, calls: Iterable[ToolCall] = (), to: str = MAIN, **fields: Any
    ) -> Message | None:
        """Record a message of the assistant, and the calls it made with it."""
        items = _reply(content, calls, fields)
        return _first_message(run(self._writer.append(INLINE, items, to)))

    def call(self, name: str, arguments: str | Mapping[str, Any] = "{}", *, to: str = MAIN) -> ToolCall:
        """Record a call that waits for its result. The arguments are JSON, or values of JSON."""
        return self._one(_call(name, arguments), to)

    def tool(
        self, content: Content, *, call_id: str, name: str | None = None, to: str = MAIN, **fields: Any
    ) -> ToolResult:
        """Record the result of a call; the name of the tool is that of the open call."""
        return self._one(self._result(content, call_id, name, to, fields), to)

    def pin(self, item_id: str, *, to: str = MAIN) -> Pin:
        """Keep an item shown, whatever else is cut, masked or summarised."""
        return self._one(Pin(item_id), to)

    def undo(self, edit_id: str | None = None, *, to: str = MAIN) -> Undo:
        """Undo an edit; without an id, the last one in force."""
        return self._one(self._undoing(edit_id, to), to)

    def _one(self, item: I, to: str) -> I:
        kept = self._writer.append_quickly(item, to) or run(self._writer.append(INLINE, (item,), to))[0]
        return cast(I, kept)

    def _result(
        self, content: Content, call_id: str, name: str | None, to: str, fields: dict[str, Any]
    ) -> ToolResult:
        return ToolResult(call_id, name or self._tool_of(call_id, to), content, **fields)

    def _tool_of(self, call_id: str, to: str) -> str:
        for is_read in (False, True):
            if is_read:
                self._log.catch_up()  # the call may be another's
            calls = self.view(to).pending() if to in self.transcripts else ()
            for call in calls:
                if call.call_id == call_id:
                    return call.name
        raise UnknownId(f"no call {cut(str(call_id))!r} waits for a result: give the name of the tool")

    def _undoing(self, edit_id: str | None, to: str) -> Undo:
        if edit_id is None:
            self._log.catch_up()  # the last edit may be another's
        return Undo(edit_id or _last_edit(self.view(to).recorded()))

    # What the model sees and answers

    def build(self, template: Template, **asked: Unpack[Asked]) -> Context:
        """Build what the model sees this turn. Each rendering of it is kept as a receipt.

        See `Asked` for the options. Async sections run on an event loop of their own; if a loop runs here, it
        is blocked: use `await session.aio.build(…)`.
        """
        return run_on_loop(self._contexts.build(BLOCKING, template, **asked))

    def record(
        self, response: Any, *, provider: str | None = None, to: str = MAIN, sent: Any = None
    ) -> Parsed:
        """Record a client's response: an object, JSON, a stream, or a `Parsed` of one of our models.

        It answers `sent`, a context or one rendering of it: by default, what was rendered last for its
        provider, which is recognised by the shape of the response unless `provider` names it. Its usage is
        added to the spending and calibrates the token counter. A response that is only an error raises
        `ModelFailed`. If a stream breaks, what came is recorded as interrupted, and its error is raised.
        """
        return run(self._responses.record(INLINE, response, provider, to, sent))

    def listen(
        self, events: Iterable[Any], *, provider: str | None = None, to: str = MAIN, sent: Any = None
    ) -> Listening:
        """Pass on the events of a stream one by one, and record the response when it ends.

        It is also recorded if the stream breaks, at the end of a `with` block, and when the iterator is
        dropped.
        """
        return self._responses.listen(events, provider, to, sent)

    # Forks and drafts

    def new(self, label: str) -> str:
        """Reserve a name for another transcript: `label_a`, `label_b`, … the first that is free."""
        return run(take_name(INLINE, self._log, label))

    def fork(
        self, name: str, *, turns: int | None = None, tools: Iterable[str] | None = None, of: str = MAIN
    ) -> Self:
        """Begin another conversation with this one's past, at `conversation/name`; its length costs nothing.

        The past can be narrowed to the last so many turns of the user, and to some tools. Open calls are
        closed in it. It has the notes of the pool and the options of this session, compaction included.
        """
        return run(self._fork(INLINE, name, turns, tools, of))

    async def _fork(
        self, io: Any, name: str, turns: int | None, tools: Iterable[str] | None, of: str
    ) -> Self:
        self._transcript(of)
        log = await io.do(self._log, lambda: begin_fork(self._log, checked_name(name), turns, tools, of))
        return type(self)(log, **self._inherited(is_fork=True))

    def child(self, name: str) -> Self:
        """Open the conversation at `conversation/name`: a fork of this one, or one that begins empty."""
        return self._child(self._child_log(name))

    def _child_log(self, name: str) -> Log:
        conversation = f"{self.place.conversation}/{checked_name(name)}"
        place = place_at(scope=self.place.scope, conversation=conversation)
        log = open_log(self._log.root.store, place)
        finish_erasing(log)
        return log

    def _child(self, log: Log) -> Self:
        return type(self)(log, **self._inherited(is_fork=log.state.origin is not None))

    def _inherited(self, *, is_fork: bool = False) -> dict[str, Any]:
        """The options of a session that is opened from this one; a fork has the compactor, too."""
        return {
            "hooks": self.hooks.given(),
            "redact": self._writer.redaction,
            "caps": self._caps,
            "prices": self._prices,
            "pool_limit": self.pool.limit,
            "compactor": self.compaction.compactor if is_fork else None,
            "model": self.compaction.model,
        }

    def merge(
        self, child: Self, *, keep: Keep = "all", model: AnyModel | None = None, agent_id: str | None = None
    ) -> tuple[Item, ...]:
        """Take in what a fork did: all of it, its final answer ("result"), or a "summary" by a model.

        The child may be any conversation of the same scope and store. Returns what was recorded here.
        """
        return run_on_loop(self._merge(child, keep, model, agent_id).run(BLOCKING))

    def _merge(self, child: "Session", keep: Keep, model: AnyModel | None, agent_id: str | None) -> Merge:
        if not isinstance(child, Session):
            raise WrongType(f"a session merges a session, not {type(child).__name__}")
        writes = self.compaction.checked_writer(model) if keep == "summary" else None
        return Merge(self._writer, child._log, keep, writes, self._prices, agent_id)

    def draft(self) -> Draft[Self]:
        """A fork that is merged all at once when its `with` block ends well, and forgotten if it raises.

        What it spent is spent either way. Hooks hear what it recorded when it is merged, and may refuse it.
        With async hooks, use `async with`.
        """
        return Draft(self._writer, self.pool.limit, self._drafted)

    def _drafted(self, log: DraftLog, hooks: Hooks) -> Self:
        return type(self)(log, **{**self._inherited(), "hooks": hooks})

    # Forgetting

    def forget(self, *ids: str) -> None:
        """Erase the content of items, and of all that names them as its source; a tombstone stays.

        Summaries, quotes, offloaded outputs, receipts, indexes, forks and conversations that quoted them are
        included, in the files of the store as well. Without ids, all that was said and kept here is erased.
        """
        forget(self._log, ids)

    def find(self, text: str) -> list[str]:
        """The ids of all items here that contain a text, in any letter case: candidates for `forget`."""
        return find(self._log, text)

    # Other writers, and the end

    def follow(self, after: int | None = None) -> AsyncIterator[Written]:
        """What is appended from now on, or after a version, by whomever."""
        return follow(self._log, self.version if after is None else after)

    def refresh(self) -> list[Written]:
        """Take in what other processes have written, and return it."""
        written = self._log.root.catch_up()
        finish_erasing(self._log.root)
        return written

    def close(self, how: Close = "wait", timeout: float | None = None) -> None:
        """Wait for a compaction that is running, or hand it over to whoever opens the conversation next.

        What takes longer than `timeout` seconds is handed over.
        """
        run_on_loop(self.compaction.close(how, timeout))

    def __enter__(self) -> Self:
        _entered.set((*_entered.get(), self))
        return self

    def __exit__(self, *_: object) -> None:
        sessions = list(_entered.get())
        if self in sessions:
            del sessions[len(sessions) - 1 - sessions[::-1].index(self)]
        _entered.set(tuple(sessions))

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, fault, trace)
        # After a failure nobody waits for a model: the next session takes the compaction up.
        await self.compaction.close("wait" if kind is None else "hand over")


class AioSession:
    """The verbs of a session to be awaited. Work with the store runs in a thread, and hooks may be async.

    A cancellation does not take back what had begun to be written.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._writer = session._writer

    @property
    def pool(self) -> AioPool:
        """`keep`, `drop` and `clear`."""
        return AioPool(self._session.pool)

    @property
    def compaction(self) -> AioCompaction:
        """`run` and `close`."""
        return AioCompaction(self._session.compaction)

    async def append(self, *items: Item, to: str = MAIN, expected: int | None = None) -> tuple[Item, ...]:
        """`Session.append`."""
        return await self._writer.append(AWAITED, items, to, expected)

    async def user(self, content: Content, *, to: str = MAIN, **fields: Any) -> Message:
        """`Session.user`."""
        return await self._one(Message("user", content, **fields), to)

    async def assistant(
        self, content: Content = "", *, calls: Iterable[ToolCall] = (), to: str = MAIN, **fields: Any
    ) -> Message | None:
        """`Session.assistant`."""
        return _first_message(await self._writer.append(AWAITED, _reply(content, calls, fields), to))

    async def call(self, name: str, arguments: str | Mapping[str, Any] = "{}", *, to: str = MAIN) -> ToolCall:
        """`Session.call`."""
        return await self._one(_call(name, arguments), to)

    async def tool(
        self, content: Content, *, call_id: str, name: str | None = None, to: str = MAIN, **fields: Any
    ) -> ToolResult:
        """`Session.tool`."""
        session = self._session
        result = await self._do(lambda: session._result(content, call_id, name, to, fields))
        return await self._one(result, to)

    async def pin(self, item_id: str, *, to: str = MAIN) -> Pin:
        """`Session.pin`."""
        return await self._one(Pin(item_id), to)

    async def undo(self, edit_id: str | None = None, *, to: str = MAIN) -> Undo:
        """`Session.undo`."""
        undoing = await self._do(lambda: self._session._undoing(edit_id, to))
        return await self._one(undoing, to)

    async def build(self, template: Template, **asked: Unpack[Asked]) -> Context:
        """`Session.build`."""
        return await self._session._contexts.build(AWAITED, template, **asked)

    async def record(
        self, response: Any, *, provider: str | None = None, to: str = MAIN, sent: Any = None
    ) -> Parsed:
        """`Session.record`; a stream may be async."""
        return await self._session._responses.record(AWAITED, response, provider, to, sent)

    def listen(
        self, events: AsyncIterator[Any], *, provider: str | None = None, to: str = MAIN, sent: Any = None
    ) -> AioListening:
        """`Session.listen` for an async stream; the block is `async with`."""
        return self._session._responses.aio_listen(events, provider, to, sent)

    async def new(self, label: str) -> str:
        """`Session.new`."""
        return await take_name(AWAITED, self._session._log, label)

    async def fork(
        self, name: str, *, turns: int | None = None, tools: Iterable[str] | None = None, of: str = MAIN
    ) -> Session:
        """`Session.fork`."""
        return await self._session._fork(AWAITED, name, turns, tools, of)

    async def child(self, name: str) -> Session:
        """`Session.child`."""
        return self._session._child(await self._do(lambda: self._session._child_log(name)))

    async def merge(
        self,
        child: Session,
        *,
        keep: Keep = "all",
        model: AnyModel | None = None,
        agent_id: str | None = None,
    ) -> tuple[Item, ...]:
        """`Session.merge`."""
        return await self._session._merge(child, keep, model, agent_id).run(AWAITED)

    def draft(self) -> Draft[Session]:
        """`Session.draft`, for `async with`."""
        return self._session.draft()

    async def forget(self, *ids: str) -> None:
        """`Session.forget`."""
        await self._do(lambda: self._session.forget(*ids))

    async def find(self, text: str) -> list[str]:
        """`Session.find`."""
        return await self._do(lambda: self._session.find(text))

    async def refresh(self) -> list[Written]:
        """`Session.refresh`."""
        return await self._do(self._session.refresh)

    async def close(self, how: Close = "wait", timeout: float | None = None) -> None:
        """`Session.close`."""
        await self._session.compaction.close(how, timeout)

    async def _one(self, item: I, to: str) -> I:
        return cast(I, (await self._writer.append(AWAITED, (item,), to))[0])

    async def _do(self, work: Any) -> Any:
        return await AWAITED.do(self._session._log, work)


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
    return woven([session.view(name) for name in labelled(session.transcripts, labels)])


def _reply(content: Content, calls: Iterable[ToolCall], fields: dict[str, Any]) -> list[Item]:
    said = [Message("assistant", content, **fields)] if content else []
    return [*said, *calls]


def _first_message(items: tuple[Item, ...]) -> Message | None:
    return next((item for item in items if isinstance(item, Message)), None)


def _call(name: str, arguments: str | Mapping[str, Any]) -> ToolCall:
    if not isinstance(arguments, str):
        try:
            arguments = json.dumps(arguments, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
        except ValueError as fault:
            raise InvalidValue(f"the arguments of a call are JSON: {fault}") from None
        except TypeError as fault:
            raise WrongType(f"the arguments of a call are JSON: {fault}") from None
    return ToolCall(f"call_{new_id()}", name, arguments)


def _last_edit(recorded: Iterable[Item]) -> str:
    """The id of the last edit of a transcript that is in force."""
    undone: set[str] = set()
    for item in _reversed(recorded):
        if item.id in undone or type(item) not in EDITS:
            continue
        if not isinstance(item, Undo):
            return item.id
        undone.add(item.target)
    raise UnknownId("there is no edit to undo")


def _reversed(items: Iterable[Item]) -> Iterator[Item]:
    return reversed(list(items))
