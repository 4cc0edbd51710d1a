"""The worker: does jobs of the queue, shows that it is alive, and takes over from workers that are not."""

import asyncio
import logging
import random
from collections.abc import Callable, Sequence
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from math import ceil
from typing import Any, NamedTuple

from quire.errors import (
    InvalidValue,
    ModelTimeout,
    Overloaded,
    RateLimited,
    Stopped,
    StoreError,
    TurnBusy,
    TurnLost,
    UnknownId,
)
from quire.items import new_id, now
from quire.node import Node
from quire.service.durable import (
    APPLICATION,
    QUEUE,
    TURN,
    VERSION,
    Database,
    Reference,
    dbos,
    guarded,
)
from quire.service.words import Words, remove_words
from quire.session import Job, Outcome
from quire.stores import Sealed
from quire.stores.threads import FOLLOWING, STORE

logger = logging.getLogger("quire.service")

PASSING = (RateLimited, Overloaded, ModelTimeout)
"""Failures of a model after which a job is tried again, before it ends as failed."""

_MOST_FAILURES, _PAUSE, _LONGEST_PAUSE = 5, 1.0, 30.0
"""How often a job is tried again, and after how many seconds: the first time, and at most."""

_REMEMBERED = 86_400
"""Seconds for which a worker that is gone is remembered: it may be asleep, and take a job when it wakes."""

_SWEPT, _MOST_SWEPT = 60.0, 1_000
"""Seconds between two removals of what is not needed any more, and how much is removed at once."""

_SCHEDULE = "quire "
"""How the names of our schedules begin in DBOS."""

_ENDED = ["SUCCESS", "ERROR"]

_COME = "INSERT INTO quire.workers (id, seen, state) VALUES (%s, now(), 'here')"
_SEEN = "UPDATE quire.workers SET seen = now() WHERE id = %s AND state = 'here'"
_LEFT = "UPDATE quire.workers SET state = 'gone' WHERE id = %s"
_DEAD = """
    UPDATE quire.workers SET state = 'gone'
    WHERE state = 'here' AND seen < now() - make_interval(secs => %s)"""
# One worker at a time sees to those that are gone.
_GONE = "SELECT id FROM quire.workers WHERE state = 'gone' FOR UPDATE SKIP LOCKED"
_FORGET = "DELETE FROM quire.workers WHERE state = 'gone' AND seen < now() - make_interval(secs => %s)"


class Schedule(NamedTuple):
    """A message that is sent again and again; the name is its own among the schedules of a database.

    `cron` has five fields, or six with seconds first; its times are UTC unless `timezone` names a zone.
    """

    name: str
    cron: str
    agent: str
    message: str
    scope: str = ""
    conversation: str = ""
    timezone: str | None = None


class _Left(BaseException):
    """A job is left to another worker. As it is no `Exception`, DBOS records nothing about the job."""


def _end(grace: float) -> None:
    """Take no more jobs, let those that run end, and end DBOS."""
    dbos.DBOS.destroy(destroy_registry=True, workflow_completion_timeout_sec=ceil(grace))


class Worker:
    """Does jobs that a `DurableRunner` accepted: `concurrency` at a time, those of a conversation in order.

    It shows every `beat` seconds that it is alive. One that was not seen for `stale` seconds is taken for
    dead: others do its jobs, its writes are refused, and it ends. What DBOS keeps of a job is removed `keep`
    seconds after its end. `concurrency`, and `poll`, the seconds between two looks at the queue, hold for all
    workers: those of the last one that came. A process has one worker.
    """

    def __init__(
        self,
        node: Node,
        *,
        concurrency: int = 32,
        poll: float = 0.1,
        beat: float = 5.0,
        stale: float = 20.0,
        grace: float = 30.0,
        keep: float = 3600.0,
        schedules: Sequence[Schedule] = (),
    ) -> None:
        self.id = new_id()
        self._node, self._schedules = node, schedules
        self._concurrency, self._poll, self._keep = concurrency, poll, keep
        self._beat, self._stale, self._grace = beat, stale, grace
        self._database = Database(node, 6)
        self._store, self._client = self._database.store, self._database.client
        self._is_sealed = isinstance(node.store, Sealed)  # then words are not told in the clear
        self._turns: set[asyncio.Task[Outcome]] = set()
        self._stopped = asyncio.Event()
        self._seen = 0.0

    def stop(self) -> None:
        """Take no more jobs. Those that run have `grace` seconds, and are then handed over."""
        self._stopped.set()

    async def run(self) -> None:
        """Do jobs until `stop` is called. `Stopped` if the other workers took this one for dead."""
        await FOLLOWING.do(self._execute, _COME, self.id)
        beating, stopping = asyncio.ensure_future(self._live()), asyncio.ensure_future(self._stopped.wait())
        try:
            await FOLLOWING.do(self._begin, asyncio.get_running_loop())
            await asyncio.wait((beating, stopping), return_when=asyncio.FIRST_COMPLETED)
        finally:
            is_dead = beating.done()
            grace = 0.0 if is_dead else self._grace
            ending = FOLLOWING.begin(lambda: _end(grace))
            if self._turns and grace:
                await asyncio.wait(self._turns, timeout=grace)
            if grace and not self._turns:
                await ending  # DBOS records how they ended
            for task in self._turns:
                task.cancel()
            await asyncio.gather(*self._turns, return_exceptions=True)
            await FOLLOWING.do(self._leave)
            await ending
            self._database.close()
            beating.cancel()
            stopping.cancel()
        if is_dead:
            beating.result()

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        config = dbos.DBOSConfig(
            name=APPLICATION,
            application_version=VERSION,
            executor_id=self.id,
            system_database_engine=self._database.engine,
            serializer=dbos.DBOSPortableJSONSerializer(),
            use_listen_notify=False,
            max_executor_threads=self._concurrency + 8,
            log_level="WARNING",
        )
        self._database.migrate()
        dbos.DBOS(config=config)

        # Not a step of DBOS: the turn records its own steps, in the log. A thread costs less than a task of
        # DBOS, and the loop of the node runs the turn.
        @dbos.DBOS.workflow(name=TURN, max_recovery_attempts=None)
        def turn(agent: str, scope: str, conversation: str, job: str) -> dict[str, Any]:
            doing = self._do(Reference(agent, scope, conversation, job))
            outcome = asyncio.run_coroutine_threadsafe(doing, loop).result()
            if outcome is None:
                raise _Left
            return {"job": outcome.job, "stop": outcome.stop, "version": outcome.version}

        @dbos.DBOS.workflow(name="quire-schedule", max_recovery_attempts=None)
        def send(at: datetime, schedule: Any) -> None:
            name, _, agent, message, scope, conversation, _ = schedule
            job = Job.of(message, id=f"{name} {at.isoformat()}")
            self._database.accept(Reference(agent, scope, conversation, job.id), job)

        dbos.DBOS.listen_queues([QUEUE])
        dbos.DBOS.launch()
        dbos.DBOS.register_queue(
            QUEUE,
            partition_concurrency=1,
            worker_concurrency=self._concurrency,
            polling_interval_sec=self._poll,
            on_conflict="always_update",
        )
        self._keep_schedules(send)

    def _keep_schedules(self, send: Callable[[datetime, Any], None]) -> None:
        """Make the schedules of the database those of this worker."""
        wanted = {f"{_SCHEDULE}{one.name}": one for one in self._schedules}
        inputs = [
            dbos.ScheduleInput(
                schedule_name=name,
                workflow_fn=send,
                schedule=one.cron,
                context=list(one),
                cron_timezone=one.timezone,
            )
            for name, one in wanted.items()
        ]
        try:
            dbos.DBOS.apply_schedules(inputs)
        except dbos.error.DBOSException as fault:
            raise InvalidValue(str(fault)) from None
        for known in dbos.DBOS.list_schedules(schedule_name_prefix=_SCHEDULE):
            if known["schedule_name"] not in wanted:
                dbos.DBOS.delete_schedule(known["schedule_name"])

    # Jobs

    async def _do(self, reference: Reference) -> Outcome | None:
        """Do a job; `None` if it is left to another worker."""
        task = asyncio.ensure_future(self._try(reference))
        self._turns.add(task)
        task.add_done_callback(self._turns.discard)
        try:
            return await task
        except TurnLost:  # to another worker, or it was forgotten: then it has ended
            session = await STORE.do(self._node.session, *reference[:3])
            return await session.jobs.outcome(reference.job)
        except (asyncio.CancelledError, Stopped):
            return None
        except UnknownId:  # the conversation was removed
            return Outcome(reference.job, "removed", 0)

    async def _try(self, reference: Reference) -> Outcome:
        """Do a job, and do it again where that may help: for as long as the database cannot be used."""
        pause, left = _PAUSE, _MOST_FAILURES
        while True:
            try:
                return await self._run(reference, PASSING if left else ())
            except (UnknownId, Stopped, TurnLost):
                raise
            except Exception as fault:
                if not isinstance(fault, StoreError | TurnBusy):
                    if not left:  # no failure of the turn, which would have ended the job
                        return await self._fail(reference, f"no agent: {type(fault).__name__}")
                    left -= 1
                logger.warning("a job of %r is tried again: %s", reference.agent, type(fault).__name__)
                asked = fault.retry_after if isinstance(fault, RateLimited) else None
                await asyncio.sleep(max(pause * random.uniform(0.75, 1.25), asked or 0.0))
                pause = min(2 * pause, _LONGEST_PAUSE)

    async def _run(self, reference: Reference, raises: tuple[type[Exception], ...]) -> Outcome:
        agent, scope, conversation, job = reference
        words, outcome = Words(self._store, self.id, reference.id), None
        try:
            # By force: the queue gives a job to one worker, so whoever else has it was taken for dead.
            deltas = self._node.run_stream(
                agent, job, scope=scope, conversation=conversation, force=True, raises=raises
            )
            async with aclosing(deltas):
                async for delta in deltas:
                    if not self._is_sealed:
                        words.add(delta)
                    outcome = delta if isinstance(delta, Outcome) else None
        finally:
            await words.end()
        assert outcome is not None
        return outcome

    async def _fail(self, reference: Reference, error: str) -> Outcome:
        session = await STORE.do(self._node.session, *reference[:3])
        async with session.jobs.taken(reference.job, force=True) as taken:
            return taken.outcome or await taken.end("failed", error=error)

    # Workers

    async def _live(self) -> None:
        """Show that this worker is alive, and see to those that are not, until it is taken for dead."""
        swept = 0.0
        while await FOLLOWING.do(self._is_alive):
            if now() - swept > _SWEPT:
                swept = now()
                await FOLLOWING.do(self._sweep)
            await asyncio.sleep(self._beat)
        raise Stopped("the other workers took this one for dead, and do its jobs")

    def _is_alive(self) -> bool:
        try:
            if not self._execute(_SEEN, self.id):
                return False
            if now() - self._seen < self._stale:  # else the others were perhaps cut off as this one was
                self._execute(_DEAD, self._stale)
            self._seen = now()
            self._put_back()
        except StoreError as fault:
            logger.warning("a worker cannot show that it is alive: %s", fault)
        return True

    def _put_back(self) -> None:
        """Put the jobs of workers that are gone back into the queue."""

        def put_back(connection: Any) -> None:
            with connection.transaction(), guarded():
                gone = [row[0] for row in connection.execute(_GONE).fetchall()]
                for workflow in self._listed(executor_id=gone, status="PENDING") if gone else ():
                    self._client.resume_workflow(workflow.workflow_id, queue_name=workflow.queue_name)

        self._store.link.run(put_back)

    def _leave(self) -> None:
        with suppress(StoreError):
            self._execute(_LEFT, self.id)
            self._put_back()

    def _sweep(self) -> None:
        """Remove what DBOS keeps of jobs that ended, words that were told, and workers that are long gone."""
        before = datetime.fromtimestamp(now() - self._keep, UTC).isoformat()
        with suppress(StoreError), guarded():
            self._execute(_FORGET, _REMEMBERED)
            remove_words(self._store)
            while ended := self._listed(status=_ENDED, completed_before=before, limit=_MOST_SWEPT):
                self._client.delete_workflows([workflow.workflow_id for workflow in ended])

    def _listed(self, **wanted: Any) -> list[dbos.WorkflowStatus]:
        return self._client.list_workflows(load_input=False, load_output=False, **wanted)

    def _execute(self, statement: str, value: object) -> int:
        return self._store.link.run(
            lambda connection: int(connection.execute(statement.encode(), [value]).rowcount)
        )
