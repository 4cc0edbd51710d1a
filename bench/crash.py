"""Kill processes that write and that run tools, and check what is left.

Usage: python bench/crash.py [--kills N] [--turns N] [--postgres URL] [--json] [--page FILE]

Every process is forked from this one, which has no store open then, and dies by SIGKILL.

- Writers append to a conversation and say the id of each item once the append has returned. They are killed
  at random moments. Every acknowledged item must be there, once and in order.
- An agent's turn has two replies with calls: one tool that must not run twice, one that may, and one that is
  slow, side by side. The process dies before and after each append, and inside each tool, at its beginning
  and at its end; then another one goes on: half of them resume the turn, the others say something. Every
  append that returned must be there; all four wires take the history; no call is without a result; a call
  whose result was on the record is not run again; one that may not run twice has not, and where it may have
  run without a result, it is marked.
"""

import argparse
import asyncio
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import page
from quire import Session, ToolCall, ToolResult
from quire.agent import Agent, tool
from quire.agent.side_effects import UNCERTAIN
from quire.items import Message
from quire.models import Scripted
from quire.providers import PROVIDERS, Rendered
from quire.stores import Store

FIRST = (("c1", "slow"), ("c2", "pay"), ("c3", "look"))
SECOND = (("c4", "pay"), ("c5", "look"))
Say = Callable[[object], None]


@contextmanager
def postgres(given: str | None = None) -> Generator[str | None]:
    """The address of a PostgreSQL server: the given one, or one that is started for the run, if possible."""
    if given:
        yield given
        return
    try:
        sys.path.insert(0, str(Path(__file__).parent.parent))
        from tests.stores.server import database
    except ImportError:
        print("no PostgreSQL here", file=sys.stderr)
        yield None
        return
    with database() as url:
        yield url


# Processes


class Process:
    """A forked process that calls a function, and what it says."""

    def __init__(self, work: Callable[..., None], *arguments: Any) -> None:
        self._reader, writer = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            status = 1
            try:
                os.close(self._reader)
                work(lambda text: os.write(writer, f"{text}\n".encode()), *arguments)
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        os.close(writer)

    def first(self) -> str:
        """The first line it says, once it says one."""
        return os.read(self._reader, 1 << 16).decode()

    def kill(self) -> None:
        os.kill(self._pid, signal.SIGKILL)

    def rest(self) -> str:
        """What it says until it ends. The last line may be cut."""
        with open(self._reader, encoding="utf-8") as reader:
            said = reader.read()
        os.waitpid(self._pid, 0)
        return said


def lines_of(work: Callable[..., None], *arguments: Any) -> list[str]:
    return Process(work, *arguments).rest().split("\n")[:-1]


class Steps:
    """Counts steps, and dies at one of them; 0 is none."""

    def __init__(self, fatal: int) -> None:
        self.count, self._fatal = 0, fatal

    def step(self) -> None:
        self.count += 1
        if self.count == self._fatal:
            os.kill(os.getpid(), signal.SIGKILL)


def watched(store: Store, steps: Steps, say: Say) -> None:
    """Take a step before and after each append to a store, and say what it returns."""
    append = store.append

    def called(*args: Any, **options: Any) -> Any:
        steps.step()
        given = append(*args, **options)
        say(given)
        steps.step()
        return given

    store.append = called  # type: ignore[method-assign]


# Writers


def write(say: Say, url: str, conversation: str) -> None:
    """Append without end, and say what was acknowledged. Some appends are batches."""
    session = Session.open(f"bench/{conversation}", store=url)
    chance = random.Random(os.getpid())
    while True:
        words = "x" * chance.choice((10, 500, 5_000, 100_000))
        for item in session.append(*(Message("user", words) for _ in range(chance.choice((1, 1, 1, 3))))):
            say(item.id)


def writers(url: str, kills: int, chance: random.Random) -> dict[str, int]:
    """What was lost, doubled or reordered; five writers die on the same conversation."""
    row = dict.fromkeys(("kills", "acknowledged", "lost", "double", "out of order"), 0)
    before: list[str] = []
    for kill in range(kills):
        address, conversation = url.format(kill // 5), str(kill // 5)
        before = before if kill % 5 else []
        writer = Process(write, address, conversation)
        said = writer.first()  # it has begun
        time.sleep(chance.random() * 0.05)
        writer.kill()
        said += writer.rest()
        told = said[: said.rfind("\n") + 1].splitlines()
        with Store.open(address) as store:
            found = [item.id for item in Session.open(f"bench/{conversation}", store=store).view()]
        row["kills"] += 1
        row["acknowledged"] += len(told)
        row["lost"] += len({*before, *told} - set(found))
        row["double"] += len(found) - len(set(found))
        row["out of order"] += [item for item in found if item in set(told)] != told
        before = found
        print(f"\r{kill + 1} of {kills} kills ", end="", file=sys.stderr)
    print(file=sys.stderr)
    return row


# Turns with tools


def answer(sent: Rendered) -> Any:
    """What the model says: it goes by how many results it is shown."""
    results = sum(1 for message in sent.payload["messages"] if message["role"] == "tool")
    if results < len(FIRST):
        return [ToolCall(*call) for call in FIRST]
    return [ToolCall(*call) for call in SECOND] if results < len(FIRST) + len(SECOND) else "All is done."


def tools_of(steps: Steps, note: Callable[[str], None]) -> list[Any]:
    def step(told: str) -> None:
        note(told)
        steps.step()

    @tool
    async def pay() -> str:
        """Pay: not to be done twice."""
        step("begin pay")
        step("end pay")
        return "paid"

    @tool(idempotent=True)
    async def look() -> str:
        """Look: as often as one likes."""
        step("begin look")
        step("end look")
        return "seen"

    @tool
    async def slow() -> str:
        """Take a while, so that the others end first."""
        step("begin slow")
        await asyncio.sleep(0.02)
        step("end slow")
        return "at last"

    return [pay, look, slow]


def act(say: Say, url: str, conversation: str, log: Path, fatal: int, verb: str) -> None:
    """Answer, or go on with what is there; say each version, and then the number of steps."""
    store, steps = Store.open(url), Steps(fatal)
    session = Session.open(f"bench/{conversation}", store=store)
    watched(store, steps, say)
    with log.open("a", buffering=1) as file:
        tools = tools_of(steps, lambda told: print(told, file=file))
        agent = Agent(session, model=Scripted([answer], repeat=True), tools=tools)
        asyncio.run(agent.resume() if verb == "resume" else agent.ask("Do it."))
    say(f"steps {steps.count}")


def one_kill(url: str, conversation: str, fatal: int, verb: str) -> Counter[str]:
    """What is wrong after a death at one step, gone on with by a verb; nothing, if all is as it must be."""
    with tempfile.TemporaryDirectory() as folder:
        address, log = url.format(f"{folder}/kept"), Path(folder, "log")
        told = lines_of(act, address, conversation, log, fatal, "ask")
        acknowledged = max([int(line) for line in told if line.isdigit()], default=0)
        with Store.open(address) as store:
            session = Session.open(f"bench/{conversation}", store=store)
            found, kept = Counter({"lost": int(session.version < acknowledged)}), results_of(session)
        ran, begun = read(log), bool(kept or acknowledged)
        lines_of(act, address, conversation, log, 0, verb if begun else "ask")
        with Store.open(address) as store:
            session = Session.open(f"bench/{conversation}", store=store)
            return found + faults(session, read(log), kept, ran, begun)


def faults(
    session: Session, log: Counter[str], kept: dict[str, ToolResult], ran: Counter[str], begun: bool
) -> Counter[str]:
    found, results = Counter[str](), results_of(session)
    found["call without a result"] = len(session.calls.list_open())
    for provider in PROVIDERS.values():
        found["refused by a wire"] += len(provider.check(provider.render(session.view()).payload))
    for name, calls in (("pay", ("c2", "c4")), ("slow", ("c1",))):
        found["run twice"] += max(log[f"begin {name}"] - sum(call in results for call in calls), 0)
        unknown = ran[f"begin {name}"] - sum(call in kept for call in calls)
        marks = sum(bool(results[call].extras.get(UNCERTAIN)) for call in calls if call in results)
        found["not marked"] += int(unknown > 0 and marks == 0)
    for call, result in kept.items():
        found["changed after it was kept"] += int(results.get(call) != result)
    found["not answered"] = int(session.view()[-1].text != "All is done.") if begun else 0  # type: ignore[union-attr]
    return +found


def results_of(session: Session) -> dict[str, ToolResult]:
    return {item.call_id: item for item in session.view() if isinstance(item, ToolResult)}


def read(log: Path) -> Counter[str]:
    return Counter(log.read_text().splitlines() if log.exists() else [])


def turns(url: str, kills: int) -> dict[str, Any]:
    """How many steps the turn has on a store, and what was wrong after all kills."""
    names = (f"turn-{number}" for number in count())
    with tempfile.TemporaryDirectory() as folder:
        told = lines_of(act, url.format(f"{folder}/kept"), next(names), Path(folder, "log"), 0, "ask")
    steps, found = int(told[-1].split()[1]), Counter[str]()
    for number in range(kills):
        found += one_kill(url, next(names), number // 2 % steps + 1, ("resume", "ask")[number % 2])
        print(f"\r{number + 1} of {kills} turns, {dict(found)}", end="", file=sys.stderr)
    print(file=sys.stderr)
    return {"steps": steps, "turns": kills, "wrong": found.total()}


# The report


def measured(options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder, postgres(options.postgres) as server:
        places = {"SQLite": "{}.db", "JSON lines": "{}.jsonl"}
        if server is not None:
            places["PostgreSQL"] = server.replace("{", "{{").replace("}", "}}")
        os.chdir(folder)
        for name, url in places.items():
            page.progress(name)
            rows[name] = {**writers(url, options.kills, random.Random(7)), **turns(url, options.turns)}
    return rows


HEAD = {
    "kills": "writers killed",
    "acknowledged": "appends acknowledged",
    "lost": "lost",
    "double": "double",
    "out of order": "out of order",
    "turns": "turns killed",
    "steps": "steps of a turn",
    "wrong": "wrong afterwards",
}


def main() -> None:
    parser = page.options(__doc__)
    parser.add_argument("--kills", type=int, default=200, help="of writers, on each store")
    parser.add_argument("--turns", type=int, default=100, help="kills of turns, on each store")
    parser.add_argument("--postgres", metavar="URL")
    options = parser.parse_args()
    rows = measured(options)
    cells = [(name, *(row[key] for key in HEAD)) for name, row in rows.items()]
    page.report(options, {"crash": page.table(("store", *HEAD.values()), cells)}, rows)
    if any(row["lost"] or row["double"] or row["out of order"] or row["wrong"] for row in rows.values()):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
