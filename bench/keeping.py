"""What keeping costs: durable appends beside plain sqlite3 and a peer, and turns on a stored conversation.

Usage: python bench/keeping.py [--peers PYTHON] [--sizes N ...] [--appends N] [--rounds N] [--page FILE]

Each figure is the best of several rounds, with the median beside it; the floor is sqlite3 with one INSERT of
the same bytes at the same durability, made and encoded by msgspec, taken in turns with ours in one run.
"""

import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

import page
from quire import Budget, Message, Session, Template
from quire.items import JSON
from quire.sections import History, Instructions
from quire.stores import SQLiteStore, Store
from transcript import items, messages

SIZES = (100, 1_000, 10_000, 100_000)
LARGEST_OF_A_PEER = 10_000
WORDS = "And which of them are still open, apart from the one that we spoke about? " * 10
SYNCHRONOUS = {"process": "NORMAL", "power": "FULL"}
_SHORTER = 6
"""Rounds are so much shorter than what is asked for; each has some checkpoints."""

_INSERT = "INSERT INTO kept (conversation, body) VALUES ('one', ?)"


class _WithoutCheckpoints(SQLiteStore):
    has_checkpoints = False


def timed(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def spread(times: list[float]) -> str:
    """The best and, in brackets, the median."""
    return f"{page.number(min(times))} ({page.number(median(times))})"


def raw_store(path: Path, durable: str, filled: list[bytes]) -> sqlite3.Connection:
    """The floor: plain sqlite3."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA synchronous = {SYNCHRONOUS[durable]}")
    connection.execute("CREATE TABLE kept (id INTEGER PRIMARY KEY, conversation TEXT, body BLOB)")
    connection.execute("BEGIN")
    connection.executemany(_INSERT, ((body,) for body in filled))
    connection.execute("COMMIT")
    return connection


def appends(size: int, durable: Any, count: int, rounds: int) -> tuple[object, ...]:
    """Microseconds of one durable append after `size` messages: a row of the table."""
    filled, each, encode = items(messages(size)), count // _SHORTER, msgspec.json.Encoder().encode
    with tempfile.TemporaryDirectory() as folder:
        raw = raw_store(Path(folder, "raw.db"), durable, [JSON.encode_item(item) for item in filled])
        stores = (SQLiteStore(Path(folder, "ours.db"), durable=durable),)
        stores += (_WithoutCheckpoints(Path(folder, "without.db"), durable=durable),)
        sessions = [Session.open("bench/one", store=store) for store in stores]
        for session in sessions:
            session.append(*filled)

        def append_raw() -> None:
            for _ in range(each):
                raw.execute(_INSERT, (encode(Message("user", WORDS)),))

        def append_to(session: Session) -> None:
            for _ in range(each):
                session.user(WORDS)

        ways = (append_raw, *(partial(append_to, session) for session in sessions))
        taken, spent = [list[float]() for _ in ways], [list[float]() for _ in ways]
        for _ in range(rounds * _SHORTER):  # short rounds, taken in turns: some of them are undisturbed
            for number, way in enumerate(ways):
                cpu = time.process_time()
                taken[number].append(timed(way) / each * 1e6)
                spent[number].append(time.process_time() - cpu)
        for one in (*stores, raw):
            one.close()
    return size, durable, *map(spread, taken), min(taken[1]) / min(taken[0]), min(spent[1]) / min(spent[2])


def stored_turn(size: int, rounds: int) -> tuple[object, ...]:
    """Milliseconds of a turn on a stored conversation that is in memory: append, fit to a tenth, render."""
    filled = items(messages(size))
    counted = Session.open("bench/one", store="memory:")
    counted.append(*filled)
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(Path(folder, "ours.db"))
        Session.open("bench/one", store=store).append(*filled)
        whole = Template(History(), budget=Budget(window=10**9), model="gpt-5.6")
        tenth = counted.build(whole).receipt.tokens // 10
        template = Template(
            Instructions("Be brief."), History(), budget=Budget(window=tenth), model="gpt-5.6"
        )

        def turn() -> None:
            Session.open("bench/one", store=store).user(WORDS)
            Session.open("bench/one", store=store).build(template).render("openai")

        turn()
        warm = [timed(turn) * 1e3 for _ in range(rounds * 4)]
        store.close()
    return size, spread(warm)


def of_a_peer(python: str | None, size: int) -> float | None:
    """Microseconds of CPU time of the Harness for one message more: a snapshot that refers to all."""
    if python is None or size > LARGEST_OF_A_PEER:
        return None
    command = [python, str(Path(__file__).with_name("harness.py")), "append", str(size)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main() -> None:
    parser = page.options(__doc__)
    parser.add_argument("--peers", metavar="PYTHON", help="the Python that has the peers")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--appends", type=int, default=3_072)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    rows = []
    for size in options.sizes:
        peer = of_a_peer(options.peers, size)
        for durable in SYNCHRONOUS:
            page.progress(f"appends after {size:,}, {durable}")
            row = appends(size, durable, options.appends, options.rounds)
            rows.append((*row, peer if durable == "process" else None))
    turns = [stored_turn(size, options.rounds) for size in options.sizes if size <= 10_000]
    head = (
        "N",
        "durable",
        "raw sqlite3, µs",
        "ours, µs",
        "without checkpoints, µs",
        "times raw",
        "CPU, times without",
        "pydantic-ai-harness, CPU µs",
    )
    parts = [page.table(head, rows, left=2), page.table(("N", "stored turn, warm, ms"), turns)]
    page.report(options, {"keeping": "\n\n".join(parts)}, {"appends": rows, "turns": turns})


if __name__ == "__main__":
    main()
