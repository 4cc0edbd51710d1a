"""What the transactions of a PostgreSQL are for, from the statements in the log of the server."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psycopg
from psycopg.conninfo import make_conninfo

_MARK = "@@"
_SETTINGS = {"log_line_prefix": f"{_MARK}%v %a ", "log_statement": "all", "log_parameter_max_length": "0"}

_HEAD = re.compile(rf"^{_MARK}(\d+/\d+) (\S*) LOG: +(?:statement|execute [^:]*): ", re.MULTILINE)

TOOLS, QUIRE, DBOS = "tools", "Quire", "DBOS"


class Kind(NamedTuple):
    """What a transaction is for, and how one is recognised: all patterns are found in its statements."""

    owner: str
    name: str
    patterns: tuple[str, ...]


KINDS = [
    Kind(TOOLS, "rows of the tools", (r"shop\.",)),
    Kind(QUIRE, "message accepted", (r"quire\.conversations", r"dbos\.enqueue_workflow")),
    Kind(QUIRE, "append", (r"INTO quire\.entries",)),
    Kind(QUIRE, "checkpoint", (r"INTO quire\.checkpoints",)),
    Kind(QUIRE, "watch polled and renewed", (r"INTO quire\.watchers",)),
    Kind(QUIRE, "watch polled", (r"quire\.conversations WHERE address = ANY",)),
    Kind(QUIRE, "words written", (r"INTO quire\.pieces",)),
    Kind(QUIRE, "words read", (r"FROM quire\.pieces",)),
    Kind(QUIRE, "words removed", (r"DELETE FROM quire\.pieces",)),
    Kind(QUIRE, "watchers notified", (r"pg_notify", r"quire\.watchers")),
    Kind(QUIRE, "leases", (r"quire\.workers|pg_locks|advisory",)),
    Kind(QUIRE, "read with checkpoint", (r"FROM quire\.conversations AS counted JOIN quire\.checkpoints",)),
    Kind(QUIRE, "read of versions", (r"SELECT version FROM quire\.entries",)),
    Kind(QUIRE, "read of entries", (r"quire\.entries",)),
    Kind(QUIRE, "read of the version", (r"SELECT number, version FROM quire\.conversations",)),
    Kind(QUIRE, "jobs counted", (r"count\(\*\) FROM dbos\.workflow_status WHERE queue_name = \$",)),
    Kind(QUIRE, "notified", (r"pg_notify",)),
    Kind(QUIRE, "other", (r"quire\.",)),
    Kind(DBOS, "jobs claimed", (r"UPDATE dbos\.workflow_status SET status=[^,]*, executor_id",)),
    Kind(DBOS, "jobs ended", (r"INTO dbos\.workflow_output",)),
    Kind(DBOS, "claimed jobs read", (r"dbos\.workflow_input",)),
    Kind(DBOS, "turn queue polled", (r"FROM dbos\.application_versions", r"WITH RECURSIVE")),
    Kind(DBOS, "internal queue polled", (r"FROM dbos\.application_versions",)),
    Kind(DBOS, "queue options read", (r"FROM dbos\.queues",)),
    Kind(DBOS, "delays polled", (r"delay_until_epoch_ms <= ",)),
    Kind(DBOS, "timeouts polled", (r"workflow_deadline_epoch_ms <= ",)),
    Kind(DBOS, "schedules polled", (r"dbos\.workflow_schedules",)),
    Kind(DBOS, "other", (r"dbos\.",)),
    Kind(QUIRE, "connections", (r"^\s*(SET|LISTEN|SELECT pg_catalog|BEGIN|ROLLBACK|SELECT 1|;)",)),
]


class Log:
    """The log of a server on this machine, from here on with every statement."""

    def __init__(self, url: str) -> None:
        with psycopg.connect(make_conninfo(url), autocommit=True) as connection:
            row = connection.execute("SHOW data_directory").fetchone()
            assert row is not None
            self._path = Path(row[0]) / "log"
            self._start = self._path.stat().st_size
            for name, value in _SETTINGS.items():
                connection.execute(f"ALTER SYSTEM SET {name} = '{value}'".encode())
            connection.execute("SELECT pg_reload_conf()")

    def counted(self) -> Counter[tuple[str, ...]]:
        """How many transactions there are: by who does it, for whom, and what for."""
        log = self._path.read_text()[self._start :]
        return Counter((application, *_kind_of(text)) for application, text in _transactions(log))


def _transactions(log: str) -> Iterator[tuple[str, str]]:
    """The application and the statements of each transaction."""
    heads = list(_HEAD.finditer(log))
    found: dict[tuple[str, str], list[str]] = {}
    for nth, head in enumerate(heads):
        end = heads[nth + 1].start() if nth + 1 < len(heads) else len(log)
        text = log[head.end() : end].split(f"\n{_MARK}", 1)[0]
        found.setdefault((head[2], head[1]), []).append(" ".join(text.split()))
    for (application, _), statements in found.items():
        yield application, "; ".join(statements)


def _kind_of(text: str) -> tuple[str, str]:
    for kind in KINDS:
        if all(re.search(pattern, text) for pattern in kind.patterns):
            return kind.owner, kind.name
    return "unknown", text[:80]
