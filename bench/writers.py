"""Eight processes that write at once: nothing may be lost, nothing double, and every reader sees one order.

Usage: python bench/writers.py [--writers N] [--appends N] [--postgres URL] [--json]

On one conversation and on eight, on SQLite and on PostgreSQL (a server of this machine where there is one).
Beside it, in the same run, as many processes with plain sqlite3 or psycopg that insert rows into one table
and are stopped by nobody: the throughput that a conversation with an order is to be compared with.
"""

import argparse
import json
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import marked
from quire import Message, Session
from quire.items import JSON
from quire.stores import Store
from servers import postgres

WORDS = "And which of them are still open, apart from the one that we spoke about? " * 10


def write(url: str, conversation: str, number: int, appends: int) -> None:
    session = Session.open(conversation, store=url)
    print("ready", flush=True)
    sys.stdin.readline()
    for n in range(appends):
        session.append(Message("user", f"{number} {n} {WORDS}"))


def write_raw(url: str, _: str, number: int, appends: int) -> None:
    execute = _raw(url)
    print("ready", flush=True)
    sys.stdin.readline()
    for n in range(appends):
        execute("one", JSON.encode_item(Message("user", f"{number} {n} {WORDS}")))


def _raw(url: str) -> Any:
    if url.startswith("postgresql"):
        import psycopg

        connection = psycopg.connect(url, autocommit=True)
        sql = "INSERT INTO raw_kept (conversation, body) VALUES (%s, %s)"
        return lambda *row: connection.execute(sql, row)
    local = sqlite3.connect(url, isolation_level=None, timeout=30)
    local.execute("PRAGMA synchronous = NORMAL")
    return lambda *row: local.execute("INSERT INTO raw_kept (conversation, body) VALUES (?, ?)", row)


def _ready_raw(url: str) -> None:
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


def together(kind: str, url: str, conversations: int, writers: int, appends: int) -> float:
    """Seconds that all writers take, from the moment that they all are ready."""
    command = [sys.executable, __file__, "--as", kind, url]
    started = [
        subprocess.Popen(
            [*command, f"bench{conversations}/{number % conversations}", str(number), str(appends)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(writers)
    ]
    for one in started:
        assert one.stdout is not None
        one.stdout.readline()
    start = time.perf_counter()
    for one in started:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()
    failed = [one.wait() for one in started]
    seconds = time.perf_counter() - start
    for one in started:
        one.stdin and one.stdin.close()
        one.stdout and one.stdout.close()
    if any(failed):
        raise SystemExit(f"{sum(map(bool, failed))} writers failed")
    return seconds


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


def measured(name: str, url: Any, options: argparse.Namespace) -> list[dict[str, Any]]:
    rows = []
    for conversations in (1, options.writers):
        total = options.writers * options.appends
        ours, raw = url(), url()
        _ready_raw(raw)
        raw_seconds = together("raw", raw, conversations, options.writers, options.appends)
        seconds = together("ours", ours, conversations, options.writers, options.appends)
        row = {"store": name, "conversations": conversations, "appends": total}
        row |= {"ours a second": total / seconds, "raw a second": total / raw_seconds}
        rows.append(row | checked(ours, conversations, options.writers, options.appends))
        print(f"{name}, {conversations} conversations: {seconds:.1f} s", file=sys.stderr)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--appends", type=int, default=1_000)
    parser.add_argument("--postgres", metavar="URL")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--page", metavar="FILE", type=Path, help="put the tables into their part of a page")
    parser.add_argument("--as", dest="work", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        kind, url, conversation, number, appends = options.work
        (write if kind == "ours" else write_raw)(url, conversation, int(number), int(appends))
        return
    numbers = iter(range(100))
    with tempfile.TemporaryDirectory() as folder:
        rows = measured("SQLite", lambda: str(Path(folder, f"{next(numbers)}.db")), options)
    with postgres(options.postgres) as url:
        if url is not None:
            rows += measured("PostgreSQL", lambda: url, options)
    if options.page:
        marked.write(options.page, "writers", as_text(rows))
    print(json.dumps(rows) if options.json else as_text(rows))
    if any(row["lost"] or row["double"] or row["other order"] for row in rows):
        raise SystemExit(1)


def as_text(rows: list[dict[str, Any]]) -> str:
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
