"""What a turn costs on a stored conversation that is not in memory, by the length of the conversation.

Usage: python bench/cold.py [--peers PYTHON] [--folder FOLDER] [--sizes N ...] [--turns N] [--rounds N]
                            [--postgres URL] [--json] [--page FILE]

A turn appends one message and makes the payload of the next request, within 32,000 tokens. Stores are made
once in the folder; each turn is recorded with its reply, so they grow.

- quire: `Session.open`, `session.user`, `session.build`, `context.render("openai")`. Each turn has another
  store object, which has read nothing of the conversation.
- raw sqlite3: the same bytes in a plain table. One row is inserted and committed, as many rows are read as
  Quire shows, newest first, and decoded. Nothing is checked, counted or rendered.
- openai-agents: `SQLiteSession.add_items` with one message, and `get_items` of as many as Quire shows.

Each round has a process of its own for each of them; the figures are the best of all turns, and the median.
"""

import asyncio
import gc
import json
import sqlite3
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any
from unittest.mock import patch

import page
from transcript import entries, items, messages

SIZES = (1_000, 10_000, 100_000, 1_000_000)
WITH_RECALL, ON_POSTGRES = (10_000,), (1_000, 100_000)
BLOCK, ONE_BY_ONE = 10_000, 2_000
"""Messages that are appended at once, and those at the end that are appended one by one, with receipts."""

LONGEST = 30.0
"""Seconds after which a process begins no other turn."""

ADDRESS = "bench/one"
WORDS = "And which of them are still open, apart from the one that we spoke about? " * 4
REPLY = "Two of them are: the invoice of last week, and the second shipment to our warehouse. " * 6
PARTS = ("open", "user", "build", "render")
Times = dict[str, list[tuple[float, float]]]
"""By part: CPU time and time of each turn, in milliseconds."""


def timed(times: Times, part: str, call: Callable[[], Any]) -> Any:
    cpu, start = process_time(), perf_counter()
    made = call()
    times.setdefault(part, []).append((1e3 * (process_time() - cpu), 1e3 * (perf_counter() - start)))
    return made


def blocks(size: int) -> Iterator[list[dict[str, Any]]]:
    """The messages of a conversation: the transcript over and over, each time with other call ids."""
    once = json.dumps(messages(min(size, BLOCK)))
    for number in range(max(size // BLOCK, 1)):
        chat = json.loads(once.replace('"call_', f'"call_{number:x}_'))
        yield chat[1:] if number else chat  # there is one system message


# Quire


def template(*sections: Any) -> Any:
    """A template for one turn: it remembers counts."""
    from quire import Budget, Template
    from quire.sections import History, Instructions

    parts = (Instructions("You look after orders."), *sections, History())
    return Template(*parts, budget=Budget(window=32_000), model="gpt-5.6")


def fill_quire(store: Any, size: int) -> None:
    from quire import Session

    session, asked = Session.open(ADDRESS, store=store), 0
    for number, chat in enumerate(blocks(size), 1):
        at_once = max(len(chat) - ONE_BY_ONE, 0) if number * BLOCK >= size else len(chat)
        session.append(*items(chat[:at_once]))
        for message in chat[at_once:]:
            session.append(*items([message]))
            asked += message["role"] == "user"
            if asked % 20 == 0 and message["role"] == "assistant" and "tool_calls" not in message:
                answer(session)
        answer(session)


def answer(session: Any) -> None:
    session.user(WORDS)
    context = session.build(template())
    context.render("openai")
    record(session, context)


def record(session: Any, context: Any) -> None:
    """The rest of a turn: a receipt, and a reply with its usage."""
    context.sent()
    usage = {"prompt_tokens": context.receipt.tokens, "completion_tokens": 120, "total_tokens": 0}
    said = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": REPLY}}
    session.record({"object": "chat.completion", "model": "gpt-5.6", "choices": [said], "usage": usage})


def opened(url: str) -> Any:
    """A store with open connections, as in a server, which has read nothing of the conversation."""
    from quire import Session
    from quire.stores import Store

    store = Store.open(url)
    Session.open("bench/another", store=store)
    return store


def quire_turn(url: str, store: Any, times: Times, *sections: Any) -> tuple[Any, Any, Any]:
    """One turn, and what is in memory after it. Without a store, the turn opens one."""
    from quire import Session
    from quire.stores import Store

    shape = template(*sections)
    gc.collect()
    session = timed(times, "open", lambda: Session.open(ADDRESS, store=store or Store.open(url)))
    timed(times, "user", lambda: session.user(WORDS))
    context = timed(times, "build", lambda: session.build(shape))
    timed(times, "render", lambda: context.render("openai"))
    return store, session, context


def quire_turns(url: str, who: str, count: int) -> dict[str, Any]:
    from quire import Session
    from quire.memory import Recall
    from quire.stores import Store

    answer(Session.open(ADDRESS, store="memory:"))  # loads the vocabulary
    with opened(url) as store:
        answer(Session.open(ADDRESS, store=store))  # checkpoint and index may be of another version
    times: Times = {}
    sections, until = [Recall()] * (who == "recall"), perf_counter() + LONGEST
    with Store.open(url):  # as another process would, it keeps the write-ahead log in use
        while not times or (len(times["render"]) < count and perf_counter() < until):
            with nullcontext() if who == "quire, opened" else opened(url) as store:
                held = quire_turn(url, store, times, *sections)
                record(*held[1:])
                del held
        gc.collect()
        with opened(url) as store:
            tracemalloc.start()
            held = quire_turn(url, store, {})
            gc.collect()
            megabytes = tracemalloc.get_traced_memory()[0] / 1e6
    return {"times": times, "shown": len(held[2].items), "held": megabytes}


def fill_server(server: str, size: int) -> None:
    from psycopg import connect

    from quire.stores import Store

    with Store.open(server) as store:
        fill_quire(store, size)
    with connect(server, autocommit=True) as filled:  # otherwise the server goes on with it during the turns
        filled.execute("VACUUM")
        filled.execute("CHECKPOINT")


def on_postgres(url: str | None, size: int, count: int) -> tuple[object, ...] | None:
    """A row of the table: a turn on PostgreSQL, and how often it waits for the server."""
    from crash import postgres

    with postgres(url) as server:
        if server is None:
            return None
        from psycopg import Connection

        page.progress(f"PostgreSQL: {size:,}")
        for work, given in ((fill_server, (server, size)), (quire_turns, (server, "quire", count))):
            with get_context("spawn").Pool(1) as fresh:  # what a process has in memory slows the next down
                made = fresh.apply(work, given)
        times = made["times"]
        with (
            opened(server) as store,
            patch.object(Connection, "wait", autospec=True, side_effect=Connection.wait) as wait,
        ):
            quire_turn(server, store, {})
            queries = wait.call_count
    return (size, *(spread(total(times, part)) for part in PARTS), spread(total(times, *PARTS)), queries)


# Plain sqlite3


def raw_ways(path: Path, quire: Path, shown: int) -> dict[str, Callable[[], None]]:
    import msgspec

    if not path.exists():
        with closing(sqlite3.connect(path, isolation_level=None)) as filled:
            copied = "SELECT 'one', body FROM quire.entries WHERE stream = 'main' ORDER BY at"
            filled.execute("PRAGMA journal_mode = WAL")
            filled.execute(f"ATTACH '{quire}' AS quire")
            filled.execute("CREATE TABLE kept (id INTEGER PRIMARY KEY, conversation TEXT, body BLOB)")
            filled.execute("CREATE INDEX of_conversation ON kept (conversation, id)")
            filled.execute(f"INSERT INTO kept (conversation, body) {copied}")
    select = "SELECT body FROM kept WHERE conversation = 'one' ORDER BY id DESC LIMIT ?"
    body = json.dumps({"kind": "message", "id": "0" * 26, "role": "user", "content": WORDS}).encode()

    def turn(connection: sqlite3.Connection | None, decode: Callable[[bytes], Any]) -> None:
        with nullcontext(connection) if connection else closing(connected()) as at:
            at.execute("INSERT INTO kept (conversation, body) VALUES ('one', ?)", (body,))
            rows = at.execute(select, (shown,)).fetchall()
            assert len([decode(row[0]) for row in rows]) == shown

    def connected() -> sqlite3.Connection:
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("PRAGMA synchronous = NORMAL")
        return connection

    kept = connected()
    return {
        "json": lambda: turn(kept, json.loads),
        "json, opened": lambda: turn(None, json.loads),
        "msgspec": lambda: turn(kept, msgspec.json.decode),
    }


# OpenAI Agents


def agents_items(chat: list[dict[str, Any]]) -> Iterator[Any]:
    for role, text, calls, answers, _name in entries(chat):
        if role == "tool":
            yield {"type": "function_call_output", "call_id": answers, "output": text}
        elif text:
            yield {"role": role, "content": text}
        for call_id, tool, arguments in calls:
            yield {"type": "function_call", "call_id": call_id, "name": tool, "arguments": arguments}


def agents_ways(path: Path, size: int, shown: int) -> dict[str, Callable[[], None]]:
    from agents import SQLiteSession

    run = asyncio.new_event_loop().run_until_complete
    if not path.exists():
        with closing(SQLiteSession("one", path.with_suffix(".part"))) as filled:
            for chat in blocks(size):
                run(filled.add_items(list(agents_items(chat))))
        path.with_suffix(".part").rename(path)

    async def turn(session: Any) -> None:
        with nullcontext(session) if session else closing(SQLiteSession("one", path)) as at:
            await at.add_items([{"role": "user", "content": WORDS}])
            assert len(await at.get_items(shown)) == shown

    kept = SQLiteSession("one", path)
    return {"agents": lambda: run(turn(kept)), "agents, opened": lambda: run(turn(None))}


# Processes


def one(who: str, folder: Path, size: int, count: int, shown: int) -> dict[str, Any]:
    """What is measured in this process; a store that is not there is made first."""
    path, quire = folder / f"{who}-{size}.db", folder / f"quire-{size}.db"
    if who in ("raw", "agents"):
        ways = agents_ways(path, size, shown) if who == "agents" else raw_ways(path, quire, shown)
        times: Times = {}
        for part, way in list(ways.items()) * (5 * count):
            gc.collect()
            timed(times, part, way)
        return {"times": times}
    if not quire.exists():
        from quire.stores import Store

        with Store.open(f"sqlite:///{quire}.part") as store:
            fill_quire(store, size)
        Path(f"{quire}.part").rename(quire)
    return quire_turns(str(quire), who, count)


def measured(options: Any, folder: Path) -> dict[int, dict[str, Any]]:
    """By size and by what was measured: the figures of all rounds."""
    found: dict[int, dict[str, Any]] = {size: {} for size in options.sizes}
    for number, size in ((number, size) for number in range(options.rounds) for size in options.sizes):
        peers, recall = ["agents"] * bool(options.peers), ["recall"] * (size in WITH_RECALL)
        for who in ("quire", "quire, opened", "raw", *peers, *recall):
            page.progress(f"{number + 1} of {options.rounds}: {size:,}, {who}")
            shown = found[size].get("quire", {}).get("shown", 0)
            python = options.peers if who == "agents" else sys.executable
            command = [python, __file__, "--one", who, folder, size, options.turns, shown]
            done = subprocess.run([*map(str, command)], stdout=subprocess.PIPE, text=True, check=True)
            new = json.loads(done.stdout)
            known = found[size].setdefault(who, new)
            for part, times in new.get("times", {}).items() if known is not new else ():
                known["times"][part] += times
    return found


# The page


def total(times: Times, *parts: str) -> list[tuple[float, ...]]:
    """The times of some parts of each turn together."""
    turns = zip(*(times.get(part, []) for part in parts), strict=True)
    return [tuple(map(sum, zip(*turn, strict=True))) for turn in turns]


def spread(times: list[tuple[float, ...]]) -> str:
    """The best time and, in brackets, the median."""
    taken = [pair[1] for pair in times]
    return f"{page.number(min(taken))} ({page.number(median(taken))})" if taken else "-"


ROWS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    *((f"quire: {part}", "quire", (part,)) for part in PARTS),
    ("**quire: a turn**", "quire", PARTS),
    ("raw sqlite3, `json`", "raw", ("json",)),
    ("raw sqlite3, msgspec", "raw", ("msgspec",)),
    ("openai-agents", "agents", ("agents",)),
    ("quire: a turn that opens the store", "quire, opened", PARTS),
    ("raw sqlite3, `json`: a turn that connects", "raw", ("json, opened",)),
    ("openai-agents: a session for each turn", "agents", ("agents, opened",)),
    ("quire: a turn with `Recall`", "recall", PARTS),
)


def as_text(found: dict[int, dict[str, Any]]) -> str:
    """The figures as a table."""

    def times(size: int, who: str, parts: tuple[str, ...]) -> list[tuple[float, ...]]:
        return total(found[size].get(who, {}).get("times", {}), *parts)

    def ratio(size: int, other: list[tuple[float, ...]]) -> float | None:
        return min(times(size, "quire", PARTS))[0] / min(other)[0] if other else None

    rows: list[tuple[object, ...]] = [
        (title, *(spread(times(n, who, parts)) for n in found)) for title, who, parts in ROWS
    ]
    first = times(min(found), "quire", PARTS)
    rows += [
        (f"CPU, times that at {min(found):,}", *(ratio(n, first) for n in found)),
        ("CPU, times raw sqlite3", *(ratio(n, times(n, "raw", ("json",))) for n in found)),
        ("CPU, times openai-agents", *(ratio(n, times(n, "agents", ("agents",))) for n in found)),
        ("items shown", *(found[n]["quire"]["shown"] for n in found)),
        ("memory held after a turn, MB", *(found[n]["quire"]["held"] for n in found)),
    ]
    return page.table(("ms, best (median)", *(f"{size:,}" for size in found)), rows)


def main() -> None:
    parser = page.options(__doc__)
    parser.add_argument("--peers", metavar="PYTHON", help="the Python that has the peers")
    parser.add_argument("--folder", type=Path, help="where the stores are; otherwise they are made anew")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--turns", type=int, default=10, help="of each round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--postgres", metavar="URL", help="otherwise a server is started, if possible")
    parser.add_argument("--one", nargs=5, help="in this process")
    options = parser.parse_args()
    if options.one:
        who, folder, *numbers = options.one
        print(json.dumps(one(who, Path(folder), *map(int, numbers))))
        return
    with nullcontext(options.folder) if options.folder else tempfile.TemporaryDirectory() as folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        found = measured(options, Path(folder))
    sizes = [size for size in options.sizes if size in ON_POSTGRES]
    rows = [row for size in sizes if (row := on_postgres(options.postgres, size, options.turns))]
    parts = [as_text(found), page.table(("PostgreSQL, ms", *PARTS, "turn", "queries"), rows)]
    page.report(options, {"cold": "\n\n".join(parts)}, {"sizes": found, "postgres": rows})


if __name__ == "__main__":
    main()
