"""What keeping costs: durable appends, stored turns, merges, turns beside a summary, many writers at once.

Usage: python bench/keeping.py [--sizes N ...] [--appends N] [--rounds N] [--writers N] [--each N]

Each figure is the best of several rounds, with the median beside it; the floor is sqlite3 with one INSERT of
the same bytes at the same durability, made and encoded by msgspec, taken in turns with ours in one run.

Then several processes write at once, on one conversation and on as many, on SQLite and on PostgreSQL (one of
this machine, where that is possible): nothing may be lost, nothing double, and every reader sees one order.
Beside it as many processes with plain sqlite3 or psycopg insert rows into one table, in no order.
"""

import argparse
import asyncio
import json
import sqlite3
import subprocess
import sys
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
_SHORTER = 6
MERGED = (500, 32_000)
"""Lengths of a conversation that a fork of two turns is merged into."""


def timed(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


class Raw:
    """The floor: plain sqlite3."""

    def __init__(self, path: Path, durable: str, filled: list[bytes]) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.execute(f"PRAGMA synchronous = {SYNCHRONOUS[durable]}")
        self.connection.execute("CREATE TABLE kept (id INTEGER PRIMARY KEY, conversation TEXT, body BLOB)")
        self.connection.execute("BEGIN")
        self.connection.executemany(
            "INSERT INTO kept (conversation, body) VALUES ('one', ?)", ((b,) for b in filled)
        )
        self.connection.execute("COMMIT")

    def append(self, count: int) -> None:
        execute, encode = self.connection.execute, msgspec.json.Encoder().encode
        for _ in range(count):
            body = encode(Message("user", WORDS))
            execute("INSERT INTO kept (conversation, body) VALUES (?, ?)", ("one", body))


class Ours:
    """A session on SQLite."""

    def __init__(self, path: Path, durable: Any, filled: list[Any]) -> None:
        self.store = Store.open(path, durable=durable)
        self.session = Session.open("bench/one", store=self.store)
        self.session.append(*filled)

    def append(self, count: int) -> None:
        for _ in range(count):
            self.session.user(WORDS)

    def add(self, count: int) -> None:
        async def go() -> None:
            for _ in range(count):
                await self.session.aio.append(Message("user", WORDS))

        asyncio.run(go())


def appends(size: int, durable: str, count: int, rounds: int) -> dict[str, Any]:
    """Microseconds of one durable append after `size` messages."""
    filled = items(messages(size))
    with tempfile.TemporaryDirectory() as folder:
        ours = Ours(Path(folder, "ours.db"), durable, filled)
        raw = Raw(Path(folder, "raw.db"), durable, [JSON.encode_item(item) for item in filled])
        calls = {"raw": raw.append, "ours": ours.append, "async": ours.add}
        wall: dict[str, list[float]] = {name: [] for name in calls}
        cpu: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(rounds * _SHORTER):  # short rounds, taken in turns: some of them are undisturbed
            for name, call in calls.items():
                before = time.process_time()
                wall[name].append(
                    timed(lambda call=call: call(count // _SHORTER)) / (count // _SHORTER) * 1e6
                )
                cpu[name].append((time.process_time() - before) / (count // _SHORTER) * 1e6)
        ours.store.close()
        raw.connection.close()
    best = {name: min(row) for name, row in wall.items()}
    middle = {f"{name} median": median(row) for name, row in wall.items()}
    ratios = {"ratio": best["ours"] / best["raw"], "cpu ratio": min(cpu["ours"]) / min(cpu["raw"])}
    return {"size": size, "durable": durable, **best, **middle, **ratios}


def stored_turn(size: int, rounds: int) -> dict[str, Any]:
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
    return {
        "size": size,
        "warm": min(warm),
        "warm median": median(warm),
        "cold": min(cold),
        "cold median": median(cold),
    }


def beside_a_summary(seconds: float) -> dict[str, Any]:
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
    return {
        "without slowest": without[0],
        "without median": without[1],
        "beside slowest": beside[0],
        "beside median": beside[1],
        "summaries": beside[2],
    }


def merging(size: int, rounds: int) -> dict[str, Any]:
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
    return {"size": size, "alone": min(alone), "alone median": median(alone), "raced": min(raced)}


PEER = """
import asyncio, json, sys, tempfile, time
from agents import SQLiteSession
async def main(size, count):
    with tempfile.TemporaryDirectory() as folder:
        session = SQLiteSession("one", f"{folder}/peer.db")
        await session.add_items([{"role": "user", "content": "x" * 780} for _ in range(size)])
        best = 1e9
        for _ in range(5):
            start = time.perf_counter()
            for _ in range(count):
                await session.add_items([{"role": "user", "content": "x" * 780}])
            best = min(best, (time.perf_counter() - start) / count)
        session.close()
        print(json.dumps(best * 1e6))
asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
"""


def peer(python: str, size: int, count: int) -> float | None:
    """Microseconds of one append of OpenAI Agents' SQLiteSession."""
    done = subprocess.run(
        [python, "-c", PEER, str(size), str(count)], capture_output=True, text=True, check=False
    )
    return float(done.stdout) if done.returncode == 0 else None


# Many writers at once


def write(ready: Any, url: str, conversation: str, number: int, appends: int) -> None:
    session = Session.open(conversation, store=url)
    ready.wait()
    for n in range(appends):
        session.append(Message("user", f"{number} {n} {WORDS}"))


def write_raw(ready: Any, url: str, _: str, number: int, appends: int) -> None:
    execute = opened_raw(url)
    ready.wait()
    for n in range(appends):
        execute("one", JSON.encode_item(Message("user", f"{number} {n} {WORDS}")))


def opened_raw(url: str) -> Any:
    if url.startswith("postgresql"):
        import psycopg

        connection = psycopg.connect(url, autocommit=True)
        sql = "INSERT INTO raw_kept (conversation, body) VALUES (%s, %s)"
        return lambda *row: connection.execute(sql, row)
    local = sqlite3.connect(url, isolation_level=None, timeout=30)
    local.execute("PRAGMA synchronous = NORMAL")
    return lambda *row: local.execute("INSERT INTO raw_kept (conversation, body) VALUES (?, ?)", row)


def make_raw(url: str) -> None:
    if url.startswith("postgresql"):
        import psycopg

        with psycopg.connect(url, autocommit=True) as connection:
            columns = "id bigserial PRIMARY KEY, conversation text, body bytea"
            connection.execute(f"CREATE TABLE IF NOT EXISTS raw_kept ({columns})")
        return
    local = sqlite3.connect(url, isolation_level=None)
    local.execute("PRAGMA journal_mode = WAL")
    local.execute("CREATE TABLE raw_kept (id INTEGER PRIMARY KEY, conversation TEXT, body BLOB)")
    local.close()


def together(work: Callable[..., None], url: str, conversations: int, options: argparse.Namespace) -> float:
    """Seconds that all writers take, from the moment that they all are ready."""
    fork = get_context("fork")
    ready = fork.Barrier(options.writers + 1)
    started = [
        fork.Process(
            target=work, args=(ready, url, f"bench{conversations}/{n % conversations}", n, options.each)
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


def checked(url: str, conversations: int, writers: int, appends: int) -> dict[str, Any]:
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
    return {"lost": lost, "double": double, "other order": disorder}


def at_once(name: str, url: Callable[[], str], options: argparse.Namespace) -> list[dict[str, Any]]:
    rows = []
    for conversations in (1, options.writers):
        total = options.writers * options.each
        ours, raw = url(), url()
        make_raw(raw)
        raw_seconds = together(write_raw, raw, conversations, options)
        seconds = together(write, ours, conversations, options)
        row = {"store": name, "conversations": conversations, "appends": total}
        row |= {"ours a second": total / seconds, "raw a second": total / raw_seconds}
        rows.append(row | checked(ours, conversations, options.writers, options.each))
        print(f"{name}, {conversations} conversations: {seconds:.1f} s", file=sys.stderr)
    return rows


def all_writers(options: argparse.Namespace) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder, postgres(options.postgres) as server:
        files = (str(Path(folder, f"{number}.db")) for number in range(100))
        rows = at_once("SQLite", lambda: next(files), options)
        if server is not None:
            rows += at_once("PostgreSQL", lambda: server, options)
    return rows


def main() -> None:
    parser = page.options(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--appends", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--peers", metavar="PYTHON")
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--each", type=int, default=1_000, help="appends of each writer")
    parser.add_argument("--postgres", metavar="URL")
    options = parser.parse_args()
    rows = []
    for size in options.sizes:
        for durable in SYNCHRONOUS:
            print(f"appends after {size:,}, {durable}", file=sys.stderr)
            rows.append(appends(size, durable, options.appends, options.rounds))
    report: dict[str, Any] = {"appends": rows}
    report["turns"] = [stored_turn(size, options.rounds) for size in options.sizes if size <= 10_000]
    report["merging"] = [merging(size, options.rounds) for size in MERGED]
    report["beside"] = beside_a_summary(2.0)
    if options.peers:
        report["openai-agents"] = peer(options.peers, 10_000, 100)
    report["writers"] = rows = all_writers(options)
    page.write(options.page, "keeping", as_text(report))
    page.write(options.page, "writers", writers_as_text(rows))
    print(json.dumps(report) if options.json else f"{as_text(report)}\n\n{writers_as_text(rows)}")
    if any(row["lost"] or row["double"] or row["other order"] for row in rows):
        raise SystemExit(1)


def as_text(report: dict[str, Any]) -> str:
    lines = [
        "| N | durable | raw sqlite3, µs | ours, µs | ratio | CPU ratio | async, µs |",
        "|---:|---|---:|---:|---:|---:|---:|",
    ]
    for row in report["appends"]:
        lines.append(
            f"| {row['size']:,} | {row['durable']} | {row['raw']:.1f} ({row['raw median']:.1f}) | "
            f"{row['ours']:.1f} ({row['ours median']:.1f}) | {row['ratio']:.2f} | {row['cpu ratio']:.2f} | "
            f"{row['async']:.0f} ({row['async median']:.0f}) |"
        )
    lines += ["", "| N | stored turn, warm, ms | cold, ms |", "|---:|---:|---:|"]
    for row in report["turns"]:
        lines.append(
            f"| {row['size']:,} | {row['warm']:.2f} ({row['warm median']:.2f}) | "
            f"{row['cold']:.1f} ({row['cold median']:.1f}) |"
        )
    lines += ["", "| N | merge of a fork of two turns, ms | after a lost race, ms |", "|---:|---:|---:|"]
    short, long = report["merging"]
    for row in (short, long):
        lines.append(
            f"| {row['size']:,} | {row['alone']:.2f} ({row['alone median']:.2f}) | {row['raced']:.2f} |"
        )
    ratios = f"{long['alone'] / short['alone']:.2f} and {long['raced'] / short['raced']:.2f}"
    lines += ["", f"Merging at {long['size']:,} items takes {ratios} times as long as at {short['size']:,}."]
    beside = ", ".join(f"{name} {value:.2f}" for name, value in report["beside"].items())
    lines += ["", f"Turns beside a summary, ms: {beside}"]
    if report.get("openai-agents") is not None:
        lines.append(f"OpenAI Agents, SQLiteSession, an append at 10,000: {report['openai-agents']:.0f} µs")
    return "\n".join(lines)


def writers_as_text(rows: list[dict[str, Any]]) -> str:
    lines = [
        "| store | conversations | appends | ours, a second | raw, a second | lost | double | other order |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        lines.append(
            f"| {row['store']} | {row['conversations']} | {row['appends']:,} | {row['ours a second']:,.0f} | "
            f"{row['raw a second']:,.0f} | {row['lost']} | {row['double']} | {row['other order']} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
