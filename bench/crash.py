"""Kill processes that write, compact and forget, and check what is left.

Usage: python bench/crash.py [--kills N] [--postgres URL] [--json] [--page FILE]

A writer appends to a conversation and prints the id of each item once the append has returned. It is killed
with SIGKILL at a random moment. Then the store is opened: every acknowledged item must be there, once and in
order. The second part kills a process at each step of a compaction: the view must have the whole summary or
none of it. The third part kills a process before and after each write of `forget`: once the conversation was
opened again, no byte of the forgotten item, of a summary of it or of its fork is left.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import marked
from quire import Budget, Session, Summary, Template
from quire.compactors import Summarize
from quire.items import Message, Span
from quire.models import Scripted
from quire.sections import History
from quire.stores import Place, Store
from servers import shelves

TEMPLATE = Template(History(), budget=Budget(window=100_000), model="gpt-5.6")
SECRET = "swordfish-0815"
STEPS = (
    "before the plan",
    "after the plan",
    "while the model writes",
    "before it is recorded",
    "after it is recorded",
)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def write(url: str, conversation: str) -> None:
    """Append without end, and print what was acknowledged. Some appends are batches."""
    session = Session.open(f"bench/{conversation}", store=url)
    chance = random.Random(os.getpid())
    while True:
        size = chance.choice((1, 1, 1, 3))
        words = "x" * chance.choice((10, 500, 5_000, 100_000))
        for item in session.append(*(Message("user", words) for _ in range(size))):
            print(item.id, flush=True)


def watch(
    store: Store, verbs: tuple[str, ...], before: Callable[[], None], after: Callable[[], None]
) -> None:
    """Call functions before and after each write of a store."""

    def watched(verb: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any, **options: Any) -> Any:
            before()
            given = verb(*args, **options)
            after()
            return given

        return called

    for name in verbs:
        setattr(store, name, watched(getattr(store, name)))


def compact(url: str, conversation: str, step: str) -> None:
    """Compact a conversation, and die at one step of it."""
    store, begun = Store.open(url), 0

    def answer(_: Any) -> str:
        if step == "while the model writes":
            die()
        return "They talked."

    session = Session.open(
        f"bench/{conversation}",
        store=store,
        compactor=Summarize(floor=4, ceiling=8),
        model=Scripted([answer], repeat=True),
    )
    for n in range(6):
        session.user(f"question {n}")
        session.assistant(f"answer {n}")

    def before() -> None:
        nonlocal begun
        begun += 1
        if (step, begun) in {("before the plan", 1), ("before it is recorded", 2)}:
            die()

    def after() -> None:
        if (step, begun) in {("after the plan", 1), ("after it is recorded", 2)}:
            die()

    watch(store, ("append",), before, after)
    session.compaction.run()


def forget(url: str, conversation: str, fatal: str) -> None:
    """Forget an item that a summary and a fork hold, and die before or after one of the writes."""
    store, count = Store.open(url), 0
    session = Session.open(f"bench/{conversation}", store=store)
    secret = session.user(f"The password is {SECRET}.")
    session.assistant("Noted.")
    session.user("And now?")
    session.append(Summary(f"They spoke of {SECRET}.", (Span(secret.id, secret.id),)))
    session.fork("x").assistant("Done.")

    def step() -> None:
        nonlocal count
        count += 1
        if count == int(fatal):
            die()

    watch(store, ("append", "replace", "scrub"), step, step)
    session.forget(secret.id)
    print(count, flush=True)


def run(kind: str, *arguments: str) -> "subprocess.Popen[str]":
    command = [sys.executable, __file__, "--as", kind, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def killed(url: str, conversation: str, after: float) -> list[str]:
    """The ids that a writer acknowledged before it was killed."""
    with run("write", url, conversation) as writer:
        assert writer.stdout is not None
        told = [writer.stdout.readline().strip()]  # it has begun
        time.sleep(after)
        writer.kill()
        rest = writer.stdout.read()
    whole = rest[: rest.rfind("\n") + 1]
    return [line for line in (*told, *whole.splitlines()) if line]


def writers(url: str, kills: int, chance: random.Random) -> dict[str, int]:
    """What was lost, doubled or reordered; five writers die on the same conversation."""
    row = dict.fromkeys(("kills", "acknowledged", "lost", "double", "out of order"), 0)
    for kill in range(kills):
        address, conversation = url.format(kill // 5), str(kill // 5)
        before = ids(address, conversation) if kill % 5 else []
        told = killed(address, conversation, chance.random() * 0.05)
        found = ids(address, conversation)
        row["kills"] += 1
        row["acknowledged"] += len(told)
        row["lost"] += len({*before, *told} - set(found))
        row["double"] += len(found) - len(set(found))
        row["out of order"] += [item for item in found if item in set(told)] != told
        print(f"\r{kill + 1} of {kills} kills ", end="", file=sys.stderr)
    print(file=sys.stderr)
    return row


def ids(url: str, conversation: str) -> list[str]:
    with Store.open(url) as store:
        return [item.id for item in Session.open(f"bench/{conversation}", store=store).view()]


def compactions(url: str) -> dict[str, str]:
    """What is left of a compaction that was killed at each of its steps."""
    found: dict[str, str] = {}
    for number, step in enumerate(STEPS):
        address, conversation = url.format(f"compact-{number}"), f"compact-{number}"
        run("compact", address, conversation, step).wait()
        with Store.open(address) as store:
            session = Session.open(
                f"bench/{conversation}",
                store=store,
                compactor=Summarize(floor=4, ceiling=8),
                model=Scripted(["They talked."], repeat=True),
            )
            left = shown(session)
            session.build(TEMPLATE)
            session.close()
            then = shown(session)
        whole = left in {(0, 12), (1, 5)} and then == (1, 5)
        found[step] = (
            f"{'whole' if whole else 'HALF'}: {left[0]} summaries, {left[1]} items shown; "
            f"after the next turn {then[0]} and {then[1]}"
        )
    return found


def shown(session: Session) -> tuple[int, int]:
    view = session.view()
    return sum(isinstance(item, Summary) for item in view), len(view)


def forgettings(url: str) -> dict[str, int]:
    """How many kills left some of what was forgotten, once the conversation was opened again."""
    with run("forget", url.format("forget-0"), "forget-0", "0") as whole:
        steps = int(whole.communicate()[0])
    left = 0
    for fatal in range(1, steps + 1):
        address, conversation = url.format(f"forget-{fatal}"), f"forget-{fatal}"
        run("forget", address, conversation, str(fatal)).wait()
        with Store.open(address) as store:
            session = Session.open(f"bench/{conversation}", store=store)
            if fatal == 1:  # nothing was noted: it is as if nobody had begun
                session.forget(session.view().recorded()[0].id)
            rest = b"".join(
                entry.body
                for name in store.conversations("bench")
                if name.startswith(conversation)
                for entry in store.read(Place("bench", name))
            )
        files = b"".join(path.read_bytes() for path in Path(address).parent.glob(f"{Path(address).name}*"))
        left += SECRET.encode() in rest + (b"" if "://" in address else files)
    return {"kills": steps, "left": left}


def report(options: argparse.Namespace) -> None:
    rows: dict[str, dict[str, Any]] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        shelves(Path(folder), options.postgres, (".db", ".jsonl")) as places,
    ):
        for name, url in places.items():
            print(name, file=sys.stderr)
            rows[name] = {
                "writers": writers(url, options.kills, random.Random(options.seed)),
                "compaction": compactions(url),
                "forgetting": forgettings(url),
            }
    if options.page:
        marked.write(options.page, "crash", as_text(rows))
    print(json.dumps(rows) if options.json else as_text(rows))
    wrong = sum(row["writers"][key] for row in rows.values() for key in ("lost", "double", "out of order"))
    half = [left for row in rows.values() for left in row["compaction"].values() if "HALF" in left]
    if wrong or half or any(row["forgetting"]["left"] for row in rows.values()):
        raise SystemExit(1)


def as_text(rows: dict[str, dict[str, Any]]) -> str:
    lines = ["| store | kills | acknowledged | lost | double | out of order | kills of `forget` | left |"]
    lines.append("|---|---:|---:|---:|---:|---:|---:|---:|")
    for name, row in rows.items():
        figures = [f"{figure:,}" for figure in (*row["writers"].values(), *row["forgetting"].values())]
        lines.append(f"| {name} | {' | '.join(figures)} |")
    for name, row in rows.items():
        lines += ["", f"A compaction on {name}, killed"]
        lines += [f"- {step}: {left}" for step, left in row["compaction"].items()]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--postgres", metavar="URL")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--page", metavar="FILE", type=Path, help="put the tables into their part of a page")
    parser.add_argument("--as", dest="work", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        kind, *arguments = options.work
        {"write": write, "compact": compact, "forget": forget}[kind](*arguments)
    else:
        report(options)


if __name__ == "__main__":
    main()
