"""How verbs run. Each verb is one coroutine; a plain verb drives the coroutine to its end.

| IO       | verbs                           | work with the store runs  | async hooks | driven by     |
|----------|---------------------------------|---------------------------|-------------|---------------|
| INLINE   | plain: `append`, `record`, …    | in the caller's thread    | are refused | `run`         |
| BLOCKING | plain: `build`, `merge`, …      | where the loop runs       | are awaited | `run_on_loop` |
| AWAITED  | coroutines of `Session.aio`     | in a thread for the store | are awaited | the caller    |

`run` needs no event loop, because nothing in the verb waits. `run_on_loop` runs a loop of its own.
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

MAX_INLINE_ITEMS = 500
"""Up to this many items no thread is used: counting and rendering them takes 4 ms."""

MAX_DECISIONS = 100
"""How often a change is decided anew because others wrote while its hooks ran."""


class IO(NamedTuple):
    """Where work with a store runs, and whether hooks may be awaited."""

    is_offloaded: bool
    awaits_hooks: bool

    async def do(self, log: Log, work: Callable[[], T], on_done: OnDone[T] | None = None) -> T:
        """Run work that needs the store of a log or all its items, then await `on_done`; return the result.

        A cancellation waits for the thread to end, and `on_done` is still called.
        """
        is_short = len(log.state.transcripts[MAIN]) <= MAX_INLINE_ITEMS
        return await self._run(work, on_done, is_quick=is_short and log.root.store.is_quick)

    async def write(self, log: Log, work: Callable[[], T], on_done: OnDone[T] | None = None) -> T:
        """As `do`, for work whose time depends only on the entries written, and not on the conversation."""
        return await self._run(work, on_done, is_quick=log.root.store.is_quick)

    async def stage(self, log: Log, work: Callable[[], T]) -> T:
        """Run work that only stages entries: in this thread, unless another thread is writing."""
        if not log.lock.acquire(blocking=False):
            return await self.write(log, work)
        try:
            return work()
        finally:
            log.lock.release()

    async def _run(self, work: Callable[[], T], on_done: OnDone[T] | None, *, is_quick: bool) -> T:
        if self.is_offloaded and not (is_quick and on_done is None):
            return await _offloaded(work, on_done)
        result = work()
        if on_done is not None:
            await on_done(result)
        return result

    async def fire(self, hooks: Hooks, events: Iterable[Event]) -> None:
        """Call the hooks of events."""
        if hooks.all:
            for event in events:
                await hooks.fire(event, may_wait=self.awaits_hooks)


INLINE = IO(is_offloaded=False, awaits_hooks=False)
BLOCKING = IO(is_offloaded=False, awaits_hooks=True)
AWAITED = IO(is_offloaded=True, awaits_hooks=True)

_unfinished: set["asyncio.Future[Any]"] = set()
"""Tasks whose caller was cancelled. The set keeps them alive, because a loop has only weak references."""


async def _offloaded(work: Callable[[], T], on_done: OnDone[T] | None) -> T:
    thread_task = STORE.begin(work)
    task = thread_task if on_done is None else asyncio.ensure_future(_then(thread_task, on_done))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        _unfinished.add(task)
        task.add_done_callback(_log_failure)
        await asyncio.wait([thread_task])
        raise


async def _then(thread_task: "asyncio.Future[T]", on_done: OnDone[T]) -> T:
    result = await asyncio.shield(thread_task)  # a loop that ends cancels its tasks, but no thread
    await on_done(result)
    return result


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
"""The event loop that a plain verb blocks while it runs. Waiting for a task of this loop would deadlock."""


def run_on_loop(verb: Coroutine[Any, Any, T]) -> T:
    """Run a verb that awaits sections or models on a separate event loop.

    If a loop runs in this thread, another thread is used, and this one is blocked until the verb ends.
    """
    context = copy_context()
    try:
        blocked = asyncio.get_running_loop()
    except RuntimeError:
        blocked = None
    if blocked is None:  # not in the `except` block, so that errors of the verb have no context
        if not hasattr(_loops, "own"):  # each thread has one, because making a loop is slow
            _loops.own = _Loop()
        own: _Loop = _loops.own
        return own.runner.run(verb, context=context)  # a runner would reuse the context of its first call
    context.run(BLOCKED.set, blocked)
    with ThreadPoolExecutor(1, "quire-verb") as thread:
        return thread.submit(context.run, asyncio.run, verb).result()


_starting = Lock()
_lasting: dict[int, asyncio.AbstractEventLoop] = {}
_LOOP_THREAD = "quire-loop"


def wait_for(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine for a caller that cannot await. A keyboard interrupt cancels it.

    All such coroutines share one event loop in a thread of its own, so connections and tasks outlive a call.
    """
    if current_thread().name == _LOOP_THREAD:
        work.close()
        raise InvalidValue("this would wait for itself: await the verb without `_sync` here")
    future = lasting(work)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


def lasting(work: Coroutine[Any, Any, T]) -> "Future[T]":
    """Start a coroutine on the event loop of `wait_for`, which runs as long as the process."""
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
    """Make a plain verb from a coroutine verb. Its class needs `_verbs(io)` for the coroutine verbs."""
    drive = run_on_loop if io.awaits_hooks else run
    verb.__qualname__ = verb.__qualname__.removeprefix("Aio")  # in errors about missing arguments

    @wraps(verb)
    def run_verb(self: Any, /, *args: P.args, **named: P.kwargs) -> T:
        return drive(verb(self._verbs(io), *args, **named))

    return run_verb


def checked_type(value: T, kind: Any, what: str) -> T:
    """Return an argument of the right type; otherwise raise `WrongType`, which says `what` it has to be."""
    if not isinstance(value, kind):
        raise WrongType(f"{what}, not {type(value).__name__}")
    return value


def check_names(names: Iterable[str], options: type, what: str, others: Iterable[str] = ()) -> None:
    """Raise `InvalidValue` for an option that is not in `options`, and would be ignored otherwise.

    `others` are further options to suggest: those in the signature of the function.
    """
    known = options.__annotations__
    for name in names:
        if name not in known:
            raise InvalidValue(no_option(what, name, [*others, *known]))


def _code_for(value: object) -> str:
    """For an error: code that would record a value that is not an item. It does not quote the value."""
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
    if isinstance(value, Sequence) and any(type(part) in KINDS for part in cast("Sequence[object]", value)):
        return "`session.append(*items)`"
    if isinstance(value, Mapping | Sequence):
        return '`session.append(*provider_for("openai").read_history(messages))`'
    return "`session.record(response)` for what a client of a model returned"


class Change(NamedTuple):
    """Entries to write, and the events to fire before and after."""

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
        """Join several changes, in order, to one."""
        parts = list(changes)
        return Change(
            [entry for change in parts for entry in change.entries],
            [event for change in parts for event in change.before],
            [event for change in parts for event in change.after],
        )


class Writer:
    """Writes to one log: checks and redacts items, and fires hooks before and after each write."""

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
        """As `Log.commit`, but only while the session is open."""

        def checked(state: State) -> Entries:
            self.check_open()  # under the lock of the log, so that no write is under way once it is closed
            return compute(state)

        return self.log.commit(checked, expected=expected, rebases=rebases)

    def stage(self, compute: Compute, on_lost: Callable[[QuireError], None]) -> Entries:
        """As `Log.stage`, but only while the session is open."""

        def checked(state: State) -> Entries:
            self.check_open()
            return compute(state)

        return self.log.stage(checked, on_lost)

    def ready(self, items: Iterable[Item]) -> tuple[Item, ...]:
        """Check that these are items, and redact them."""
        ready = tuple(items)
        for item in ready:
            if type(item) not in KINDS:
                raise WrongType(f"a session keeps items, not {type(item).__name__}: use {_code_for(item)}")
        redact = self.redact
        return ready if redact is None else tuple(redacted(redact, item) for item in ready)

    async def append(
        self, io: IO, items: Iterable[Item], to: str = MAIN, expected: int | None = None
    ) -> tuple[Item, ...]:
        """Append items to a transcript, all or none; return them as they were recorded."""
        ready, name = self.ready(items), checked_name(to)

        def decide(state: State) -> Change:
            return Change.adding(self.place, name, ready)

        change = await self.write_change(io, decide, expected)
        return tuple(item for _, item in change.entries)

    async def write_change(
        self, io: IO, decide: Callable[[State], Change], expected: int | None = None
    ) -> Change:
        """Call the hooks of the change that `decide` returns for the current state, then write the change.

        If others write while the hooks run, `decide` is called again, and hooks get only events that are new.
        `Conflict` if that happens too often, or if the version is not the expected one.
        """
        fired: list[Event] = []
        change, has_hooks = Change([]), self.hooks.has_record_hooks

        def new_events() -> list[Event]:
            return [event for event in change.before if event not in fired] if has_hooks else []

        def entries(state: State) -> Entries:
            nonlocal change
            change = decide(state)
            return [] if new_events() else change.entries

        def commit() -> Entries:
            return self.commit(entries, expected=expected)

        async def on_done(_: object) -> None:
            await io.fire(self.hooks, [] if new_events() else change.after)

        for _ in range(MAX_DECISIONS):
            written = await io.write(self.log, commit, on_done if has_hooks else None)
            new = new_events()
            if not new:
                return change._replace(entries=written)
            fired += new
            await io.fire(self.hooks, new)
        raise Conflict(f"others wrote to {self.place} each time while hooks ran: nothing was written")
