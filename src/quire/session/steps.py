"""The steps of tool calls, recorded as they happen, so that a crash leaves nothing in doubt.

Before a call is run, a note says so, and by whom; then its result is recorded. Calls of one reply run side by
side: a result that comes before its turn is held in a stream of its own.
"""

import asyncio
import logging
import os
from collections.abc import (
    AsyncGenerator,
    Callable,
    Collection,
    Coroutine,
    Generator,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any, Literal
from uuid import getnode

from quire.errors import Conflict, Forgotten, StoreError, TurnBusy, UnknownId, cut
from quire.items import Item, Note, ToolCall, ToolResult, new_id, now
from quire.memory.quotes import Quote
from quire.providers import Parsed
from quire.session.aio import AWAITED, Change, Writer, checked_type
from quire.session.erasure import link_sources, names_of
from quire.session.hooks import Added, Adding
from quire.session.log import CLAIMS, Compute, Entries, Log, Work
from quire.session.pool import SessionPool
from quire.session.state import State, Written, approved, begun, begun_in, by_result, held_for, is_step
from quire.stores.store import checked_name, is_tombstone
from quire.stores.streams import MAIN, STEPS

logger = logging.getLogger("quire.session")

Progress = Literal["waiting", "begun", "held", "foreign"]
"""How far an open call has come: not begun, perhaps run, or its result is held.

A foreign call was made by no turn of an agent: it was imported or appended, and may have run elsewhere.
"""

LEASE = 60.0
"""Seconds for which a note of running work is believed after it was written or renewed."""

NOT_APPROVED = "it was not approved"


def not_run(call: ToolCall, why: str) -> ToolResult:
    """The result of a call that was not run."""
    return ToolResult(call.call_id, call.name, f"This was not run: {why}.", is_error=True)


def claiming(calls: Sequence[ToolCall], claim: Mapping[str, Any]) -> Callable[[State], Entries]:
    """What is written before calls run.

    `TurnBusy` if another runs one; `Conflict` if one has a result, or was refused.
    """

    def claimed(state: State) -> Entries:
        _check_open(state, calls)
        for call in calls:
            if _is_run(state, call):
                raise TurnBusy(f"the call {cut(call.call_id)!r} is being run by another")
            if call.id in state.steps.held:
                raise Conflict(f"the call {cut(call.call_id)!r} was refused, or has run")
        return [Written(STEPS, begun(calls, claim))] if calls else []

    return claimed


class Steps:
    """Calls in progress: claims on calls that run, results that are held, and results that are recorded."""

    def __init__(
        self, writer: Writer, pool: SessionPool, record: Callable[[Parsed], Coroutine[Any, Any, Parsed]]
    ) -> None:
        self._writer = writer
        self._log = writer.log
        self._pool = pool
        self.record = record
        """Records a response to the last request, and that the caller runs its calls."""

    # Running calls

    @asynccontextmanager
    async def running(self, *calls: ToolCall) -> AsyncGenerator[None]:
        """Begin calls, and hold the claim on them for as long as the block takes."""
        job = CLAIMS.get().get(self._log.place)
        with claimed() as claim:

            def renewal(state: State) -> Entries:
                waiting = {call.id for call in state.pending()}
                left = [call for call in calls if call.id in waiting]
                return [Written(STEPS, begun(left, {"job": job, **claim()}))] if left else []

            first = claiming(calls, {"job": job, **claim()})
            await AWAITED.do(self._log, lambda: self._writer.commit(first))
            async with renewed(self._log, renewal):
                yield

    def is_run(self, call: ToolCall) -> bool:
        """Whether this process, or another that is alive, runs a call."""
        return _is_run(self._log.state, call)

    # Decisions

    async def decide(self, call: ToolCall | str, verdict: bool | str) -> None:
        """Approve or refuse an open call, given by itself or one of its ids; the next turn acts on it.

        True lets the call run. False, or a text with the reason, refuses it, also if it was approved and has
        not begun; a refusal is final. `UnknownId` if no such call is open, `Conflict` if it has begun or was
        refused, `Forgotten` if its content was.
        """
        checked_type(verdict, bool | str, "True approves a call, False or a reason refuses it")
        name = call if isinstance(call, str) else call.id
        await AWAITED.do(self._log, self._log.root.catch_up)
        found = next((one for one in self._log.state.pending() if name in (one.id, one.call_id)), None)
        if found is None:
            raise UnknownId(f"no call {cut(name)!r} waits for a decision")
        made, why = found, verdict if isinstance(verdict, str) and verdict else NOT_APPROVED
        refusal = () if verdict is True else self._writer.ready([not_run(made, why)])

        def decide(state: State) -> Change:
            _check_open(state, [made])
            if made.id in state.steps.begun or made.id in state.steps.held:
                raise Conflict(f"the call {cut(made.call_id)!r} has begun, or was refused")
            if any(is_tombstone(one) for one in state.pending() if one.id == made.id):
                raise Forgotten(f"the call {cut(made.call_id)!r} was forgotten")
            return (
                self._holding(refusal, made.id, state)
                if refusal
                else Change([Written(STEPS, approved([made]))])
            )

        await self._writer.write_change(AWAITED, decide)

    def is_approved(self, call: ToolCall) -> bool:
        """Whether a person has approved an open call."""
        return call.id in self._log.state.steps.approved

    # Results

    async def hold(
        self,
        result: ToolResult,
        *others: Item,
        pooled: Sequence[Note] = (),
        of: ToolCall | None = None,
        asks_hooks: bool = True,
    ) -> tuple[Item, ...]:
        """Keep a result whose turn has not come, and what came with it; `answer` records it later.

        `of` is its call, needed if several calls have its call id. See `answer` for the rest.
        """
        ready = self._writer.ready([result, *others])

        def decide(state: State) -> Change:
            call = state.steps.call_of(result, state.pending()) if of is None else of.id
            return self._holding(ready, call, state, asks_hooks)

        made = await self._write(decide, pooled)
        return tuple(item for stream, item in made.entries if stream == STEPS and not is_step(item))

    def _holding(
        self, items: tuple[Item, ...], call: str | None, state: State, asks_hooks: bool = True
    ) -> Change:
        """The change that holds a result and what came with it, for the call of an id if that is known."""
        state.check([Written(MAIN, item) for item in items])  # what does not fit there is not held
        announced = [] if call is None else [held_for(call)]
        hears = [Adding(self._log.place, MAIN, items)] if asks_hooks else []
        return Change([Written(STEPS, item) for item in (*announced, *items)], hears)

    async def answer(
        self,
        calls: Sequence[ToolCall],
        *items: Item,
        pooled: Sequence[Note] = (),
        to: str = MAIN,
        if_unclaimed: bool = False,
        asks_hooks: bool = True,
    ) -> tuple[Item, ...]:
        """Record what answers open calls, and put notes into the pool, all or none.

        Hooks hear of each result with what came with it, unless they did when it was held. `Conflict` if one
        of the calls is not open any more, and, with `if_unclaimed`, if somebody runs one of them.
        """
        ready, name = self._writer.ready(items), checked_name(to)

        def decide(state: State) -> Change:
            _check_open(state, calls)
            for call in calls if if_unclaimed else ():
                if _is_run(state, call):
                    raise Conflict(f"call {cut(call.call_id)!r} is being run by another")
            recorded = state.steps.as_held(ready)
            new = [tuple(came) for came in by_result(recorded) if came[0].id not in state.steps.heard]
            return Change(
                [Written(name, item) for item in recorded],
                [Adding(self._log.place, name, came) for came in new if asks_hooks],
                [Added(self._log.place, name, tuple(recorded))],
            )

        made = await self._write(decide, pooled)
        return tuple(item for stream, item in made.entries if stream == name)

    async def _write(self, decide: Callable[[State], Change], pooled: Sequence[Note]) -> Change:
        """Write a change, after notes that are put into the pool."""
        if not pooled:
            return await self._writer.write_change(AWAITED, decide)
        notes, pool = self._pool.ready(pooled), self._pool
        return await self._writer.write_change(
            AWAITED, lambda state: Change.joined([pool.keeping(notes, state), decide(state)])
        )

    # What is known

    def standing(self, name: str = MAIN) -> list[tuple[ToolCall, Progress]]:
        """The calls without a result, each with its progress: waiting, begun, held or foreign."""
        self._log.check_not_forgotten()
        with self._log.applying:
            transcript = self._log.state.transcripts.get(name)
            calls = () if transcript is None else transcript.view.pending()
            return [(call, self._progress(call)) for call in calls]

    def _progress(self, call: ToolCall) -> Progress:
        steps = self._log.state.steps
        if self.held(call):
            return "held"
        if call.id in steps.begun:
            return "begun"
        return "waiting" if call.id in steps.taken else "foreign"

    def begun_at(self) -> dict[str, float]:
        """When each call was last begun, by the id of its item; also calls that were answered since."""
        found: dict[str, Note] = {}
        for note in filter(is_step, self._log.read_stream(STEPS)):
            for call in begun_in(note):
                is_renewal = call in found and found[call].content.get("claim") == note.content.get("claim")
                found[call] = found[call] if is_renewal else note
        return {call: note.created_at for call, note in found.items()}

    def held(self, call: ToolCall) -> tuple[Item, ...]:
        """What is held for a call: its result, and what came with it."""
        state = self._log.state
        held = state.steps.held.get(call.id, ())
        # Of a call that was answered it is there until the next step is recorded.
        return () if held and any(held[0].id in one for one in state.transcripts.values()) else held

    @property
    def at_work(self) -> Work | None:
        """The turn that is on its way in this conversation, in this process."""
        work = self._log.work
        return None if work is None or work.is_over else work

    def take_turn(self, work: Work) -> Work | None:
        """Let a turn be the one on its way; if another still is, that one is returned."""
        with self._log.applying:
            other = self.at_work
            self._log.work = other or work
            return other

    # Provenance

    def link(self, quotes: Iterable[Quote]) -> bool:
        """Record that this conversation quotes others, so that what they forget is forgotten here.

        False if some source was not linked before: then search again, because it may have been forgotten just
        before the link. The quoted items are added to the sources of the running call (see `tracing`).
        """
        quotes = list(quotes)
        if not link_sources(self._log, quotes):
            return False
        self.trace(names_of(quotes, self._log.place.conversation))
        return True

    def trace(self, names: Iterable[str]) -> None:
        """Add ids to the sources of the call that runs in this context."""
        traced = _traced.get()
        if traced is not None:
            traced.update(names)

    @contextmanager
    def tracing(self) -> Generator[set[str]]:
        """Collect the ids of what a call reads: its result names them under `extras["quire.of"]`."""
        found: set[str] = set()
        token = _traced.set(found)
        try:
            yield found
        finally:
            _traced.reset(token)


_traced: ContextVar[set[str] | None] = ContextVar("quire_traced", default=None)


def _check_open(state: State, calls: Collection[ToolCall]) -> None:
    waiting = {call.id for call in state.pending()}
    for call in calls:
        if call.id not in waiting:
            raise Conflict(f"call {cut(call.call_id)!r} was answered by another first")


# Claims and leases: which process does some work, and until when others believe it

_running: set[str] = set()
"""Claims of this process that are held."""


def _is_run(state: State, call: ToolCall) -> bool:
    note = state.steps.begun.get(call.id)
    is_lost = note is not None and note.content.get("job") not in (None, state.jobs.claim)
    return note is not None and not is_lost and is_held(note)


@contextmanager
def claimed() -> Generator[Callable[[], dict[str, Any]]]:
    """Claim some work for as long as the block takes; gives what makes the content of a note of it."""
    claim = new_id()
    _running.add(claim)
    try:
        yield lambda: {"claim": claim, **lease()}
    finally:
        _running.discard(claim)


def is_held(note: Note) -> bool:
    """Whether the claim of a note is held, by this process or by another that is alive."""
    if note.content.get("process") == _process(os.getpid()):
        return note.content.get("claim") in _running
    return "until" in note.content and is_leased(note)


def lease() -> dict[str, Any]:
    """The content of a note of running work: until when it is believed, and which process does it."""
    return {"until": now() + LEASE, "process": _process(os.getpid())}


@asynccontextmanager
async def renewed(log: Log, renewal: Compute) -> AsyncGenerator[None]:
    """Write what renews a lease from time to time, for as long as the block takes."""

    async def renew() -> None:
        while True:
            await asyncio.sleep(LEASE / 3)
            try:
                await AWAITED.do(log, lambda: log.commit(renewal))
            except (StoreError, Conflict) as fault:
                logger.warning("a lease in %s is not renewed: %s", log.place, type(fault))

    renewing = asyncio.ensure_future(renew())
    try:
        yield
    finally:
        renewing.cancel()


def is_leased(note: Note) -> bool:
    """Whether the work of a note goes on: the lease was renewed in time, and the process is not gone."""
    machine, process, started = note.content.get("process") or (None, 0, None)
    is_gone = machine == _machine() and _started(process) != started
    return bool(note.content["until"] > now()) and not is_gone


@cache
def _process(number: int) -> list[Any]:
    """Identifies a process of this machine; process numbers are used again."""
    return [_machine(), number, _started(number)]


@cache
def _machine() -> str:
    """Identifies this machine since it was started, and its process namespace."""
    try:
        started = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{started} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return f"{getnode():x}"


def _started(process: int) -> str | None:
    """When a process was started; `None` if there is none, or the system does not say."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None
