"""Giving free what was deleted from tables of PostgreSQL, once nobody can read it there any more."""

import time
from typing import TYPE_CHECKING

from quire.errors import StoreFailed

if TYPE_CHECKING:
    from quire.stores.postgres_link import Link

PATIENCE = 10.0
"""How long who wipes waits for transactions of others, in seconds."""

_MOMENT = 0.05
"""How long who does not wait does all the same: so long do the appends take that are under way."""

_NAP = 0.01

# All that is committed by now has a lesser number than this.
_NOW = "SELECT pg_snapshot_xmax(pg_current_snapshot())::xid::text"
# Who sees the rows of an earlier moment keeps them, by the same rules as those of VACUUM: whoever is in this
# database, or copies the whole server, but not another VACUUM.
_STILL_SEEN = """
    SELECT EXISTS (SELECT FROM (
        SELECT unnest(ARRAY[backend_xid, backend_xmin]) AS since FROM pg_stat_activity
        WHERE coalesce(datname, current_database()) = current_database() AND pid <> pg_backend_pid()
            AND pid NOT IN (SELECT pid FROM pg_stat_progress_vacuum)
        UNION ALL SELECT transaction FROM pg_prepared_xacts WHERE database = current_database()
        UNION ALL SELECT xmin FROM pg_replication_slots) AS seeing
    WHERE age(since) > age(%s::xid))"""


def wipe(link: "Link", tables: str, *, waits: bool = True) -> None:
    """Vacuum tables as soon as no transaction sees what was deleted from them; `StoreFailed` where one stays.

    VACUUM itself says nothing of rows that it had to leave.
    """
    now = _one(link, _NOW)
    until = time.monotonic() + (PATIENCE if waits else _MOMENT)
    while _one(link, _STILL_SEEN, now):
        if time.monotonic() > until:
            raise StoreFailed(
                "a transaction of another is open in the database since before: "
                "what was forgotten may still be read in it"
            )
        time.sleep(_NAP)
    # To shorten the files it would wait for whoever has only looked into a table.
    vacuum = f"VACUUM (TRUNCATE {'on' if waits else 'off'}) {tables}"
    link.run(lambda connection: connection.execute(vacuum.encode()), _nothing)


def _one(link: "Link", query: str, *values: object) -> object:
    row = link.run(lambda connection: connection.execute(query.encode(), values).fetchone(), _nothing)
    return row[0] if row else None


def _nothing() -> None:
    """What is asked for again if the connection was lost may simply be asked for again."""
