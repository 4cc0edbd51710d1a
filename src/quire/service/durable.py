"""Durable jobs: the service accepts them, and workers on any machine do them, through a queue of DBOS.

A job is recorded in the log of its conversation, and enqueued as a workflow of DBOS, in one transaction. The
workflow holds only digests: no names and no content.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager, suppress
from functools import partial
from hashlib import sha256
from math import ceil
from typing import Any, NamedTuple

import msgspec

from quire.errors import InvalidValue, MissingExtra, StoreError, StoreFailed
from quire.items import now
from quire.node import Node
from quire.service.runner import Address, Piece, Shared, Submission
from quire.session import Job, Session, accept_job, log_of, open_log, parts_of, version_before_job
from quire.stores import Sealed
from quire.stores.threads import FOLLOWING, STORE

try:
    import dbos as dbos
    import sqlalchemy as sqlalchemy
    from sqlalchemy.exc import SQLAlchemyError

    from quire.service.lease import CANCEL
    from quire.service.pieces import COUNTS, ENDED, read_pieces
    from quire.stores.link import Connection
    from quire.stores.postgres import PostgresStore, address_of
except ImportError as missing:
    raise MissingExtra("dbos", "durable") from missing

logger = logging.getLogger("quire.service")

QUEUE, TURN = "quire-turns", "quire-turn"
"""The queue of DBOS, and the name of its workflow."""

APPLICATION, VERSION = "quire", "1"
"""The application and version of the workflows. Fixed, so that a new release does the jobs of an old one."""

_COUNT_SECONDS = 1.0
"""Seconds between two counts of open jobs."""

WORK = "quire_work"
"""The channel on which sleeping workers are notified of jobs."""

# The SQL function of DBOS, for use in the caller's transaction: a stable interface.
_ENQUEUE = """
    SELECT dbos.enqueue_workflow(%(workflow)s, %(queue)s, %(arguments)s::text[]::json[],
        workflow_id => %(id)s, priority => %(priority)s::int, queue_partition_key => %(partition)s,
        delay_until_epoch_ms => %(delay_until)s::bigint)"""
_COUNT_OPEN = "SELECT count(*) FROM dbos.workflow_status WHERE queue_name = %s AND status = ANY(%s)"


class Reference(NamedTuple):
    """A job and its conversation. The tables of DBOS hold only digests of them."""

    agent: str
    scope: str
    conversation: str
    job: str

    @property
    def id(self) -> str:
        """The id of its workflow: a job that is accepted twice is one workflow."""
        return sha256(msgspec.json.encode(self)).hexdigest()[:40]

    @property
    def key(self) -> bytes:
        """The key under which its readers are notified."""
        return bytes.fromhex(self.id)

    @property
    def address(self) -> bytes:
        """The digest of its conversation. It names a partition of the queue, which runs one job at a time."""
        return address_of(Address(*self[:3]).place)


class Database:
    """The PostgreSQL database of a node, which has the logs and the queue of DBOS."""

    def __init__(self, node: Node) -> None:
        store = node.store.inside if isinstance(node.store, Sealed) else node.store
        if not isinstance(store, PostgresStore):
            raise InvalidValue("durable turns need PostgreSQL: Node(store='postgresql://…')")
        self.node, self.store = node, store
        # Without a handler, DBOS would log to the terminal.
        logging.getLogger("dbos").addHandler(logging.NullHandler())

    def migrate(self) -> None:
        """Create or upgrade the tables of DBOS."""
        with wrapped_errors():
            dbos.DBOS.migrate(self.store.link.url)

    async def find(self, address: str, job: str) -> Reference | None:
        """The job with the digests of a workflow, unless it has ended or its conversation was removed."""
        place = await STORE.do(self.store.place_of, bytes.fromhex(address))
        if place is None:
            return None
        conversation = Address.of(place)
        session = await STORE.do(self.node.session, *conversation)
        await session.aio.refresh()
        references = (Reference(*conversation, pending.id) for pending in session.jobs.pending())
        return next((reference for reference in references if reference.id == job), None)

    def accept(self, reference: Reference, job: Job, *, wakes: bool = True) -> Submission:
        """Record a job in its log and enqueue it, both or neither; `wakes` notifies sleeping workers."""
        try:
            return self._accept(reference, job, wakes)
        except StoreFailed:  # connections were lost; a job that was recorded is recognised by its id
            return self._accept(reference, job, wakes)

    def _accept(self, reference: Reference, job: Job, wakes: bool) -> Submission:
        place = Address(*reference[:3]).place
        session = Session(open_log(self.node.store, place, catches_up=False))
        log = log_of(session)

        def record(connection: Connection[Any]) -> int:
            with connection.transaction(), self.store.joining(connection):
                log.catch_up()
                if (accepted := version_before_job(log, job.id)) is not None:
                    return accepted  # the job was recorded and enqueued before
                version = accept_job(parts_of(session).writer, job)
                connection.execute(_ENQUEUE, _workflow(reference, job, version))
                if wakes:
                    connection.execute(f"NOTIFY {WORK}".encode())
                return version

        with log.lock:  # so that nobody sees the job before it is committed
            log.flush()  # staged entries of a running turn do not belong to the transaction
            try:
                return Submission(self.store.link.run(record), session)
            except BaseException:
                with suppress(StoreError):
                    log.catch_up()  # to drop the job that was rolled back
                raise


@contextmanager
def wrapped_errors() -> Generator[None, None, None]:
    """Convert errors of DBOS into ours, without their messages, which may quote content."""
    try:
        yield
    except (SQLAlchemyError, dbos.error.DBOSException) as fault:
        raise StoreFailed(f"the database of jobs failed: {type(fault).__name__}") from fault


class DurableRunner:
    """Accepts jobs, and leaves them to workers: see `Worker`, and the command `quire work`.

    The store of the node is PostgreSQL.
    """

    def __init__(self, node: Node) -> None:
        self._database = Database(node)
        self._load, self._shared = 0, Shared()
        self._counting: asyncio.Task[None] | None = None
        self._listener = self._database.store.listener
        self._listener.add_query(COUNTS)

    async def submit(self, agent: str, scope: str, conversation: str, job: Job) -> Submission:
        """See `Runner.submit`."""
        reference = Reference(agent, scope, conversation, job.id)
        wakes = self._load == 0  # with other jobs no worker sleeps
        accepted = await STORE.do(partial(self._database.accept, reference, job, wakes=wakes))
        self._load += 1
        return accepted

    async def cancel(self, session: Session, agent: str, scope: str, conversation: str, job_id: str) -> None:
        """See `Runner.cancel`."""
        await session.jobs.cancel(job_id)
        notify = f"NOTIFY {CANCEL}, '{Reference(agent, scope, conversation, job_id).id}'".encode()
        await STORE.do(self._database.store.link.run, lambda connection: connection.execute(notify))

    async def deltas(
        self, agent: str, scope: str, conversation: str, job_id: str, after: int = 0
    ) -> AsyncGenerator[Piece, None]:
        """See `Runner.deltas`."""
        reference, is_open = Reference(agent, scope, conversation, job_id), True
        with self._watching(reference) as wake:
            while is_open:
                await wake.wait()
                wake.clear()
                has_ended = self._listener.count(reference.key) == ENDED
                read = partial(read_pieces, self._database.store, reference.id, after)
                is_open, pieces, has_more = await self._shared.do((reference, after), read)
                for piece in pieces:
                    yield piece
                    after = piece.number
                is_open = has_more or (is_open and not has_ended)
                if has_more:
                    wake.set()

    async def ended(self, agent: str, scope: str, conversation: str, job_id: str) -> bool:
        """See `Runner.ended`."""
        reference, has_waited = Reference(agent, scope, conversation, job_id), False
        with self._watching(reference) as wake:
            await wake.wait()
            while self._listener.count(reference.key) != ENDED:
                has_waited = True
                wake.clear()
                await wake.wait()
        return has_waited

    @contextmanager
    def _watching(self, reference: Reference) -> Generator[asyncio.Event]:
        """An event that is set at once, and whenever a job has new pieces or has ended."""
        loop, wake = asyncio.get_running_loop(), asyncio.Event()

        def changed() -> None:
            with suppress(RuntimeError):  # the loop may be closed by now
                loop.call_soon_threadsafe(wake.set)

        unwatch = self._listener.add(reference.key, changed)
        try:
            yield wake
        finally:
            unwatch()

    def load(self) -> int:
        """See `Runner.load`: the last count of all open jobs of the queue."""
        return self._load

    async def start(self) -> None:
        """See `Runner.start`."""
        await FOLLOWING.do(self._database.migrate)
        self._counting = asyncio.ensure_future(self._count())

    async def stop(self, grace: float) -> None:
        """See `Runner.stop`. The workers go on."""
        if self._counting is not None:
            self._counting.cancel()

    async def _count(self) -> None:
        def count_open(connection: Any) -> int:
            return int(connection.execute(_COUNT_OPEN, [QUEUE, ["ENQUEUED", "PENDING"]]).fetchone()[0])

        while True:
            try:
                self._load = await STORE.do(self._database.store.link.run, count_open)
            except StoreError as fault:
                logger.warning("open jobs could not be counted: %s", fault)
            await asyncio.sleep(_COUNT_SECONDS)


def _workflow(reference: Reference, job: Job, version: int) -> dict[str, Any]:
    """The parameters of a workflow. Its priority is the version, since the clocks of machines differ."""
    return {
        "workflow": TURN,
        "queue": QUEUE,
        "arguments": [msgspec.json.encode(part).decode() for part in (reference.address.hex(), reference.id)],
        "id": reference.id,
        "priority": version + 1,
        "partition": reference.address.hex(),
        "delay_until": ceil(job.not_before * 1e3) if job.not_before > now() else None,
    }
