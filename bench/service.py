"""Services and workers on one PostgreSQL, and workers that are killed: is each message answered once?

Usage: python bench/service.py [--conversations N] [--turns N] [--kills N] [--workers N] [--services N]
                               [--clients N] [--latency SECONDS] [--lease SECONDS] [--json] [--page FILE]

2,000 conversations of 10 turns each, 80 at a time, send their messages to 2 services; 4 workers answer. In
every turn the agent of `service_node.py` runs a tool that writes a row: by turns one that may run again, and
writes with the id of its call, and one that may not. 50 times a worker is killed at a random moment, and
started again. Each worker is in a process namespace of its own, where that is permitted, so that the others
cannot see that it is gone: what is measured then is the lease, as between machines.

Every message is sent twice with the same key, the second time to another service. A tenth of the
conversations read their answers as streams, and a tenth send two messages at once. At the end every message
must have been answered once, in its conversation and in order; no row may be there twice; all wires must take
every history, and nothing may wait.
"""

import argparse
import asyncio
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncGenerator, Generator, Iterator
from contextlib import contextmanager, suppress
from itertools import cycle
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import quantiles
from typing import Any, NamedTuple
from urllib.request import urlopen

import msgspec
import psycopg
from psycopg.conninfo import make_conninfo

import page
import transactions
from quire import Message, Note, Session, ToolResult
from quire.agent.side_effects import UNCERTAIN
from quire.items import JSON
from quire.providers import PROVIDERS
from quire.stores import Store
from quire.stores.streams import JOBS

BENCH = Path(__file__).parent
NODE = BENCH / "service_node.py"
AGENT, SCOPE = "shop", "shop/"
WAIT = 30
"""Seconds that a request waits for an answer before it is sent again."""

TABLES = """
    CREATE SCHEMA shop;
    CREATE TABLE shop.charges (of text NOT NULL);
    CREATE TABLE shop.bookings (call text PRIMARY KEY, of text NOT NULL)"""


# Processes


class Death(NamedTuple):
    """A worker that was killed: when, and how it is named in what it claimed."""

    at: float
    worker: str


class Process:
    """A command that is run, in a process namespace of its own if wanted."""

    def __init__(self, arguments: list[str], environment: dict[str, str], log: Path, is_apart: bool) -> None:
        apart = ["unshare", "--pid", "--fork", "--mount-proc"] if is_apart else []
        with log.open("a") as written:
            self._outer = subprocess.Popen(
                [*apart, sys.executable, "-m", "quire", *arguments],
                env=environment,
                stdout=written,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # an interrupt at the keyboard is for this script
            )
        self._is_apart = is_apart

    @property
    def pid(self) -> int:
        """The process itself, and not the one that gave it its namespace."""
        if not self._is_apart:
            return self._outer.pid
        children = Path(f"/proc/{self._outer.pid}/task/{self._outer.pid}/children").read_text().split()
        return int(children[0])

    @property
    def name(self) -> str:
        """The namespace, and the number in it."""
        namespace = os.readlink(f"/proc/{self.pid}/ns/pid")
        return f"{namespace} {1 if self._is_apart else self.pid}"

    def kill(self) -> Death:
        death = Death(time.time(), self.name)
        os.kill(self.pid, signal.SIGKILL)
        self._outer.wait()
        return death

    def stop(self) -> None:
        """Ask it to stop, and wait until it has."""
        while self.is_running:  # the first process of a namespace hears no signal before it listens
            with suppress(ProcessLookupError, IndexError, FileNotFoundError):  # it is gone already
                os.kill(self.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self._outer.wait(5)

    @property
    def is_running(self) -> bool:
        return self._outer.poll() is None


def can_be_apart() -> bool:
    """Whether processes here may have namespaces of their own."""
    command = shutil.which("unshare")
    tried = [str(command), "--pid", "--fork", "--mount-proc", "true"]
    return command is not None and subprocess.run(tried, capture_output=True, check=False).returncode == 0


class Fleet:
    """The workers and services of one database."""

    def __init__(self, url: str, folder: Path, given: argparse.Namespace) -> None:
        self._environment = {
            **os.environ,
            "QUIRE_STORE": url,
            "BENCH_LATENCY": str(given.latency),
            "PYTHONPATH": os.pathsep.join([str(BENCH), os.environ.get("PYTHONPATH", "")]),
        }
        self._folder, self.is_apart = folder, can_be_apart()
        self.ports = [free_port() for _ in range(given.services)]
        self._lease = given.lease
        self.workers = [self._worker(nth) for nth in range(given.workers)]
        self._services = [self._service(nth, port) for nth, port in enumerate(self.ports)]
        self.deaths: list[Death] = []
        self.gave_up = 0
        self._killing = asyncio.Lock()

    def _worker(self, nth: int) -> Process:
        lease = ["--stale", str(self._lease), "--beat", str(self._lease / 4)] if self._lease else []
        arguments, environment = ["work", str(NODE), *lease], {**self._environment, "PGAPPNAME": "worker"}
        return Process(arguments, environment, self._folder / f"worker-{nth}.log", self.is_apart)

    def _service(self, nth: int, port: int) -> Process:
        arguments = ["serve", str(NODE), "--durable", "--port", str(port)]
        environment = {**self._environment, "PGAPPNAME": "service"}
        return Process(arguments, environment, self._folder / f"service-{nth}.log", False)

    def wait(self) -> None:
        """Wait until all services are ready."""
        for port in self.ports:
            while not is_ready(port):
                if not all(one.is_running for one in (*self._services, *self.workers)):
                    raise SystemExit(f"a process did not start: see {self._folder}")
                time.sleep(0.1)

    async def kill_one(self, chance: random.Random) -> None:
        """Kill a worker, and start it again a moment later."""
        async with self._killing:
            await asyncio.sleep(chance.random())
            self.revive()
            nth = chance.randrange(len(self.workers))
            self.deaths.append(self.workers[nth].kill())
            await asyncio.sleep(chance.random())
            self.workers[nth] = self._worker(nth)

    @property
    def is_killing(self) -> bool:
        return self._killing.locked()

    def revive(self) -> None:
        """Start workers again that ended by themselves: the others took them for dead."""
        for nth, worker in enumerate(self.workers):
            if not worker.is_running:
                self.gave_up += 1
                self.workers[nth] = self._worker(nth)

    def stop(self) -> None:
        for one in (*self._services, *self.workers):
            one.stop()


def is_ready(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/ready") as response:
            return bool(response.status == 200)
    except OSError:
        return False


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


# Clients


class Answered(NamedTuple):
    """What a service answered, read to its end."""

    status: int
    retry_after: float
    content: bytes


class Connection:
    """A connection of a client to a service, kept open: plain, to leave the machine to what is measured."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, body: bytes, headers: dict[str, str]) -> Answered:
        """Send a message; `ConnectionError` if the connection was closed, as a service may do at any time."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        lines = [f"POST {path} HTTP/1.1", f"Host: 127.0.0.1:{self._port}", f"Content-Length: {len(body)}"]
        lines += ["Content-Type: application/json", *(f"{name}: {text}" for name, text in headers.items())]
        try:
            writer.write("\r\n".join([*lines, "", ""]).encode() + body)
            status, *rows = (await reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
            told = dict(row.split(": ", 1) for row in rows if row)
            if "content-length" in told:
                content = await reader.readexactly(int(told["content-length"]))
            else:
                content = b"".join([chunk async for chunk in chunks(reader)])
        except (OSError, asyncio.IncompleteReadError) as fault:
            self.close()
            raise ConnectionError from fault
        return Answered(int(status.split()[1]), float(told.get("retry-after", "0.2")), content)

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
        self._streams = None


async def chunks(reader: asyncio.StreamReader) -> AsyncGenerator[bytes, None]:
    """The body of an answer that comes in chunks."""
    while size := int(await reader.readline(), 16):
        yield await reader.readexactly(size)
        await reader.readline()
    await reader.readline()


class Load:
    """The conversations: what was asked, what was answered, and how long it took."""

    def __init__(self, ports: list[int], given: argparse.Namespace) -> None:
        self._ports, self._given = ports, given
        self._lanes = asyncio.Semaphore(given.clients)
        self.accepting: list[float] = []
        self.answering: list[float] = []
        self.wrong: Counter[str] = Counter()
        self.unanswered: set[str] = set()
        self.answered = self.retried = 0

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(self._given.conversations):
                group.create_task(self._talk(number))

    async def _talk(self, number: int) -> None:
        async with self._lanes:
            connections = [Connection(port) for port in self._ports]
            services = cycle(
                connections[number % len(connections) :] + connections[: number % len(connections)]
            )
            turn, step = 0, 2 if number % 10 == 0 else 1
            while turn < self._given.turns:
                last = min(turn + step, self._given.turns)
                await self._take(number, [order_of(number, one) for one in range(turn, last)], services)
                turn = last
            for connection in connections:
                connection.close()

    async def _take(self, number: int, orders: list[str], services: Iterator[Connection]) -> None:
        """One turn, or two at once."""
        began = time.monotonic()
        if number % 10 == 1:
            said = [last_said(await self._post(number, orders[0], "text/event-stream", "", services))]
        else:
            for order in () if self._given.once else orders:
                accepted = await self._post(number, order, "application/json", "", services)
                self.accepting.append(time.monotonic() - began)
                self.wrong["not accepted"] += accepted.status != 202
            said = [await self._answer(number, order, services) for order in orders]
        self.answering += [time.monotonic() - began] * len(orders)
        self.answered += len(orders)
        self.unanswered |= {
            order for text, order in zip(said, orders, strict=True) if not is_answer(text, order)
        }

    async def _answer(self, number: int, order: str, services: Iterator[Connection]) -> str:
        """The same message again, until it has been answered."""
        while True:
            found = await self._post(number, order, "application/json", f"wait={WAIT}", services)
            if found.status == 200:
                return str(msgspec.json.decode(found.content)["text"])
            if found.status != 202:
                return ""

    async def _post(
        self, number: int, order: str, accept: str, prefer: str, services: Iterator[Connection]
    ) -> Answered:
        path = f"/agents/{AGENT}/conversations/{number}/messages"
        headers = {"Idempotency-Key": order, "Accept": accept, "Prefer": prefer}
        body = msgspec.json.encode({"content": words_of(order)})
        while True:
            try:
                found = await next(services).post(path, body, headers)
            except ConnectionError:
                self.retried += 1
                continue
            if found.status not in (429, 503):
                if found.status >= 400:
                    self.wrong[f"status {found.status}"] += 1
                    page.progress(found.content.decode()[:300])
                return found
            self.retried += 1
            await asyncio.sleep(found.retry_after)


def last_said(streamed: Answered) -> str:
    """What the assistant says last in a stream of events."""
    said, name = "", ""
    for line in streamed.content.decode().splitlines():
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: ") and name == "item":
            item = msgspec.json.decode(line.removeprefix("data: "))["item"]
            if item["kind"] == "message" and item["role"] == "assistant":
                content = item["content"]
                said = content if isinstance(content, str) else content[0]["text"]
    return said if name == "ended" else ""


def order_of(conversation: int, turn: int) -> str:
    return f"{conversation}-{turn}"


def orders_of(conversation: int, turns: int) -> list[str]:
    return [order_of(conversation, turn) for turn in range(turns)]


def words_of(order: str) -> str:
    return f"Please see to order {order}"


def order_in(words: str) -> str:
    return words.rsplit(" ", 1)[1]


def is_answer(text: str, order: str) -> bool:
    return text.startswith(f"Order {order}: ")


# What must be so in the end


class Taking(NamedTuple):
    """A job that was taken over from a worker that was killed: seconds from the kill on."""

    to_claim: float
    to_answer: float


class Found(NamedTuple):
    """What the logs say."""

    wrong: Counter[str]
    uncertain: int
    takings: list[Taking]
    given_up: set[str]
    """The orders whose jobs were failed because three workers were killed while they did them."""


def verified(url: str, deaths: list[Death], given: argparse.Namespace) -> Found:
    """Read every conversation anew, and the rows that the tools wrote."""
    wrong, takings, unsure, given_up = Counter[str](), list[Taking](), set[str](), set[str]()
    with Store.open(url) as store, psycopg.connect(make_conninfo(url), autocommit=True) as connection:
        for number in range(given.conversations):
            session = Session.open(scope=SCOPE, conversation=str(number), store=store)
            entries = [JSON.decode_item(one.body) for one in store.read(session.place) if one.stream == JOBS]
            jobs = [one for one in entries if isinstance(one, Note)]
            lost = {note.content["job"] for note in jobs if note.key == "ended" and was_deadly(note)}
            said = [one for one in entries if isinstance(one, Message)]
            given_up |= {order_in(message.text) for message in said if message.id in lost}
            faults = job_faults(jobs, given.turns)
            if not lost:
                faults += history_faults(session, number, given.turns)
            if +faults:
                page.progress(f"conversation {number}: {dict(+faults)}")
            wrong += faults
            takings += takings_of(jobs, deaths)
            unsure |= {
                item.call_id
                for item in session.view()
                if isinstance(item, ToolResult) and item.extras.get(UNCERTAIN)
            }
        orders = [order for number in range(given.conversations) for order in orders_of(number, given.turns)]
        for name, parity in (("charges", 0), ("bookings", 1)):
            rows = Counter(row[0] for row in connection.execute(f"SELECT of FROM shop.{name}".encode()))
            for order in orders:
                if int(order.rsplit("-", 1)[1]) % 2 == parity:
                    wrong["done twice"] += rows[order] > 1
                    wrong["not done"] += rows[order] == 0 and order not in unsure | given_up
            wrong["done unasked"] += len(set(rows) - set(orders))
        left = "SELECT count(*) FROM dbos.workflow_status WHERE status NOT IN ('SUCCESS', 'CANCELLED')"
        wrong["workflows left"] += one_number(connection, left)
    return Found(+wrong, len(unsure), takings, given_up)


def history_faults(session: Session, number: int, turns: int) -> Counter[str]:
    """Each message with its answer, in order; on all wires."""
    found, view = Counter[str](), session.view()
    said = [item.text for item in view if isinstance(item, Message)]
    orders = orders_of(number, turns)
    asked, answers = said[::2], said[1::2]
    found["out of order"] = asked != [words_of(order) for order in orders]
    found["not answered"] = len(orders) - sum(map(is_answer, answers, orders))
    found["call without a result"] = len(session.calls.list_open())
    for provider in PROVIDERS.values():
        found["refused by a wire"] += len(provider.check(provider.render(view).payload))
    return found


def job_faults(notes: list[Note], turns: int) -> Counter[str]:
    """Each message is one job, accepted once and ended once."""
    accepted, ended = (
        Counter(note.content["job"] for note in notes if note.key == key) for key in ("job", "ended")
    )
    found = Counter[str]()
    found["not accepted once"] = abs(len(accepted) - turns) + accepted.total() - len(accepted)
    found["not ended once"] = (ended - accepted).total() + (accepted - ended).total()
    for note in notes:
        if note.key == "ended" and note.content["stop"] == "failed" and not was_deadly(note):
            found[f"failed: {note.content['error']}"] += 1
    return found


def was_deadly(note: Note) -> bool:
    """Whether a job was failed because three of its workers were killed: so it is meant to be."""
    return "its worker died" in note.content.get("error", "")


def takings_of(notes: list[Note], deaths: list[Death]) -> Iterator[Taking]:
    """How long it took until a job of a dead worker went on, and until it was answered."""
    ends = {note.content["job"]: note.created_at for note in notes if note.key == "ended"}
    holders: dict[str, Note] = {}
    for note in notes:
        if note.key != "taken":
            continue
        job, before = note.content["job"], holders.get(note.content["job"])
        if before is not None and before.content["lease"]["claim"] != note.content["lease"]["claim"]:
            died = [  # the name of a namespace is used again
                death.at
                for death in deaths
                if death.worker == worker_of(before) and before.created_at < death.at < note.created_at
            ]
            if died and job in ends:
                yield Taking(note.created_at - died[0], ends[job] - died[0])
        holders[job] = note


def worker_of(note: Note) -> str:
    """The process that took a job, as `Process.name` has it."""
    machine, number, _ = note.content["lease"]["process"]
    return f"{machine.split(' ')[-1]} {number}"


def one_number(connection: "psycopg.Connection[Any]", query: str) -> int:
    row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return int(row[0])


# The run


async def loaded(fleet: Fleet, given: argparse.Namespace) -> tuple[Load, float]:
    """All conversations, while workers are killed; how long it took."""
    chance, load = random.Random(given.seed), Load(fleet.ports, given)
    turns = given.conversations * given.turns
    moments = sorted(chance.uniform(0.02, 0.95) * turns for _ in range(given.kills))
    began, running = time.monotonic(), asyncio.ensure_future(load.run())
    killing: list[asyncio.Task[None]] = []
    while not running.done():
        await asyncio.wait([running], timeout=0.2)
        if not fleet.is_killing:
            fleet.revive()
        while len(killing) < len(moments) and load.answered >= moments[len(killing)]:
            killing.append(asyncio.create_task(fleet.kill_one(chance)))
        print(
            f"\r{load.answered:,} of {turns:,} turns, {len(fleet.deaths)} killed, "
            f"{time.monotonic() - began:.0f} s ",
            end="",
            file=sys.stderr,
        )
    print(file=sys.stderr)
    await running
    seconds = time.monotonic() - began
    await asyncio.gather(*killing)
    return load, seconds


def percentiles(seconds: list[float]) -> dict[str, float]:
    """The median, the 95th and 99th percentile, and the longest, in milliseconds."""
    cuts = quantiles(seconds, n=100, method="inclusive") if len(seconds) > 1 else seconds * 99
    if not cuts:
        return {}
    picked = {"median": cuts[49], "p95": cuts[94], "p99": cuts[98], "longest": max(seconds)}
    return {name: value * 1_000 for name, value in picked.items()}


def sizes(url: str) -> dict[str, int]:
    """The bytes of each table with its indexes."""
    query = """
        SELECT relnamespace::regnamespace || '.' || relname, pg_total_relation_size(oid) FROM pg_class
        WHERE relkind = 'r' AND relnamespace::regnamespace::text IN ('quire', 'dbos')"""
    with psycopg.connect(make_conninfo(url), autocommit=True) as connection:
        return dict(connection.execute(query).fetchall())


class Written(NamedTuple):
    """What the server has done: transactions, bytes of its log, entries of conversations."""

    commits: int
    log: int
    entries: int


def written(url: str) -> Written:
    with psycopg.connect(make_conninfo(url), autocommit=True) as connection:
        queries = (
            "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()",
            "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn",
            "SELECT coalesce(sum(version), 0) FROM quire.conversations",
        )
        return Written(*(one_number(connection, query) for query in queries))


def server_cpu(url: str) -> float:
    """Seconds of CPU time of the server and all its processes, those that ended among them."""
    with psycopg.connect(make_conninfo(url), autocommit=True) as connection:
        row = connection.execute("SELECT pg_read_file('postmaster.pid')").fetchone()
        assert row is not None
        main = row[0].splitlines()[0]
    total = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = stat.read_text().rsplit(")", 1)[1].split()
            if stat.parent.name == main:
                total += sum(map(int, fields[11:15]))
            elif fields[1] == main:
                total += sum(map(int, fields[11:13]))
    return total / os.sysconf("SC_CLK_TCK")


@contextmanager
def server(given: str | None = None) -> Generator[str, None, None]:
    """The address of a PostgreSQL: the given one, or one that is started with the settings it comes with."""
    if given:
        yield given
        return
    sys.path.insert(0, str(BENCH.parent))
    from tests.stores.server import start

    url, stop = start()
    try:
        if url.startswith("cannot:"):
            raise SystemExit(f"no PostgreSQL can run here: {url}")
        yield url
    finally:
        stop()


def measured(url: str, folder: Path, given: argparse.Namespace) -> dict[str, Any]:
    with psycopg.connect(make_conninfo(url), autocommit=True) as connection:
        connection.execute(TABLES)
    before, began, fleet = server_cpu(url), time.process_time(), Fleet(url, folder, given)
    try:
        fleet.wait()
        at_first, log = written(url), transactions.Log(url) if given.kinds else None
        load, seconds = asyncio.run(loaded(fleet, given))
        kinds = log.counted() if log else Counter[tuple[str, ...]]()
    finally:
        fleet.stop()
    used, at_last, client = getrusage(RUSAGE_CHILDREN), written(url), time.process_time() - began
    page.progress("reading every conversation")
    found = verified(url, fleet.deaths, given)
    turns, missing = given.conversations * given.turns, len(load.unanswered - found.given_up)
    return {
        "turns": turns,
        "kills": len(fleet.deaths),
        "gave up": fleet.gave_up,
        "wrong": dict(+load.wrong) | dict(found.wrong) | ({"not answered": missing} if missing else {}),
        "given up": len(found.given_up),
        "uncertain": found.uncertain,
        "retried": load.retried,
        "seconds": seconds,
        "turns a second": turns / seconds,
        "ms to accept": percentiles(load.accepting),
        "ms to answer": percentiles(load.answering),
        "taken over": len(found.takings),
        "ms to claim": percentiles([one.to_claim for one in found.takings]),
        "ms to answer after a kill": percentiles([one.to_answer for one in found.takings]),
        "CPU": {
            "workers and services": used.ru_utime + used.ru_stime,
            "server": server_cpu(url) - before,
            "clients": client,
        },
        "bytes": sizes(url),
        "written": {
            name: (last - first) / turns
            for name, first, last in zip(Written._fields, at_first, at_last, strict=True)
        },
        "apart": fleet.is_apart,
        "transactions": {", ".join(kind): count / turns for kind, count in kinds.items()},
    }


def text_of(found: dict[str, Any], given: argparse.Namespace) -> str:
    names = ("ms to accept", "ms to answer", "ms to claim", "ms to answer after a kill")
    labels = ("accepted", "answered", "killed, until another worker continues", "killed, until answered")
    kinds = ("median", "p95", "p99", "longest")
    rows = [
        (label, *(found[name][kind] / 1_000 for kind in kinds))
        for label, name in zip(labels, names, strict=True)
        if found[name]
    ]
    wrong = ", ".join(f"{name}: {count}" for name, count in found["wrong"].items()) or "nothing"
    cpu, turns, writes = found["CPU"], found["turns"], found["written"]

    def kept(schema: str) -> float:
        return sum(size for name, size in found["bytes"].items() if name.startswith(schema)) / turns / 1e3

    return (
        f"{given.conversations:,} conversations, {turns:,} turns, {given.clients} conversations at a time, "
        f"{given.workers} workers, {given.services} services, {found['kills']} kills: "
        f"{wrong} wrong; {found['taken over']} turns were taken over, {found['uncertain']} results are "
        f"uncertain, {found['given up']} jobs were given up after three killed workers each. "
        f"{found['turns a second']:,.1f} turns a second; CPU time of a turn: "
        f"{cpu['workers and services'] / turns * 1_000:,.1f} ms of workers and services, with their starts, "
        f"{cpu['server'] / turns * 1_000:,.1f} ms of PostgreSQL. "
        f"A turn has {writes['entries']:,.1f} entries and {writes['commits']:,.0f} transactions, "
        f"polls included; it takes {kept('quire'):,.1f} kB in the tables of Quire, "
        f"{kept('dbos'):,.1f} kB in those of DBOS and {writes['log'] / 1e3:,.1f} kB of the server's log. "
        f"Each worker has {'a' if found['apart'] else 'no'} process namespace of its own.\n\n"
        + page.table(("seconds", *kinds), rows)
    )


def main() -> None:
    parser = page.options(__doc__)
    parser.add_argument("--conversations", type=int, default=2_000)
    parser.add_argument("--turns", type=int, default=10, help="of each conversation")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--services", type=int, default=2)
    parser.add_argument("--clients", type=int, default=80, help="conversations at a time")
    parser.add_argument(
        "--latency", type=float, default=0.05, help="seconds of the model, and twice of a tool"
    )
    parser.add_argument("--lease", type=float, help="seconds after which a silent worker is given up")
    parser.add_argument(
        "--once", action="store_true", help="send every message once, and wait for the answer with it"
    )
    parser.add_argument("--kinds", action="store_true", help="count transactions by kind; costs CPU time")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument(
        "--postgres", metavar="URL", help="an empty database to use; otherwise one is started"
    )
    parser.add_argument("--folder", type=Path, help="where the processes write their logs")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, server(given.postgres) as url:
        kept = given.folder or Path(folder)
        kept.mkdir(parents=True, exist_ok=True)
        found = measured(url, kept, given)
    page.report(given, {"service": text_of(found, given)}, found)
    sys.exit(bool(found["wrong"]))


if __name__ == "__main__":
    main()
