"""What keeping costs: durable appends, stored turns, merges, turns beside a summary, many writers at once.

Usage: python bench/keeping.py [--sizes N ...] [--appends N] [--rounds N] [--writers N] [--each N]

Each figure is the best of several rounds, with the median beside it; the floor is sqlite3 with one INSERT of
the same bytes at the same durability, made and encoded by msgspec, taken in turns with ours in one run.

Then several processes write at once, on one conversation and on as many, on SQLite and on PostgreSQL (one of
this machine, where that is possible): nothing may be lost, nothing double, and every reader sees one order.
"""

import argparse
import asyncio
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

import page
from crash import postgres
from quire import Budget, Message, Session, Template
from quire.compactors import Summarize
from quire.items import JSON
from quire.models import Scripted
from quire.sections import History, Instructions
from quire.stores import Store
from transcript import items, messages

SIZES = (100, 1_000, 10_000, 100_000)
WORDS = "And which of them are still open, apart from the one that we spoke about? " * 10
SYNCHRONOUS = {"process": "NORMAL", "power": "FULL"}
MERGED = (500, 32_000)
"""Lengths of a conversation that a fork of two turns is merged into."""

_SHORTER = 6
_INSERT = "INSERT INTO kept (conversation, body) VALUES ('one', ?)"


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
        store = Store.open(Path(folder, "ours.db"), durable=durable)
        session = Session.open("bench/one", store=store)
        session.append(*filled)

        def append_raw() -> None:
            for _ in range(each):
                raw.execute(_INSERT, (encode(Message("user", WORDS)),))

        def append_ours() -> None:
            for _ in range(each):
                session.user(WORDS)

        floor, ours = list[float](), list[float]()
        for _ in range(rounds * _SHORTER):  # short rounds, taken in turns: some of them are undisturbed
            floor.append(timed(append_raw) / each * 1e6)
            ours.append(timed(append_ours) / each * 1e6)
        store.close()
        raw.close()
    return size, durable, spread(floor), spread(ours), min(ours) / min(floor)


def stored_turn(size: int, rounds: int) -> tuple[object, ...]:
    """Milliseconds of a turn on a stored conversation: append, open, fit to a tenth, render.

    Warm is another request in a process that has read the conversation before; cold is a process that reads
    it for the first time.
    """
    filled = items(messages(size))
    counted = Session.open("bench/one", store="memory:")
    counted.append(*filled)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "ours.db")
        store = Store.open(path)
        Session.open("bench/one", store=store).append(*filled)
        whole = Template(History(), budget=Budget(window=10**9), model="gpt-5.6")
        tenth = counted.build(whole).receipt.tokens // 10
        template = Template(
            Instructions("Be brief."), History(), budget=Budget(window=tenth), model="gpt-5.6"
        )

        def turn(cold: bool) -> None:
            with Store.open(path) if cold else nullcontext(store) as at:  # a new store has read nothing
                Session.open("bench/one", store=at).user(WORDS)
                Session.open("bench/one", store=at).build(template).render("openai")

        turn(False)
        warm = [timed(lambda: turn(False)) * 1e3 for _ in range(rounds * 4)]
        cold = [timed(lambda: turn(True)) * 1e3 for _ in range(rounds)]
        store.close()
    return size, spread(warm), spread(cold)


def beside_a_summary(seconds: float) -> str:
    """The slowest turn while a model takes its time over a summary, and without one; milliseconds."""
    template = Template(Instructions("Be brief."), History(), budget=Budget(window=128_000), model="gpt-5.6")

    async def slow(_: Any) -> str:
        await asyncio.sleep(seconds)
        return "They talked."

    async def talk(store: Store, name: str, **options: Any) -> tuple[float, float, int]:
        session = Session.open(f"bench/{name}", store=store, **options)
        session.append(*items(messages(1_000)))
        taken, until = [], time.perf_counter() + seconds * 1.2
        while time.perf_counter() < until:
            start = time.perf_counter()
            session.user("And then?")
            (await session.aio.build(template)).render("openai")
            session.assistant("Nothing.")
            taken.append(time.perf_counter() - start)
            await asyncio.sleep(0.005)
        await session.aio.close()
        done = session.compaction.metrics.completed
        return max(taken[1:]) * 1e3, median(taken) * 1e3, done

    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder, "ours.db")) as store:
        without = asyncio.run(talk(store, "without"))
        compactor = Summarize(floor=900, ceiling=1_000)
        beside = asyncio.run(talk(store, "beside", compactor=compactor, model=Scripted([slow], repeat=True)))
    figures = [f"slowest {slowest:.2f}, median {middle:.2f}" for slowest, middle, _ in (without, beside)]
    return f"Turns in ms: {figures[0]}; beside {beside[2]} summary of {seconds:g} s: {figures[1]}."


def merging(size: int, rounds: int) -> tuple[object, ...]:
    """Milliseconds to merge a fork that saw two turns and added two; again while another process writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "ours.db")
        with Store.open(path) as store, Store.open(path) as beside:
            session = Session.open("bench/one", store=store)
            session.append(*items(messages(size)))
            other = Session.open("bench/one", store=beside)

            def merged(raced: bool) -> float:
                child = session.fork(f"x{session.version}", turns=2)
                for turn in range(2):
                    child.user(f"Check {turn}.")
                    child.assistant(f"It is {turn}.")
                if raced:
                    other.user("Meanwhile.")
                return timed(lambda: session.merge(child)) * 1e3

            alone = [merged(False) for _ in range(rounds * 4)]
            raced = [merged(True) for _ in range(rounds * 4)]
    return size, spread(alone), spread(raced)


# Many writers at once


def write(ready: Any, url: str, conversation: str, number: int, appends: int) -> None:
    session = Session.open(conversation, store=url)
    ready.wait()
    for n in range(appends):
        session.append(Message("user", f"{number} {n} {WORDS}"))


def together(url: str, conversations: int, options: argparse.Namespace) -> float:
    """Seconds that all writers take, from the moment that they all are ready."""
    fork = get_context("fork")
    ready = fork.Barrier(options.writers + 1)
    started = [
        fork.Process(
            target=write, args=(ready, url, f"bench{conversations}/{n % conversations}", n, options.each)
        )
        for n in range(options.writers)
    ]
    for one in started:
        one.start()
    ready.wait()
    start = time.perf_counter()
    for one in started:
        one.join()
    if any(one.exitcode for one in started):
        raise SystemExit("a writer failed")
    return time.perf_counter() - start


def checked(url: str, conversations: int, writers: int, appends: int) -> tuple[int, int, int]:
    """What readers find: lost, double, and whether two of them see the same order."""
    lost = double = disorder = 0
    for conversation in range(conversations):
        orders = []
        for _ in range(2):
            with Store.open(url) as store:
                session = Session.open(f"bench{conversations}/{conversation}", store=store)
                orders.append([" ".join(item.text.split(" ", 2)[:2]) for item in session.view()])
        wanted = {
            f"{w} {n}" for w in range(writers) if w % conversations == conversation for n in range(appends)
        }
        lost += len(wanted - set(orders[0]))
        double += len(orders[0]) - len(set(orders[0]))
        disorder += orders[0] != orders[1]
    return lost, double, disorder


def all_writers(options: argparse.Namespace) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    with tempfile.TemporaryDirectory() as folder, postgres(options.postgres) as server:
        for conversations in (1, options.writers):
            urls = {"SQLite": str(Path(folder, f"{conversations}.db"))}
            if server is not None:
                urls["PostgreSQL"] = server
            for name, url in urls.items():
                page.progress(f"writers on {name}, {conversations} conversations")
                total, seconds = options.writers * options.each, together(url, conversations, options)
                found = checked(url, conversations, options.writers, options.each)
                rows.append((name, conversations, total, total / seconds, *found))
    return rows


def main() -> None:
    parser = page.options(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--appends", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--each", type=int, default=1_000, help="appends of each writer")
    parser.add_argument("--postgres", metavar="URL")
    options = parser.parse_args()
    rows = []
    for size in options.sizes:
        for durable in SYNCHRONOUS:
            page.progress(f"appends after {size:,}, {durable}")
            rows.append(appends(size, durable, options.appends, options.rounds))
    turns = [stored_turn(size, options.rounds) for size in options.sizes if size <= 10_000]
    merged = [merging(size, options.rounds) for size in MERGED]
    parts = [
        page.table(("N", "durable", "raw sqlite3, µs", "ours, µs", "ratio"), rows, left=2),
        page.table(("N", "stored turn, warm, ms", "cold, ms"), turns),
        page.table(("N", "merge of a fork of two turns, ms", "after a lost race, ms"), merged),
        beside_a_summary(2.0),
    ]
    writers = all_writers(options)
    head = ("store", "conversations", "appends", "a second", "lost", "double", "other order")
    text = {"keeping": "\n\n".join(parts), "writers": page.table(head, writers)}
    page.report(options, text, {"appends": rows, "turns": turns, "merging": merged, "writers": writers})
    if any(any(row[-3:]) for row in writers):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
