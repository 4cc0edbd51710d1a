"""Pieces of running answers, which workers pass to services through a table.

The table is temporary: a complete answer is in the log, and its pieces are removed after some minutes.
"""

import asyncio
import logging

import msgspec

from quire.agent import Delta
from quire.errors import StoreError
from quire.service.runner import Kind, Piece, piece_of
from quire.session import Outcome
from quire.stores.postgres import PostgresStore
from quire.stores.threads import STORE

logger = logging.getLogger("quire.service")

_BATCH_SECONDS = 0.1
"""Pieces within this time are written together."""

_MAX_BATCHES = 100
"""The number of batches that one query reads."""

_KEEP_SECONDS = 600
"""The age at which pieces are removed."""

ENDED = -1
"""What watchers of a job that has ended read in place of the number of its last piece."""

# Another worker may have written the first pieces. A worker that lost its lease writes nothing, and no worker
# writes for a conversation that was removed.
_WRITE = """
    WITH written AS (
        INSERT INTO quire.pieces (job, number, address, body)
        SELECT %(job)s, coalesce(max(number), 0) + %(count)s, %(address)s, %(body)s
        FROM quire.pieces WHERE job = %(job)s
        HAVING EXISTS (SELECT FROM quire.workers WHERE id = %(worker)s AND state = 'alive')
            AND EXISTS (SELECT FROM quire.conversations WHERE address = %(address)s)
        RETURNING job, number)
    SELECT pg_notify('quire_' || listener, job || ' ' || number) FROM written, quire.watchers
    WHERE address = decode(job, 'hex') AND until > now()"""
# Only the keys of jobs have this length.
COUNTS = f"""
    SELECT key, CASE WHEN status IN ('ENQUEUED', 'PENDING', 'DELAYED')
        THEN coalesce((SELECT max(number) FROM quire.pieces WHERE job = workflow_uuid), 0) ELSE {ENDED} END
    FROM unnest(%s::bytea[]) AS key LEFT JOIN dbos.workflow_status ON workflow_uuid = encode(key, 'hex')
    WHERE length(key) = 20"""
# A workflow ends after all its pieces were written, so a reader that finds it ended finds them too.
_READ = f"""
    SELECT is_open, piece.number, piece.body
    FROM (SELECT EXISTS (SELECT FROM dbos.workflow_status WHERE workflow_uuid = %(job)s
        AND status IN ('ENQUEUED', 'PENDING', 'DELAYED'))) AS workflow (is_open)
    LEFT JOIN LATERAL (SELECT number, body FROM quire.pieces WHERE job = %(job)s AND number > %(after)s
        ORDER BY number LIMIT {_MAX_BATCHES}) AS piece ON true
    ORDER BY piece.number"""
_REMOVE = "DELETE FROM quire.pieces WHERE at < now() - make_interval(secs => %s)"

_pieces_in = msgspec.json.Decoder(list[tuple[Kind, str]]).decode


class PieceWriter:
    """Writes the pieces of one job in batches."""

    def __init__(self, store: PostgresStore, worker: str, address: bytes, job: str) -> None:
        self._store, self._key = store, {"worker": worker, "address": address, "job": job}
        self._pieces: list[tuple[Kind, str]] = []
        self._writing: asyncio.Task[None] | None = None

    def add(self, delta: Delta | Outcome) -> None:
        """Add the piece of a delta to the next batch."""
        piece = piece_of(0, delta)
        if piece is None:
            return
        if self._pieces and self._pieces[-1][0] == piece.kind in ("words", "thoughts"):
            self._pieces[-1] = piece.kind, self._pieces[-1][1] + piece.text
        else:
            self._pieces.append((piece.kind, piece.text))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.ensure_future(self._write())

    async def end(self) -> None:
        """Wait until all is written."""
        if self._writing is not None:
            await asyncio.wait([self._writing])

    async def _write(self) -> None:
        while self._pieces:
            await asyncio.sleep(_BATCH_SECONDS)
            pieces, self._pieces = self._pieces, []
            await STORE.do(self._insert, pieces)

    def _insert(self, pieces: list[tuple[Kind, str]]) -> None:
        row = {**self._key, "count": len(pieces), "body": msgspec.json.encode(pieces)}
        try:
            self._store.link.run(lambda connection: connection.execute(_WRITE, row))
        except StoreError as fault:  # the log will have the whole answer
            logger.warning("pieces of an answer could not be written: %s", fault)


def read_pieces(store: PostgresStore, job: str, after: int) -> tuple[bool, list[Piece], bool]:
    """Whether a job runs, its next pieces after a number, and whether the table may have more of them."""
    values = {"job": job, "after": after}
    rows = store.link.run(lambda connection: connection.execute(_READ.encode(), values).fetchall())
    batches = [(last, _pieces_in(body)) for _, last, body in rows if body is not None]
    pieces = [
        Piece(number, *piece)
        for last, batch in batches
        for number, piece in enumerate(batch, last - len(batch) + 1)
        if number > after
    ]
    return rows[0][0], pieces, len(rows) == _MAX_BATCHES


def remove_pieces(store: PostgresStore) -> None:
    """Remove pieces that were written some minutes ago."""
    store.link.run(lambda connection: connection.execute(_REMOVE, [_KEEP_SECONDS]))
