"""How verbs run: each has one body, a coroutine, which a plain verb drives to its end.

| IO       | verbs                           | work with the store runs  | async hooks | driven by     |
|----------|---------------------------------|---------------------------|-------------|---------------|
| INLINE   | plain: `append`, `record`, …    | in the caller's thread    | are refused | `run`         |
| BLOCKING | plain: `build`, `merge`, …      | where the loop runs       | are awaited | `run_on_loop` |
| AWAITED  | of `session.aio`                | in a thread for the store | are awaited | the caller    |

`run` needs no event loop, because nothing in the verb waits. `run_on_loop` has a loop of its own.
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import Context, ContextVar, copy_context
from functools import wraps
from threading import Lock, Thread, current_thread, local
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar, cast

from quire.errors import Conflict, InvalidValue, QuireError, StoreFailed, WrongType, cut
from quire.guesses import no_option
from quire.items import KINDS, Item
from quire.session.hooks import Added, Adding, Event, Hooks
from quire.session.log import Compute, Entries, Log
from quire.session.redaction import Redact, redacted
from quire.session.state import State, Written
from quire.stores import Place
from quire.stores.store import checked_name
from quire.stores.streams import MAIN
from quire.stores.threads import STORE
from quire.tokens import whole

logger = logging.getLogger("quire.session")

P = ParamSpec("P")
T = TypeVar("T")
A = TypeVar("A")
OnDone = Callable[[T], Awaitable[None]]

SHORT = 500
"""Items of a conversation in memory up to which no thread is used: to count and render them takes 4 ms."""

MOST_ROUNDS = 100
"""How often a change is decided again because others wrote while hooks were asked about it."""


class IO(NamedTuple):
    """Where work with a store runs, and whether hooks may be awaited."""

    is_offloaded: bool
    awaits_hooks: bool

    async def do(self, log: Log, work: Callable[[], T], on_done: OnDone[T] | None = None) -> T:
        """The result of work with the store of a log, or with all its items, after `on_done` was awaited.

        A cancellation takes nothing back: it waits for the thread, and `on_done` is still called.
        """
        is_short = len(log.state.transcripts[MAIN]) <= SHORT
        return await self._run(work, on_done, is_quick=is_short and log.root.store.is_quick)

    async def write(self, log: Log, work: Callable[[], T], on_done: OnDone[T] | None = None) -> T:
        """As `do`, for work that grows with what is written alone, and not with the conversation."""
        return await self._run(work, on_done, is_quick=log.root.store.is_quick)

    async def stage(self, log: Log, work: Callable[[], T]) -> T:
        """The result of work that stages: it is done here, unless a write is on its way."""
        if not log.lock.acquire(blocking=False):
            return await self.write(log, work)
        try:
            return work()
        finally:
            log.lock.release()

    async def _run(self, work: Callable[[], T], on_done: OnDone[T] | None, *, is_quick: bool) -> T:
        if self.is_offloaded and not (is_quick and on_done is None):
            return await _offloaded(work, on_done)
        done = work()
        if on_done is not None:
            await on_done(done)
        return done

    async def fire(self, hooks: Hooks, events: Iterable[Event]) -> None:
        """Call the hooks of events."""
        if hooks.all:
            for event in events:
                await hooks.fire(event, may_wait=self.awaits_hooks)


INLINE = IO(is_offloaded=False, awaits_hooks=False)
BLOCKING = IO(is_offloaded=False, awaits_hooks=True)
AWAITED = IO(is_offloaded=True, awaits_hooks=True)

_unfinished: set["asyncio.Future[Any]"] = set()
"""Tasks that finish after their caller was cancelled. A loop holds its tasks weakly."""


async def _offloaded(work: Callable[[], T], on_done: OnDone[T] | None) -> T:
    working = STORE.begin(work)
    whole = working if on_done is None else asyncio.ensure_future(_then(working, on_done))
    try:
        return await asyncio.shield(whole)
    except asyncio.CancelledError:
        _unfinished.add(whole)
        whole.add_done_callback(_log_failure)
        await asyncio.wait([working])
        raise


async def _then(working: "asyncio.Future[T]", on_done: OnDone[T]) -> T:
    done = await asyncio.shield(working)  # a loop that ends cancels its tasks, but no thread
    await on_done(done)
    return done


def _log_failure(task: "asyncio.Future[Any]") -> None:
    _unfinished.discard(task)
    if not task.cancelled() and task.exception() is not None:
        logger.warning("a cancelled verb failed: %s", type(task.exception()).__name__)


def run(verb: Coroutine[Any, Any, T]) -> T:
    """Drive the body of a plain verb to its end; nothing in it waits."""
    try:
        verb.send(None)
    except StopIteration as end:
        value: T = end.value
        return value
    verb.close()
    raise RuntimeError("the body of a plain verb waited for something")


class _Loop:
    """The event loop of a thread for its plain verbs; it is closed when the thread ends."""

    def __init__(self) -> None:
        self.runner = asyncio.Runner()

    def __del__(self) -> None:
        with suppress(Exception):
            self.runner.close()


_loops = local()

BLOCKED: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("quire_blocked_loop", default=None)
"""The event loop that a plain verb blocks while it runs; waiting for a task of it would never end."""


def run_on_loop(verb: Coroutine[Any, Any, T]) -> T:
    """Run a verb that awaits sections or models, on an event loop of its own.

    If a loop runs in this thread, another thread is used, and this one is blocked meanwhile.
    """
    context = copy_context()
    try:
        blocked = asyncio.get_running_loop()
    except RuntimeError:
        blocked = None
    if blocked is None:  # outside of the handler: what the verb raises is about the verb alone
        if not hasattr(_loops, "own"):  # one for all verbs of a thread: to make a loop takes its time
            _loops.own = _Loop()
        own: _Loop = _loops.own
        return own.runner.run(verb, context=context)  # by default, that of its first call
    context.run(BLOCKED.set, blocked)
    with ThreadPoolExecutor(1, "quire-verb") as thread:
        return thread.submit(context.run, asyncio.run, verb).result()


_starting = Lock()
_lasting: dict[int, asyncio.AbstractEventLoop] = {}
_LOOP_THREAD = "quire-loop"


def wait_for(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine, for callers that cannot await; an interrupt from the keyboard cancels it.

    All of them run on one event loop, in a thread of its own: connections and tasks live on between calls.
    """
    if current_thread().name == _LOOP_THREAD:
        work.close()
        raise InvalidValue("this would wait for itself: await the verb without `_sync` here")
    done = lasting(work)
    try:
        return done.result()
    except BaseException:
        done.cancel()
        raise


def lasting(work: Coroutine[Any, Any, T]) -> "Future[T]":
    """Begin a coroutine on the event loop of `wait_for`, which lasts as long as the process."""
    return asyncio.run_coroutine_threadsafe(_within(work, copy_context()), _lasting_loop())


async def _within(work: Coroutine[Any, Any, T], context: Context) -> T:
    return await asyncio.get_running_loop().create_task(work, context=context)


def _lasting_loop() -> asyncio.AbstractEventLoop:
    with _starting:
        process = os.getpid()  # a forked process has no threads
        if process not in _lasting:
            _lasting[process] = asyncio.new_event_loop()
            Thread(target=_lasting[process].run_forever, name=_LOOP_THREAD, daemon=True).start()
        return _lasting[process]


def plain(
    verb: Callable[Concatenate[A, P], Coroutine[Any, Any, T]], io: IO = INLINE
) -> Callable[Concatenate[Any, P], T]:
    """The plain verb of an awaited one: its object has a method `_verbs(io)` that gives the awaited verbs."""
    drive = run_on_loop if io.awaits_hooks else run
    verb.__qualname__ = verb.__qualname__.removeprefix("Aio")  # in errors about missing arguments

    @wraps(verb)
    def run_verb(self: Any, /, *args: P.args, **named: P.kwargs) -> T:
        return drive(verb(self._verbs(io), *args, **named))

    return run_verb


def checked_type(value: T, kind: Any, what: str) -> T:
    """An argument of a verb, or `WrongType` with the words that say what it is."""
    if not isinstance(value, kind):
        raise WrongType(f"{what}, not {type(value).__name__}")
    return value


def check_names(given: Mapping[str, object], options: type, what: str, named: Iterable[str] = ()) -> None:
    """Raise `InvalidValue` if an option was given that is none: a misspelt one would be ignored.

    `named` are options that the function itself names.
    """
    known = options.__annotations__
    for name in given:
        if name not in known:
            raise InvalidValue(no_option(what, name, [*named, *known]))


def _recording(value: object) -> str:
    """The code that records what is no item; with nothing of the content, as in every error."""
    entry = cast(Mapping[object, object], value if isinstance(value, Mapping) else {})
    role, call_id = entry.get("role"), entry.get("tool_call_id")
    if isinstance(value, str) or (role in ("user", "assistant") and not entry.get("tool_calls")):
        return f'`session.{role or "user"}("…")`'
    if role in ("system", "developer"):
        return f'`session.append(Message("{role}", "…"))`'
    if "function" in entry:
        return '`ToolCall("call_1", "look_up", "{}")`'
    if isinstance(call_id, str):
        return f'`session.tool("…", call_id={cut(call_id)!r})`'
    if isinstance(value, Sequence) and any(type(one) in KINDS for one in cast("Sequence[object]", value)):
        return "`session.append(*items)`"
    if isinstance(value, Mapping | Sequence):
        return '`session.append(*provider_for("openai").read_history(messages))`'
    return "`session.record(response)` for what a client of a model returned"


class Change(NamedTuple):
    """Entries to be written, and the events of hooks before and after."""

    entries: Entries
    before: Sequence[Event] = ()
    after: Sequence[Event] = ()

    @staticmethod
    def adding(place: Place, stream: str, items: Sequence[Item]) -> "Change":
        """The change that records items in a transcript."""
        if not items:
            return Change([])
        entries, added = [Written(stream, item) for item in items], tuple(items)
        return Change(entries, [Adding(place, stream, added)], [Added(place, stream, added)])

    @staticmethod
    def joined(changes: Iterable["Change"]) -> "Change":
        """Some changes, one after the other, as one."""
        each = list(changes)
        return Change(
            [entry for one in each for entry in one.entries],
            [event for one in each for event in one.before],
            [event for one in each for event in one.after],
        )


class Writer:
    """Writes to one log: items are checked and redacted, and hooks are asked before anything is written."""

    def __init__(
        self, log: Log, hooks: Hooks, redact: Redact | None = None, pool_limit: int | None = None
    ) -> None:
        self.log, self.place = log, log.place
        self.hooks, self.redact = hooks, redact
        self.pool_limit = pool_limit if pool_limit is None else whole(pool_limit, "a limit", least=1)
        self.is_closed = False

    def check_open(self) -> None:
        """Raise `StoreFailed` if the session was closed, or its draft has ended."""
        if self.is_closed:
            raise StoreFailed(f"this session of {self.place} is closed: open another to write to it")

    def commit(self, compute: Compute, *, expected: int | None = None, rebases: bool = True) -> Entries:
        """Write what is computed from the present state; see `Log.commit`."""

        def checked(state: State) -> Entries:
            self.check_open()  # under the lock of the log: a session that is closed has no write on its way
            return compute(state)

        return self.log.commit(checked, expected=expected, rebases=rebases)

    def stage(self, compute: Compute, lost: Callable[[QuireError], None]) -> Entries:
        """Stage what is computed; see `Log.stage`."""

        def checked(state: State) -> Entries:
            self.check_open()
            return compute(state)

        return self.log.stage(checked, lost)

    def ready(self, items: Iterable[Item]) -> tuple[Item, ...]:
        """Items as they may be kept: checked, and redacted."""
        ready = tuple(items)
        for item in ready:
            if type(item) not in KINDS:
                raise WrongType(f"a session keeps items, not {type(item).__name__}: use {_recording(item)}")
        redact = self.redact
        return ready if redact is None else tuple(redacted(redact, item) for item in ready)

    async def append(
        self, io: IO, items: Iterable[Item], to: str = MAIN, expected: int | None = None
    ) -> tuple[Item, ...]:
        """Append items to a transcript, all or none; returns them as they were kept."""
        ready, name = self.ready(items), checked_name(to)

        def decide(state: State) -> Change:
            return Change.adding(self.place, name, ready)

        change = await self.write_change(io, decide, expected)
        return tuple(item for _, item in change.entries)

    async def write_change(
        self, io: IO, decide: Callable[[State], Change], expected: int | None = None
    ) -> Change:
        """Write what `decide` returns for the present state, after hooks have heard of all of it.

        If others write while hooks are asked, it is decided again, and hooks hear what is new. `Conflict` if
        that does not end, or the version is not the expected one.
        """
        heard: list[Event] = []
        change, is_heard = Change([]), self.hooks.hear_records

        def new_events() -> list[Event]:
            return [event for event in change.before if event not in heard] if is_heard else []

        def entries(state: State) -> Entries:
            nonlocal change
            change = decide(state)
            return [] if new_events() else change.entries

        def commit() -> Entries:
            return self.commit(entries, expected=expected)

        async def on_done(_: object) -> None:
            await io.fire(self.hooks, [] if new_events() else change.after)

        for _ in range(MOST_ROUNDS):
            written = await io.write(self.log, commit, on_done if is_heard else None)
            new = new_events()
            if not new:
                return change._replace(entries=written)
            heard += new
            await io.fire(self.hooks, new)
        raise Conflict("others changed it each time that hooks had heard of it: nothing was written")
