"""Kills an agent at every step of a turn with tools, starts it again, and looks at what it did.

Usage: python bench/resume.py [--kills N] [--postgres URL] [--json] [--page FILE]

On SQLite and on PostgreSQL. The turn has two replies with calls: one tool that must not run twice, one that
may, and one that is slow, side by side. The process dies by SIGKILL before and after each append to the
store, and inside each tool, at its beginning and at its end; then another process goes on with the
conversation: half of them resume it, the others say something in it. Each tool writes a line to a file when
it begins and when it has done its work. What must hold: every append that returned is there; the history is
one that all four wires take; no call is without a result; a call whose result was on the record is not run
again; one that may not run twice has not, and where it may have run without a result, it is marked.
"""

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import marked
from quire import Session, ToolCall, ToolResult
from quire.agent import Agent, tool
from quire.agent.closing import UNCERTAIN
from quire.models import Scripted
from quire.providers import PROVIDERS, Rendered
from quire.stores import Store
from servers import postgres

FIRST = (("c1", "slow"), ("c2", "pay"), ("c3", "look"))
SECOND = (("c4", "pay"), ("c5", "look"))


class Steps:
    """Counts the steps of a turn, and dies at one of them."""

    def __init__(self, folder: Path, fatal: int | None) -> None:
        self._log = (folder / "log").open("a")
        self._fatal = fatal
        self.count = 0

    def step(self, told: str = "") -> None:
        if told:
            self._log.write(told + "\n")
            self._log.flush()
        self.count += 1
        if self.count == self._fatal:
            os.kill(os.getpid(), signal.SIGKILL)


def answer(sent: Rendered) -> Any:
    """What the model says: it goes by how many results it is shown."""
    results = sum(1 for message in sent.payload["messages"] if message["role"] == "tool")
    if results < len(FIRST):
        return [ToolCall(*call) for call in FIRST]
    return [ToolCall(*call) for call in SECOND] if results < len(FIRST) + len(SECOND) else "All is done."


def tools_of(steps: Steps) -> list[Any]:
    @tool
    async def pay() -> str:
        """Pay: not to be done twice."""
        steps.step("begin pay")
        steps.step("end pay")
        return "paid"

    @tool(idempotent=True)
    async def look() -> str:
        """Look: as often as one likes."""
        steps.step("begin look")
        steps.step("end look")
        return "seen"

    @tool
    async def slow() -> str:
        """Take a while, so that the others end first."""
        steps.step("begin slow")
        await asyncio.sleep(0.02)
        steps.step("end slow")
        return "at last"

    return [pay, look, slow]


class Place(NamedTuple):
    """Where one turn is kept, and the folder of its log."""

    url: str
    conversation: str
    folder: Path

    def session(self, store: Store | None = None) -> Session:
        return Session.open(f"bench/{self.conversation}", store=store or self.url)


def act(place: Place, fatal: int | None, verb: str) -> None:
    """One process: answer, or go on with what is there; say what was acknowledged, and how many steps."""
    store, steps = Store.open(place.url), Steps(place.folder, fatal)
    session, append = place.session(store), store.append

    def counted(*args: Any, **options: Any) -> int:
        steps.step()
        version = append(*args, **options)
        print(version, flush=True)
        steps.step()
        return version

    store.append = counted  # type: ignore[method-assign]
    agent = Agent(session, model=Scripted([answer], repeat=True), tools=tools_of(steps))
    asyncio.run(agent.resume() if verb == "resume" else agent.ask("Do it."))
    print(f"steps {steps.count}", flush=True)


def run(place: Place, fatal: int | None, verb: str) -> list[str]:
    """What a process said before it ended."""
    command = [sys.executable, __file__, "--act", *map(str, place), str(fatal or 0), verb]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return done.stdout.split("\n")[:-1]


def one_kill(url: str, fatal: int, verb: str) -> Counter[str]:
    """What is wrong after a death at one step, gone on with by a verb; nothing, if all is as it must be."""
    with tempfile.TemporaryDirectory() as name:
        place = Place(url.format(f"{name}/kept"), Path(name).name, Path(name))
        told = run(place, fatal, "ask")
        acknowledged = max([int(line) for line in told if line.isdigit()], default=0)
        found = Counter({"lost": int(place.session().version < acknowledged)})
        kept, ran = _results(place), _log(place)
        begun = bool(kept or acknowledged)
        run(place, None, verb if begun else "ask")
        return found + _faults(place, kept, ran, begun)


def _faults(place: Place, kept: dict[str, ToolResult], ran: Counter[str], begun: bool) -> Counter[str]:
    session, log, results = place.session(), _log(place), _results(place)
    found: Counter[str] = Counter()
    found["call without a result"] = len(session.steps.standing())
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


def _results(place: Place) -> dict[str, ToolResult]:
    session = place.session()
    shown = {item.call_id: item for item in session.view() if isinstance(item, ToolResult)}
    held = [item for call, _ in session.steps.standing() for item in session.steps.held(call)]
    return shown | {item.call_id: item for item in held if isinstance(item, ToolResult)}


def _log(place: Place) -> Counter[str]:
    file = place.folder / "log"
    return Counter(file.read_text().splitlines() if file.exists() else [])


def turns(name: str, url: str, kills: int) -> tuple[int, Counter[str]]:
    """How many steps the turn has on a store, and what was wrong after all kills."""
    with tempfile.TemporaryDirectory() as folder:
        place = Place(url.format(f"{folder}/kept"), Path(folder).name, Path(folder))
        steps = int(run(place, None, "ask")[-1].split()[1])
    found: Counter[str] = Counter()
    for number in range(kills):
        found += one_kill(url, number // 2 % steps + 1, ("resume", "ask")[number % 2])
        told = f"{number + 1} of {kills} kills, {sum(found.values())} faults"
        print(f"\r{name}: {told}", end="", file=sys.stderr)
    print(file=sys.stderr)
    return steps, found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--postgres", metavar="URL")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--page", type=Path)
    parser.add_argument("--act", nargs=5, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.act:
        url, conversation, folder, fatal, verb = given.act
        return act(Place(url, conversation, Path(folder)), int(fatal) or None, verb)
    told: dict[str, Any] = {}
    with postgres(given.postgres) as server:
        places = {"SQLite": "{}.db"} | ({"PostgreSQL": server} if server else {})
        for name, url in places.items():
            steps, found = turns(name, url, given.kills)
            told[name] = {"steps": steps, "kills": given.kills, "faults": dict(found)}
    lines = [
        f"- {name}: {one['kills']} kills at {one['steps']} steps of a turn with five calls, gone on with by "
        f"`resume` and by `ask` in turn: "
        + (", ".join(f"{what}: {count}" for what, count in one["faults"].items()) or "nothing wrong")
        for name, one in told.items()
    ]
    print(json.dumps(told) if given.json else "\n".join(lines))
    if given.page:
        marked.write(given.page, "resume", "\n".join(lines))
    if any(one["faults"] for one in told.values()):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
