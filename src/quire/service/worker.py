"""The worker: does jobs of the queue, holds a lease, and takes over the jobs of dead workers."""

import asyncio
import logging
import random
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from functools import partial
from math import ceil
from typing import Any

from quire.errors import (
    Conflict,
    InvalidValue,
    ModelTimeout,
    Overloaded,
    QuireError,
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
    WORK,
    Database,
    Reference,
    dbos,
    sqlalchemy,
    wrapped_errors,
)
from quire.service.lease import Lease
from quire.service.pieces import ENDED, PieceWriter, remove_pieces
from quire.service.runner import Schedule
from quire.session import Job, claim_job, parts_of
from quire.stores import Sealed
from quire.stores.threads import FOLLOWING, STORE

logger = logging.getLogger("quire.service")

TEMPORARY = (RateLimited, Overloaded, ModelTimeout)
"""Failures of a model after which a job is retried, before it ends as failed."""

_MAX_RETRIES, _PAUSE_SECONDS, _MAX_PAUSE_SECONDS = 5, 1.0, 30.0
"""How often a job is retried, and the first and the longest pause before that."""

_CONNECTIONS = 6
"""The number of connections that DBOS may use."""

_POLL_SECONDS = 1.0
"""Seconds between two polls of the leases."""

_IDLE_SECONDS = 10.0
"""Seconds without a job in the queue after which DBOS is stopped until there is one."""

_SWEEP_SECONDS, _MAX_SWEPT = 60.0, 1_000
"""Seconds between two sweeps of old rows, and how many workflows one query removes."""

_MAX_DEATHS, _DEATHS = 3, "deaths"
"""How many workers may die while they do a job, and the attribute of its workflow that counts them."""

_SEND, _SCHEDULE = "quire-schedule", "quire "
"""The workflow that sends the message of a schedule, and the prefix of the names of our schedules."""

_SCHEDULING = "quire schedules"
"""The lock of the one worker that stays awake for schedules."""

_ENDED = ["SUCCESS", "ERROR", "CANCELLED"]


class _HandedOver(BaseException):
    """A job is left to another worker. Not an `Exception`, so that DBOS records no failure."""


def _stop_dbos(grace: float) -> None:
    """Stop DBOS: take no more jobs, and wait for the running ones."""
    dbos.DBOS.destroy(destroy_registry=True, workflow_completion_timeout_sec=ceil(grace))


class Worker:
    """Does jobs that a `DurableRunner` accepted: `concurrency` at a time, those of a conversation in order.

    It renews its lease every `beat` seconds. If the lease is older than `stale` seconds, or its connection is
    lost, other workers do its jobs, its writes are refused, and it stops. DBOS keeps a job for `keep` seconds
    after its end. `poll` are the seconds between two polls of the queue; it and `concurrency` are settings of
    the queue, so the last worker that starts sets them for all. A process has one worker.
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
        self._concurrency, self._poll, self._keep, self._grace = concurrency, poll, keep, grace
        self._database = Database(node)
        self._store = self._database.store
        self._engine = sqlalchemy.create_engine(
            "postgresql+psycopg://", creator=self._connect, pool_size=_CONNECTIONS, max_overflow=0
        )
        self._client = dbos.DBOSClient(
            system_database_engine=self._engine,
            serializer=dbos.DBOSPortableJSONSerializer(),
            application_name=APPLICATION,
            lazy=True,
            retry_connection_errors=False,
        )
        self._lease = Lease(self._store.link, self.id, QUEUE, beat=beat, stale=stale)
        self._is_sealed = isinstance(node.store, Sealed)  # then pieces are not written in clear text
        self._turns: set[asyncio.Task[None]] = set()
        self._running: dict[str, Reference] = {}  # by the digests of the jobs
        self._interrupting: set[asyncio.Task[None]] = set()
        self._stopped = asyncio.Event()

    def stop(self) -> None:
        """Take no more jobs. Running ones have `grace` seconds, and are then handed over."""
        self._stopped.set()

    async def run(self) -> None:
        """Do jobs until `stop` is called. If the lease is lost, nothing more is written; raises `Stopped`."""
        loop = asyncio.get_running_loop()
        stopping, holding = asyncio.ensure_future(self._stopped.wait()), None
        try:
            await FOLLOWING.do(self._prepare, loop)
            holding = asyncio.ensure_future(self._hold_lease(loop))
            await asyncio.wait((holding, stopping), return_when=asyncio.FIRST_COMPLETED)
        finally:
            is_lost = holding is not None and holding.done()
            if is_lost:
                self._store.link.refuse()  # nothing more is written
            grace = 0.0 if is_lost else self._grace
            ending = FOLLOWING.begin(partial(_stop_dbos, grace))
            if self._turns and grace:
                await asyncio.wait(self._turns, timeout=grace)
            if grace and not self._turns:
                await ending  # DBOS records how the jobs ended
            for task in (*self._turns, stopping, *([holding] if holding else [])):
                task.cancel()
            await asyncio.gather(*self._turns, return_exceptions=True)
            with suppress(StoreError):
                await FOLLOWING.do(self._lease.release, self._requeue)
            await ending
            self._lease.end()
            self._client.destroy()
            self._engine.dispose()
        if holding is not None and is_lost:
            holding.result()

    def _prepare(self, loop: asyncio.AbstractEventLoop) -> None:
        self._database.migrate()
        self._lease.acquire()
        self._launch(loop)
        dbos.DBOS.register_queue(
            QUEUE,
            partition_concurrency=1,
            worker_concurrency=self._concurrency,
            polling_interval_sec=self._poll,
            on_conflict="always_update",
        )
        self._apply_schedules()

    def _connect(self) -> Any:
        connection = self._store.link.connected()
        connection.autocommit = False  # SQLAlchemy begins transactions itself
        return connection

    def _launch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start DBOS, which takes some hundredths of a second; after a failure it can be retried."""
        config = dbos.DBOSConfig(
            name=APPLICATION,
            application_version=VERSION,
            executor_id=self.id,
            system_database_engine=self._engine,
            serializer=dbos.DBOSPortableJSONSerializer(),
            use_listen_notify=False,
            run_migrations=False,
            max_executor_threads=self._concurrency + 8,
            log_level="WARNING",
        )
        dbos.DBOS(config=config)

        # A turn has no steps of DBOS, since it records its own in the log. A thread waits while the event
        # loop of the node runs it, which costs less than a task of DBOS.
        @dbos.DBOS.workflow(name=TURN, max_recovery_attempts=None)
        def turn(address: str, job: str) -> None:
            if not asyncio.run_coroutine_threadsafe(self._do(address, job), loop).result():
                raise _HandedOver
            self._store.notify(bytes.fromhex(job), ENDED)

        @dbos.DBOS.workflow(name=_SEND, max_recovery_attempts=None)
        def send(at: datetime, name: Any) -> None:
            for schedule in self._schedules:
                if schedule.name == name:
                    job = Job.of(schedule.message, id=f"{name} {at.isoformat()}")
                    address = schedule.agent, schedule.scope, schedule.conversation
                    self._database.accept(Reference(*address, job.id), job)

        self._send = send
        dbos.DBOS.listen_queues([QUEUE])
        try:
            with wrapped_errors():
                dbos.DBOS.launch()
        except BaseException:
            _stop_dbos(0.0)
            raise

    def _apply_schedules(self) -> None:
        """Replace the schedules of the database by those of this worker."""
        schedules = {f"{_SCHEDULE}{schedule.name}": schedule for schedule in self._schedules}
        inputs = [
            dbos.ScheduleInput(
                schedule_name=name,
                workflow_fn=self._send,
                schedule=schedule.cron,
                context=schedule.name,
                cron_timezone=schedule.timezone,
            )
            for name, schedule in schedules.items()
        ]
        try:
            dbos.DBOS.apply_schedules(inputs)
        except dbos.error.DBOSException as fault:
            raise InvalidValue(str(fault)) from None
        for stored in dbos.DBOS.list_schedules(schedule_name_prefix=_SCHEDULE):
            if stored["schedule_name"] not in schedules:
                dbos.DBOS.delete_schedule(stored["schedule_name"])

    # Jobs

    async def _do(self, address: str, job: str) -> bool:
        """Do a job, and return whether it has ended; otherwise another worker does it."""
        task = asyncio.ensure_future(self._do_with_retries(address, job))
        self._turns.add(task)
        task.add_done_callback(self._turns.discard)
        try:
            await task
        except (asyncio.CancelledError, Stopped):
            return False
        except UnknownId:  # the conversation was removed
            pass
        finally:
            self._running.pop(job, None)
        return True

    async def _interrupt(self, reference: Reference) -> None:
        """End a turn whose job another process cancelled. If this fails, it ends a little later."""
        with suppress(QuireError):
            session = await STORE.do(self._node.session, *reference[:3])
            await session.aio.refresh()
            await session.jobs.interrupt()

    async def _do_with_retries(self, address: str, job: str) -> None:
        """Do a job. After a fault of the store it is retried without a limit, else `_MAX_RETRIES` times."""
        pause, retries, is_lost, error = _PAUSE_SECONDS, _MAX_RETRIES, False, ""
        while True:
            try:
                reference = await self._database.find(address, job)
                if reference is None:  # it has ended
                    return
                self._running[job] = reference
                if error:
                    return await self._fail(reference, error)
                return await self._run(reference, TEMPORARY if retries else (), force=not is_lost)
            except (UnknownId, Stopped):
                raise
            except TurnLost:  # another worker claimed the job, or forgetting the conversation has ended it
                await asyncio.sleep(pause if is_lost else 0.0)  # until the other worker ends it, or dies
                is_lost = True
            except Exception as fault:
                if not isinstance(fault, StoreError | TurnBusy | Conflict):
                    if not retries:  # the agent could not be made: a failure of its turn ends the job
                        pause, error = _PAUSE_SECONDS, f"no agent: {type(fault).__name__}"
                    retries = max(retries - 1, 0)
                logger.warning("a job is retried: %s", type(fault).__name__)
                retry_after = fault.retry_after if isinstance(fault, RateLimited) else None
                await asyncio.sleep(max(pause * random.uniform(0.75, 1.25), retry_after or 0.0))
                pause = min(2 * pause, _MAX_PAUSE_SECONDS)

    async def _run(self, reference: Reference, raises: tuple[type[Exception], ...], *, force: bool) -> None:
        agent, scope, conversation, job = reference
        writer = PieceWriter(self._store, self.id, reference.address, reference.id)
        try:
            # By force at first: the queue gives a job to one worker, so whoever claimed it before is dead.
            deltas = self._node.run_stream(
                agent, job, scope=scope, conversation=conversation, force=force, raises=raises
            )
            async with aclosing(deltas):
                async for delta in deltas:
                    if not self._is_sealed:
                        writer.add(delta)
        finally:
            await writer.end()

    async def _fail(self, reference: Reference, error: str) -> None:
        session = await STORE.do(self._node.session, *reference[:3])
        async with claim_job(parts_of(session).writer, reference.job, force=True) as claim:
            if claim.outcome is None:
                await claim.end("failed", error=error)

    # Leases

    async def _hold_lease(self, loop: asyncio.AbstractEventLoop) -> None:
        """Hold the lease, take over from dead workers, and sleep while there is no work."""
        swept_at, busy_at, is_asleep = 0.0, time.monotonic(), False
        while True:
            poll = await FOLLOWING.do(self._lease.poll, _POLL_SECONDS)
            moment = time.monotonic()
            try:
                for job in self._running.keys() & set(poll.cancelled):
                    self._interrupting.add(task := asyncio.ensure_future(self._interrupt(self._running[job])))
                    task.add_done_callback(self._interrupting.discard)
                await self._take_over(poll.dead)
                if moment - swept_at > _SWEEP_SECONDS:
                    swept_at = moment
                    await FOLLOWING.do(self._sweep)
                if poll.is_busy or self._turns or await self._is_scheduler():
                    busy_at = moment
                if is_asleep and busy_at == moment:
                    await FOLLOWING.do(self._lease.listen, "")
                    await FOLLOWING.do(self._launch, loop)
                    is_asleep = False
                elif not is_asleep and moment - busy_at > _IDLE_SECONDS:
                    is_asleep = True
                    await self._sleep()
            except (StoreError, Conflict) as fault:
                logger.warning("a worker could not check the others: %s", fault)

    async def _is_scheduler(self) -> bool:
        """Whether this is the one worker that stays awake for schedules."""
        return bool(self._schedules) and await FOLLOWING.do(self._lease.lock, _SCHEDULING)

    async def _sleep(self) -> None:
        """Stop DBOS, whose threads poll all the time, until there is work."""
        await FOLLOWING.do(self._lease.listen, WORK)
        await FOLLOWING.do(_stop_dbos, 0.0)
        for task in self._turns:  # a turn may have started while DBOS was stopping
            task.cancel()
        await asyncio.gather(*self._turns, return_exceptions=True)
        await FOLLOWING.do(self._requeue, [self.id])

    async def _take_over(self, workers: list[str]) -> None:
        """Requeue the jobs of dead workers; fail those whose workers died too often."""
        failed = list[dbos.WorkflowStatus]()

        def requeue(dead: list[str]) -> None:
            failed.extend(self._requeue(dead, deaths=1))

        if workers:
            await FOLLOWING.do(self._lease.take_over, workers, requeue)
        for workflow in failed:
            assert workflow.input is not None
            with suppress(UnknownId):
                reference = await self._database.find(*workflow.input["args"])
                if reference is not None:
                    await self._fail(reference, f"its worker died {_MAX_DEATHS} times")
            with wrapped_errors():
                await FOLLOWING.do(self._client.cancel_workflow, workflow.workflow_id)
            self._store.notify(bytes.fromhex(workflow.workflow_id), ENDED)

    def _requeue(self, workers: list[str], deaths: int = 0) -> list[dbos.WorkflowStatus]:
        """Requeue the jobs of workers, and return those that are to fail instead."""
        failed, queued = list[dbos.WorkflowStatus](), defaultdict[str | None, list[str]](list)
        with wrapped_errors():
            pending = self._list(executor_id=workers, status="PENDING", load_input=deaths > 0)
            if deaths:
                logger.warning("%d workers died: %d jobs are taken over", len(workers), len(pending))
            for workflow in pending:
                count = (workflow.attributes or {}).get(_DEATHS, 0) + deaths
                if deaths:
                    self._client.update_workflow_attributes(
                        workflow.workflow_id, {_DEATHS: count}, merge=True
                    )
                if deaths and count >= _MAX_DEATHS and workflow.name == TURN:
                    failed.append(workflow)
                else:
                    queued[workflow.queue_name].append(workflow.workflow_id)
            for queue, ids in queued.items():
                self._client.resume_workflows(ids, queue_name=queue)
        return failed

    def _sweep(self) -> None:
        """Remove old workflows of DBOS, old pieces, and workers that have long been dead."""
        before = datetime.fromtimestamp(now() - self._keep, UTC).isoformat()
        with wrapped_errors():
            self._lease.sweep()
            remove_pieces(self._store)
            while ended := self._list(status=_ENDED, completed_before=before, limit=_MAX_SWEPT):
                self._client.delete_workflows([workflow.workflow_id for workflow in ended])

    def _list(self, *, load_input: bool = False, **filters: Any) -> list[dbos.WorkflowStatus]:
        return self._client.list_workflows(load_input=load_input, load_output=False, **filters)
