"""Appends to PostgreSQL by several processes, and the bytes that conversations take.

Usage: python bench/capacity.py [--processes N …] [--seconds N] [--json] [--page FILE]

Each process appends messages of 800 characters, one at a time, to conversations of its own, each of which has
100 in the end. The server waits for its disk, as it does by default. `service.py` measures whole turns.
"""

import multiprocessing
import time
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

import page
from quire import Message, Session
from quire.stores import Store
from service import server, server_cpu, sizes

MESSAGES = 100
"""Messages of one conversation."""

TEXT = ("the order of last week still waits for a refund, and the second shipment was moved; " * 10)[:800]


def append(url: str, process: int, seconds: float, counts: Any) -> None:
    """Append to conversations, one after the other, and say how often, and in which CPU time."""
    with Store.open(url) as store:
        end, count = time.monotonic() + seconds, 0
        began = time.process_time()
        while time.monotonic() < end:
            if count % MESSAGES == 0:
                session = Session.open(scope=f"capacity-{process}", conversation=str(count), store=store)
            session.append(Message("assistant" if count % 2 else "user", TEXT))
            count += 1
        counts.put((count, time.process_time() - began))


def measured(url: str, processes: int, seconds: float) -> dict[str, float]:
    """Appends of several processes side by side."""
    context = multiprocessing.get_context("spawn")
    counts, before = context.Queue(), server_cpu(url)
    begun = [
        context.Process(target=append, args=(url, processes * 100 + nth, seconds, counts))
        for nth in range(processes)
    ]
    for one in begun:
        one.start()
    told = [counts.get() for _ in begun]
    for one in begun:
        one.join()
    total = sum(count for count, _ in told)
    return {
        "processes": processes,
        "appends a second": total / seconds,
        "CPU ms of a client": sum(cpu for _, cpu in told) / total * 1_000,
        "CPU ms of the server": (server_cpu(url) - before) / total * 1_000,
    }


def bytes_kept(url: str) -> dict[str, float]:
    """What each conversation and each message take in the tables."""
    with psycopg.connect(make_conninfo(url), autocommit=True) as connection:
        row = connection.execute("SELECT count(*), sum(version) FROM quire.conversations").fetchone()
    assert row is not None
    found = sizes(url)
    names = ("entries", "checkpoints", "conversations")
    kept = {name: found[f"quire.{name}"] / int(row[1]) for name in names}
    return {**kept, "messages of a conversation": int(row[1]) / int(row[0])}


def main() -> None:
    parser = page.options(__doc__)
    parser.add_argument("--processes", type=int, nargs="*", default=[1, 2, 4, 8])
    parser.add_argument("--seconds", type=float, default=8.0)
    given = parser.parse_args()
    with server() as url:
        Store.open(url).close()
        rows = [measured(url, count, given.seconds) for count in given.processes]
        kept = bytes_kept(url)
    appends = page.table(list(rows[0]), [list(row.values()) for row in rows], left=0)
    text = (
        f"A message of 800 characters takes {kept['entries']:,.0f} bytes in `quire.entries` with its index, "
        f"{kept['checkpoints']:,.0f} in `quire.checkpoints` and {kept['conversations']:,.0f} in "
        f"`quire.conversations`, where a conversation has {kept['messages of a conversation']:,.0f}."
    )
    page.report(given, {"capacity": f"{appends}\n\n{text}"}, {"appends": rows, "bytes": kept})


if __name__ == "__main__":
    main()
