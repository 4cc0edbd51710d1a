"""The tables of the PostgreSQL store."""

from typing import Any

from quire.errors import StoreDamaged, StoreFailed
from quire.stores.link import Connection, psycopg
from quire.stores.store import check_version

VERSION = 8
"""The version of the tables, which is in the table `quire.about`."""

_LOCK = 0x51756972
"""The advisory lock for changes of the tables."""

# The address of a conversation is a hash, since names can be too long for an index. Without STATISTICS 0 the
# server would keep samples of content for its query plans, also after the content is removed.
_LOGS = f"""
    CREATE SCHEMA IF NOT EXISTS quire;
    CREATE TABLE quire.about (version integer NOT NULL);
    INSERT INTO quire.about VALUES ({VERSION});
    CREATE TABLE quire.conversations (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        address bytea NOT NULL UNIQUE, scope text NOT NULL, name text NOT NULL, version bigint NOT NULL,
        has_jobs boolean NOT NULL);
    CREATE INDEX conversations_with_jobs ON quire.conversations (number) WHERE has_jobs;
    CREATE INDEX conversations_of_scope ON quire.conversations (scope);
    CREATE TABLE quire.entries (
        conversation bigint, version bigint, stream text NOT NULL, body bytea NOT NULL, sum bigint NOT NULL,
        PRIMARY KEY (conversation, version));
    CREATE TABLE quire.checkpoints (
        conversation bigint, part integer, version bigint NOT NULL, needs bigint[] NOT NULL,
        body bytea NOT NULL, sum bigint NOT NULL, PRIMARY KEY (conversation, part));
    ALTER TABLE quire.checkpoints ALTER needs SET STORAGE EXTERNAL, ALTER body SET STORAGE EXTERNAL;
    ALTER TABLE quire.entries ALTER body SET STATISTICS 0;
    ALTER TABLE quire.checkpoints ALTER needs SET STATISTICS 0, ALTER body SET STATISTICS 0;
    ALTER TABLE quire.conversations ALTER scope SET STATISTICS 0, ALTER name SET STATISTICS 0"""

# Leases of watchers; workers that run turns; pieces of answers that are being written. A server that crashed
# empties unlogged tables: their rows can all be lost without harm.
_WORKING = """
    CREATE UNLOGGED TABLE quire.watchers (
        address bytea, listener text, until timestamptz NOT NULL, PRIMARY KEY (address, listener));
    CREATE TABLE quire.workers (id text PRIMARY KEY, seen timestamptz NOT NULL, state text NOT NULL);
    CREATE UNLOGGED TABLE quire.pieces (
        job text, number bigint, address bytea NOT NULL, body bytea NOT NULL,
        at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (job, number));
    CREATE INDEX pieces_at ON quire.pieces (at);
    CREATE INDEX pieces_of ON quire.pieces (address);
    ALTER TABLE quire.pieces ALTER body SET STATISTICS 0"""


def are_missing(connection: Connection[Any]) -> bool:
    """Whether our tables are missing; an error if another application or version made the schema."""
    names = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'quire'").fetchall()
    if not names:
        return True
    if ("about",) not in names:
        raise StoreDamaged(
            "the schema quire of this database is another application's, and was left as it is"
        )
    versions = [version for (version,) in connection.execute("SELECT version FROM quire.about")]
    check_version("the database", min(versions, default=0), VERSION)
    return False


def create(connection: Connection[Any]) -> bool:
    """Create the tables if they are missing, and return whether this call did. Processes may race."""
    if not are_missing(connection):
        return False
    try:
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
            is_first = are_missing(connection)
            if is_first:
                connection.execute(f"{_LOGS};{_WORKING}".encode())
            return is_first
    except psycopg.errors.InsufficientPrivilege as refused:
        raise StoreFailed(
            "the database has no tables yet, and this role may not create them: "
            "run `quire migrate` with the address of a role that may"
        ) from refused
