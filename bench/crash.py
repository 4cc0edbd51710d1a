"""Kills writers at random moments and looks at what is left.

Usage: python bench/crash.py [--kills N] [--json]

A writer appends to a conversation and says the id of each item once the append has returned. It is killed
with SIGKILL at a random moment, on SQLite, JSON and JSON lines in turn. Then the store is opened: every item
that was acknowledged must be there, in order, and a torn end must be reported. The last part kills a process
at each step of a compaction: the view must have the whole summary or none of it.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import marked
from quire import Budget, Session, Summary, Template
from quire.compactors import Summarize
from quire.items import Message
from quire.models import Scripted
from quire.sections import History
from quire.session.ledger import Ledger
from quire.session.workspace import Workspace
from quire.stores import Place, Store

NAMES = ("kept.db", "kept.json", "kept.jsonl")
PLACE = Place("bench", "one")
TEMPLATE = Template(History(), budget=Budget(window=100_000), model="gpt-5.6")
STEPS = (
    "before the plan",
    "after the plan",
    "while the model writes",
    "before it is recorded",
    "after it is recorded",
)


def write(path: str) -> None:
    """Append for ever, and say what was acknowledged. Some appends are batches."""
    session = Session.open("bench/one", store=path)
    chance = random.Random(os.getpid())
    while True:
        size = chance.choice((1, 1, 1, 3))
        words = "x" * chance.choice((10, 500, 5_000, 100_000))
        for item in session.append(*(Message("user", words) for _ in range(size))):
            print(item.id, flush=True)


def compact(path: str, step: str) -> None:
    """Compact a conversation, and die at one step of it."""

    def die(*_: Any) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    async def answer(_: Any) -> str:
        if step == "while the model writes":
            die()
        return "They talked."

    session = Session.open(
        "bench/one",
        store=path,
        compactor=Summarize(floor=4, ceiling=8),
        model=Scripted([answer], repeat=True),
    )
    for n in range(6):
        session.user(f"question {n}")
        session.assistant(f"answer {n}")
    store, appended = session._ledger.store, 0
    append = store.append

    def dying(place: Place, entries: Any, *, expected: int) -> int:
        nonlocal appended
        appended += 1
        if (step, appended) in {("before the plan", 1), ("before it is recorded", 2)}:
            die()
        version = append(place, entries, expected=expected)
        if (step, appended) in {("after the plan", 1), ("after it is recorded", 2)}:
            die()
        return version

    store.append = dying  # type: ignore[method-assign]

    async def turn() -> None:
        await session.build(TEMPLATE)
        await session.close()

    asyncio.run(turn())


def killed(path: Path, after: float) -> list[str]:
    """The ids that a writer acknowledged before it was killed."""
    command = [sys.executable, __file__, "--write", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        told = [writer.stdout.readline().strip()]  # it has begun
        time.sleep(after)
        writer.kill()
        rest = writer.stdout.read()
    whole = rest[: rest.rfind("\n") + 1]
    return [line for line in (*told, *whole.splitlines()) if line]


def one_kill(path: Path, chance: random.Random) -> dict[str, Any]:
    before = _ids(path) if path.exists() else []
    told = killed(path, chance.random() * 0.05)
    with Store.open(path) as store:
        torn = len(store.reports)
    found = _ids(path)
    lost = [item for item in (*before, *told) if item not in set(found)]
    in_order = [item for item in found if item in set(told)] == told
    return {
        "acknowledged": len(told),
        "lost": len(lost),
        "double": len(found) - len(set(found)),
        "in order": in_order,
        "torn": torn,
    }


def _ids(path: Path) -> list[str]:
    with Store.open(path) as store:
        session = Session(Ledger(store, PLACE, Workspace))
        return [item.id for item in session.view()]


def steps(name: str) -> dict[str, str]:
    """What is left of a compaction that was killed at each of its steps."""
    found: dict[str, str] = {}
    for step in STEPS:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, name)
            subprocess.run([sys.executable, __file__, "--compact", str(path), step], check=False)
            with Store.open(path) as store:
                found[step] = asyncio.run(_taken_up(store))
    return found


async def _taken_up(store: Store) -> str:
    """What a conversation shows after the crash, and after the next process has gone on with it."""
    session = Session(
        Ledger(store, PLACE, Workspace),
        compactor=Summarize(floor=4, ceiling=8),
        model=Scripted(["They talked."], repeat=True),
    )
    left = _shown(session)
    await session.build(TEMPLATE)
    await session.close()
    then = _shown(session)
    whole = left in {(0, 12), (1, 5)} and then == (1, 5)
    return (
        f"{'whole' if whole else 'HALF'}: {left[0]} summaries, {left[1]} items shown; "
        f"after the next turn {then[0]} and {then[1]}"
    )


def _shown(session: Session) -> tuple[int, int]:
    view = session.view()
    return sum(isinstance(item, Summary) for item in view), len(view)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--page", metavar="FILE", type=Path, help="put the tables into their part of a page")
    parser.add_argument("--write", help=argparse.SUPPRESS)
    parser.add_argument("--compact", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write:
        write(options.write)
    elif options.compact:
        compact(*options.compact)
    else:
        report(options)


def report(options: argparse.Namespace) -> None:
    chance = random.Random(options.seed)
    rows: list[dict[str, Any]] = []
    for name in NAMES:
        row: dict[str, Any] = {
            "store": name,
            "kills": 0,
            "acknowledged": 0,
            "lost": 0,
            "double": 0,
            "torn": 0,
        }
        row["out of order"] = 0
        with tempfile.TemporaryDirectory() as folder:
            for kill in range(options.kills):
                path = Path(folder, f"{kill // 5}-{name}")  # five writers die on the same file
                found = one_kill(path, chance)
                row["kills"] += 1
                row["out of order"] += not found["in order"]
                for key in ("acknowledged", "lost", "double", "torn"):
                    row[key] += found[key]
                print(f"\r{name}: {kill + 1} of {options.kills} kills ", end="", file=sys.stderr)
        row["compaction"] = steps(name)
        rows.append(row)
        print(file=sys.stderr)
    if options.page:
        marked.write(options.page, "crash", as_text(rows))
    print(json.dumps(rows) if options.json else as_text(rows))
    if any(row["lost"] or row["double"] or row["out of order"] for row in rows):
        raise SystemExit(1)
    if any("HALF" in left for row in rows for left in row["compaction"].values()):
        raise SystemExit(1)


def as_text(rows: list[dict[str, Any]]) -> str:
    columns = ("store", "kills", "acknowledged", "lost", "double", "out of order", "torn")
    lines = ["| " + " | ".join(columns) + " |", "|---|" + "---:|" * (len(columns) - 1)]
    lines += [
        "| "
        + " | ".join(
            f"{row[column]:,}" if isinstance(row[column], int) else row[column] for column in columns
        )
        + " |"
        for row in rows
    ]
    for row in rows:
        lines += ["", f"A compaction on {row['store']}, killed"]
        lines += [f"- {step}: {left}" for step, left in row["compaction"].items()]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
