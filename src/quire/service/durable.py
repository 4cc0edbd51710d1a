"""Jobs that are accepted here and done by workers, on any machine: DBOS orders the work, in PostgreSQL.

A job is in the log of its conversation, and the order to do it in a queue of DBOS; both are written in one
transaction. The order holds digests, and neither names nor words.
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
from quire.service.runner import Accepted, Address, Shared, Told
from quire.session import Job, Session, accept_job, log_of, open_log, parts_of, version_before_job
from quire.stores import Sealed
from quire.stores.threads import FOLLOWING, STORE

try:
    import dbos as dbos
    import sqlalchemy as sqlalchemy
    from sqlalchemy.exc import SQLAlchemyError

    from quire.service.lease import CANCEL
    from quire.service.words import COUNTS, ENDED, read_words
    from quire.stores.link import Connection
    from quire.stores.postgres import PostgresStore, address_of
except ImportError as missing:
    raise MissingExtra("dbos", "durable") from missing

logger = logging.getLogger("quire.service")

QUEUE, TURN = "quire-turns", "quire-turn"
"""The queue of DBOS, and the name of its workflow."""

APPLICATION, VERSION = "quire", "1"
"""What DBOS knows the workflows by. Fixed, so that no release of anything leaves jobs behind."""

_COUNTED = 1.0
"""Seconds between two counts of the jobs that wait or run."""

WORK = "quire_work"
"""The channel on which workers that sleep are woken."""

# The database's own verb, for the transactions of others: it is the interface that DBOS keeps stable.
_ENQUEUE = """
    SELECT dbos.enqueue_workflow(%(workflow)s, %(queue)s, %(arguments)s::text[]::json[],
        workflow_id => %(id)s, priority => %(priority)s::int, queue_partition_key => %(partition)s,
        delay_until_epoch_ms => %(delay_until)s::bigint)"""
_WAITING = "SELECT count(*) FROM dbos.workflow_status WHERE queue_name = %s AND status = ANY(%s)"


class Reference(NamedTuple):
    """A job: where it is, in which log. In the tables of DBOS there are digests alone, which name nobody."""

    agent: str
    scope: str
    conversation: str
    job: str

    @property
    def id(self) -> str:
        """The id of its workflow: the same job twice is one workflow."""
        return sha256(msgspec.json.encode(self)).hexdigest()[:40]

    @property
    def key(self) -> bytes:
        """What it is watched by."""
        return bytes.fromhex(self.id)

    @property
    def address(self) -> bytes:
        """What its conversation is found by: one job of it at a time is done."""
        return address_of(Address(*self[:3]).place)


class Database:
    """The PostgreSQL of a node: the queue of DBOS is beside the logs, for their transactions."""

    def __init__(self, node: Node) -> None:
        store = node.store.inside if isinstance(node.store, Sealed) else node.store
        if not isinstance(store, PostgresStore):
            raise InvalidValue("durable turns need PostgreSQL: Node(store='postgresql://…')")
        self.node, self.store = node, store
        # DBOS logs as the application does, not to the terminal.
        logging.getLogger("dbos").addHandler(logging.NullHandler())

    def migrate(self) -> None:
        """Make the tables of DBOS, or bring them up to date."""
        with guarded():
            dbos.DBOS.migrate(self.store.link.url)

    async def find(self, address: str, job: str) -> Reference | None:
        """The job of an order, if it has not ended; its conversation may have been removed."""
        place = await STORE.do(self.store.place_of, bytes.fromhex(address))
        if place is None:
            return None
        where = Address.of(place)
        session = await STORE.do(self.node.session, *where)
        await session.aio.refresh()
        found = (Reference(*where, one.id) for one in session.jobs.pending())
        return next((one for one in found if one.id == job), None)

    def accept(self, reference: Reference, job: Job, *, wakes: bool = True) -> Accepted:
        """Keep a job in its log and in the queue, both or neither; `wakes` workers that sleep."""
        try:
            return self._accept(reference, job, wakes)
        except StoreFailed:  # connections were lost; should it be kept already, it is known by its id
            return self._accept(reference, job, wakes)

    def _accept(self, reference: Reference, job: Job, wakes: bool) -> Accepted:
        place = Address(*reference[:3]).place
        session = Session(open_log(self.node.store, place, catches_up=False))
        log = log_of(session)

        def keep(connection: Connection[Any]) -> int:
            with connection.transaction(), self.store.joining(connection):
                log.catch_up()
                if (known := version_before_job(log, job.id)) is not None:
                    return known  # both were kept when it was sent first
                version = accept_job(parts_of(session).writer, job)
                connection.execute(_ENQUEUE, _order(reference, job, version))
                if wakes:
                    connection.execute(f"NOTIFY {WORK}".encode())
                return version

        with log.lock:  # nobody here takes it for kept before it is
            log.flush()  # what a turn of this process has staged is no part of the transaction
            try:
                return Accepted(self.store.link.run(keep), session)
            except BaseException:
                with suppress(StoreError):
                    log.catch_up()  # it knows a job that was not kept
                raise


@contextmanager
def guarded() -> Generator[None, None, None]:
    """Turn errors of DBOS's side of the database into ours; their words may hold content."""
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
        self._signals = self._database.store.listener
        self._signals.add_query(COUNTS)

    async def submit(self, agent: str, scope: str, conversation: str, job: Job) -> Accepted:
        """See `Runner.submit`."""
        reference = Reference(agent, scope, conversation, job.id)
        wakes = self._load == 0  # else no worker sleeps
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
    ) -> AsyncGenerator[Told, None]:
        """See `Runner.deltas`."""
        reference, is_open = Reference(agent, scope, conversation, job_id), True
        with self._watching(reference) as wake:
            while is_open:
                await wake.wait()
                wake.clear()
                has_ended = self._signals.count(reference.key) == ENDED
                read = partial(read_words, self._database.store, reference.id, after)
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
            while self._signals.count(reference.key) != ENDED:
                has_waited = True
                wake.clear()
                await wake.wait()
        return has_waited

    @contextmanager
    def _watching(self, reference: Reference) -> Generator[asyncio.Event]:
        """An event that is set once it is watched, and whenever a job has told something or has ended."""
        loop, wake = asyncio.get_running_loop(), asyncio.Event()

        def changed() -> None:
            with suppress(RuntimeError):  # the loop may be closed by now
                loop.call_soon_threadsafe(wake.set)

        unwatch = self._signals.add(reference.key, changed)
        try:
            yield wake
        finally:
            unwatch()

    def load(self) -> int:
        """See `Runner.load`: all jobs of the queue, as they were counted last."""
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
        def counted(connection: Any) -> int:
            return int(connection.execute(_WAITING, [QUEUE, ["ENQUEUED", "PENDING"]]).fetchone()[0])

        while True:
            try:
                self._load = await STORE.do(self._database.store.link.run, counted)
            except StoreError as fault:
                logger.warning("the jobs are not counted: %s", fault)
            await asyncio.sleep(_COUNTED)


def _order(reference: Reference, job: Job, version: int) -> dict[str, Any]:
    """The order to do a job; the log gives the order of jobs, as clocks of machines differ."""
    return {
        "workflow": TURN,
        "queue": QUEUE,
        "arguments": [msgspec.json.encode(part).decode() for part in (reference.address.hex(), reference.id)],
        "id": reference.id,
        "priority": version + 1,
        "partition": reference.address.hex(),
        "delay_until": ceil(job.not_before * 1e3) if job.not_before > now() else None,
    }
