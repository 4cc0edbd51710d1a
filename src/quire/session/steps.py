"""The steps of tool calls, recorded as they happen, so that a crash leaves nothing in doubt.

Before a call is run, a note says so, and by whom; then its result is recorded. Calls of one reply run side by
side: a result that comes before its turn is held in a stream of its own.
"""

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Callable, Collection, Generator, Iterable, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any, Literal
from uuid import getnode

from quire.errors import (
    CodecError,
    Conflict,
    EditRefused,
    InvalidValue,
    StoreError,
    TurnBusy,
    UnknownId,
    WrongType,
    cut,
)
from quire.items import JSON, Item, Note, ToolCall, ToolResult, new_id, now
from quire.memory.quotes import Quote
from quire.session.aio import AWAITED, Writer
from quire.session.erasure import link_sources, names_of
from quire.session.hooks import Adding
from quire.session.log import Compute, Entries, Log, Work
from quire.session.pool import AioPool, SessionPool
from quire.session.state import State, Written, begun, by_result, held_for, is_step
from quire.stores.streams import MAIN, STEPS

logger = logging.getLogger("quire.session")

Standing = Literal["waiting", "begun", "held"]
"""How far an open call has come: not begun, perhaps run, or its result is held."""

Instead = Callable[[ToolResult, Exception], ToolResult]
"""Returns what is recorded in place of a result that a hook refuses, or that is `Unkept`."""

LEASE = 60.0
"""Seconds for which a note of running work is believed after it was written or renewed."""

_UNFIT = (InvalidValue, CodecError, WrongType, UnknownId, EditRefused)
"""Errors of the items themselves, and neither of a store nor of other writers."""


class Unkept(Exception):
    """Why a result, or what came with it, cannot be recorded though no hook refuses it."""


class Steps:
    """Open calls of the main transcript: claimed, held and answered. The verbs are awaited."""

    def __init__(self, writer: Writer, pool: SessionPool) -> None:
        self._writer = writer
        self._log = writer.log
        self._pool = pool

    # Running calls

    async def begin(self, *calls: ToolCall) -> None:
        """Record that calls are about to be run. From here on, a call without a result may have run.

        `TurnBusy` if another runs one of them, `Conflict` if one was answered.
        """
        await self._claim(calls, new_id())

    @asynccontextmanager
    async def running(self, *calls: ToolCall) -> AsyncGenerator[None]:
        """Begin calls, and hold the claim on them for as long as the block takes."""
        claim = new_id()
        _running.add(claim)

        def renewal(state: State) -> Entries:
            waiting = {call.id for call in state.pending()}
            left = [call for call in calls if call.id in waiting]
            return [Written(STEPS, begun(left, {"claim": claim, **lease()}))] if left else []

        try:
            await self._claim(calls, claim)
            async with renewed(self._log, renewal):
                yield
        finally:
            _running.discard(claim)

    def is_run(self, call: ToolCall) -> bool:
        """Whether somebody runs a call: this process, or another that is alive."""
        return _is_run(self._log.state, call)

    async def _claim(self, calls: Sequence[ToolCall], claim: str) -> None:
        def claimed(state: State) -> Entries:
            _check_open(state, calls)
            for call in calls:
                if _is_run(state, call):
                    raise TurnBusy(f"the call {cut(call.call_id)!r} is being run by another")
            return [Written(STEPS, begun(calls, {"claim": claim, **lease()}))]

        if calls:
            await AWAITED.do(self._log, lambda: self._log.commit(claimed))

    # Results

    async def hold(
        self, result: ToolResult, *others: Item, of: ToolCall | None = None, instead: Instead | None = None
    ) -> tuple[Item, ...]:
        """Keep a result whose turn has not come, and what came with it; `answer` records it later.

        `of` is its call, needed if several calls have its call id. See `answer` for `instead`.
        """
        ready = await self._allowed([result, *others], instead)

        def entries(state: State) -> Entries:
            call = state.steps.call_of(result, state.pending()) if of is None else of.id
            announced = [] if call is None else [held_for(call)]
            return [Written(STEPS, item) for item in (*announced, *_fitting(ready, state, instead))]

        written = await AWAITED.do(self._log, lambda: self._log.commit(entries))
        return tuple(item for _, item in written if not is_step(item))

    async def answer(
        self, calls: Sequence[ToolCall], *items: Item, instead: Instead | None = None, of_none: bool = False
    ) -> tuple[Item, ...]:
        """Record what answers open calls, all or none; `Conflict` if one is not open any more.

        Hooks hear of each result with what came with it, unless they did when it was held. If they refuse
        one, or it cannot be recorded, `instead` gives what is recorded in its place, if there is one.
        Calls `of_none` are closed by who does not run them: `Conflict` if somebody runs one by then.
        """
        ready = await self._allowed(items, instead)

        def entries(state: State) -> Entries:
            _check_open(state, calls)
            for call in calls if of_none else ():
                if _is_run(state, call):
                    raise Conflict(f"call {cut(call.call_id)!r} is being run by another")
            return [Written(MAIN, item) for item in _fitting(state.steps.as_held(ready), state, instead)]

        def answered() -> tuple[Item, ...]:
            written = self._log.commit(entries)
            self._writer.heard.difference_update(item.id for item in ready)
            return tuple(item for _, item in written)

        return await self._writer.write(AWAITED, answered, MAIN)

    async def offer(
        self,
        result: ToolResult,
        *others: Item,
        pooled: Sequence[Note] = (),
        to: str | None = MAIN,
        instead: Instead | None = None,
    ) -> ToolResult:
        """Let hooks hear of all that a call gave before any of it is written, and pool its notes.

        `to` is the transcript that the result and the others are for: recording them next asks no hook again.
        Returns the result, or what `instead` gives if a hook refuses any of it: then nothing was written.
        """
        hooks, ready = self._writer.hooks, (result, *others)
        try:
            with _refusals():
                if to is not None:
                    ready = self._writer.ready(ready)
                    await AWAITED.fire(hooks, [Adding(self._log.place, to, ready)])
            if pooled:
                await AioPool(self._pool, AWAITED).keep_all(pooled, _refusals)
        except _Refused as refused:
            if instead is None:
                raise refused.fault from None
            result, others = instead(result, refused.fault), ()
        if hooks.all and to is not None:
            self._writer.heard.update(item.id for item in (result, *others))
        return result

    async def _allowed(self, items: Sequence[Item], instead: Instead | None) -> tuple[Item, ...]:
        """Items redacted, as hooks allow them to be recorded."""
        writer = self._writer
        if writer.redaction is None and not writer.hooks.all:
            return writer.ready(items)
        heard, allowed = self._log.state.steps.heard | writer.heard, list[Item]()
        for came in by_result(items):
            try:
                ready = writer.ready(came)
                if ready[0].id not in heard:
                    await AWAITED.fire(writer.hooks, [Adding(self._log.place, MAIN, ready)])
                allowed += ready
            except Exception as fault:
                if instead is None or not isinstance(came[0], ToolResult):
                    raise
                allowed += writer.ready([instead(came[0], fault)])
        return tuple(allowed)

    # What is known

    def standing(self, name: str = MAIN) -> list[tuple[ToolCall, Standing]]:
        """The open calls of a transcript, and how far each has come."""
        self._log.check_known()
        with self._log.applying:
            transcript = self._log.state.transcripts.get(name)
            calls = () if transcript is None else transcript.view.pending()
            started = self._log.state.steps.begun
            return [
                (call, "held" if self.held(call) else "begun" if call.id in started else "waiting")
                for call in calls
            ]

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


def _fitting(items: Sequence[Item], state: State, instead: Instead | None) -> list[Item]:
    """Items that can be recorded: a result that cannot be is replaced, and holds up no other."""
    fit: list[Item] = []
    for came in by_result(items):
        try:
            state.check([Written(MAIN, item) for item in (*fit, *came)])
            JSON.encode(came)
            fit += came
        except _UNFIT as fault:
            if instead is None or not isinstance(came[0], ToolResult):
                raise
            fit.append(instead(came[0], Unkept(str(fault))))
    return fit


def _check_open(state: State, calls: Collection[ToolCall]) -> None:
    waiting = {call.id for call in state.pending()}
    for call in calls:
        if call.id not in waiting:
            raise Conflict(f"call {cut(call.call_id)!r} was answered by another first")


class _Refused(Exception):
    """A hook refused."""

    def __init__(self, fault: Exception) -> None:
        super().__init__(fault)
        self.fault = fault


@contextmanager
def _refusals() -> Generator[None]:
    """Tell what hooks raise, which may be anything, from what a store raises."""
    try:
        yield
    except Exception as fault:
        raise _Refused(fault) from fault


# Claims and leases: who runs something, and until when that is believed

_running: set[str] = set()
"""Claims of this process that are held."""


def _is_run(state: State, call: ToolCall) -> bool:
    note = state.steps.begun.get(call.id)
    if note is None:
        return False
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
    """When a process was started; `None` if there is none, or nobody can say."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None
