"""One conversation of many tasks: whether its turns, its memory and its files grow with its length.

Usage: python bench/endless.py PATH [--tasks N] [--ways NAME ...] [--folder FOLDER] [--json] [--page FILE]

The file has one JSON object a line, with `messages` as OpenAI's chat API has them. The conversations with the
commonest instructions are the tasks, over and over; each copy has other names, numbers, ids and dates. An
agent is asked what the user said then: its model answers as recorded and its tools return what was recorded,
at no cost. It has `Recall()`, a ledger and a compactor, a window of 16,000 tokens, and one SQLite file. Each
way runs in a process of its own.

Figures are of blocks of tasks. Task 1 of each copy is the same but for its names, so the last block is
compared with the first one of the same tasks.

- `turn`: milliseconds of CPU from the message to the reply, compaction included, but not the search of recall
  and its packing; the mean, and in brackets the median. `call`: the mean for each request to the model, of
  which a turn has several.
- `search`, `packing`: milliseconds of CPU of a search, and of choosing what of it is shown; the median, and
  in brackets the 99th percentile. `indexing`: the part of a search that takes in what was said since the one
  before; the mean.
- `memory`: what the process holds, in megabytes. `log`, `receipts`, `checkpoint`, `index`: kilobytes on disk.
- `edits`: how many summaries, masks and pins decide what is shown. `facts`: the share of questions about the
  first ten tasks for which the answer stands in 1,024 tokens of recall; in brackets about the first task.
"""

import argparse
import asyncio
import gc
import json
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import fmean, median, quantiles
from time import process_time, thread_time
from typing import Any, NamedTuple
from unittest.mock import patch

import page
from quire import Budget, Message, Session, Template
from quire.agent import Agent
from quire.agent.tools import Signature, Tool
from quire.compactors import Cascade, ClearToolResults, Compactor, Summarize
from quire.items import Item, ToolCall, new_id
from quire.memory import Recall, recall
from quire.memory.follower import Follower
from quire.memory.quotes import Quotes
from quire.models import Answering, Asks, Delta
from quire.providers import Parsed, Rendered
from quire.sections import History, Instructions
from recorded import conversations

WINDOW, BLOCK, ASKED_ABOUT = 16_000, 10, 10
WAYS: dict[str, Compactor | None] = {
    "Summarize": Summarize(unit="tokens", floor=0.4, ceiling=0.8),
    "cascade": Cascade(ClearToolResults(ceiling=0.7), Summarize(unit="tokens", ceiling=0.8)),
    "no compactor": None,
}
MODEL = "gpt-5.6"

# Tasks


class Turn(NamedTuple):
    """What the user says, the calls that follow with their results, and the answer."""

    said: str
    calls: list[tuple[str, str, str]]
    answer: str


_IDS = re.compile(r"\b(?=[A-Z0-9]*[A-Z])[A-Z0-9]{6}\b|(?<!\d)\d{4,}(?!\d)")
_DATE = re.compile(r"\b2024-(\d\d)-(\d\d)\b")
_NAMES = re.compile(r"[^\W_]+")
_USER = re.compile(r"\b([a-z]+)_([a-z]+)_\d{4}\b")
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October")


class Copy:
    """Rewrites a text: in each copy a name, an id or a date is another one, and the same one throughout."""

    def __init__(self, number: int, names: Sequence[str]) -> None:
        self._number, draw = number, random.Random(number)
        digits, letters = [*"0123456789"], [*"ABCDEFGHIJKLMNOPQRSTUVWXYZ"]
        draw.shuffle(digits)
        draw.shuffle(letters)
        self._signs = str.maketrans("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", "".join(digits + letters))
        self._names = {name: _made_up(draw, len(name)) for name in names}

    def __call__(self, text: str) -> str:
        """The text in this copy; the first copy is as recorded."""
        if not self._number:
            return text
        text = _DATE.sub(lambda found: f"{2024 + self._number}-{found[1]}-{found[2]}", text)
        years = {str(2024 + number) for number in range(self._number + 1)}
        text = _IDS.sub(
            lambda found: found[0] if found[0] in years else found[0].translate(self._signs), text
        )
        return _NAMES.sub(self._name, text)

    def _name(self, found: re.Match[str]) -> str:
        word = found[0]
        other = self._names.get(word.lower())
        return word if other is None or word in _MONTHS else other.title() if word[0].isupper() else other


def _made_up(draw: random.Random, length: int) -> str:
    return "".join(draw.choice("aeiou" if place % 2 else "bcdfghklmnprstvz") for place in range(length + 2))


class Tasks:
    """The recorded tasks, and copies of them."""

    def __init__(self, path: Path) -> None:
        told: dict[str, list[list[dict[str, Any]]]] = {}
        for first, *rest in conversations(path):
            if first["role"] == "system":
                told.setdefault(first["content"], []).append(rest)
        self.instructions, self._recorded = max(told.items(), key=lambda pair: len(pair[1]))
        users = _USER.findall(json.dumps(self._recorded))
        self._names = sorted({name for user in users for name in user})
        self.tools = sorted(
            {call[0] for task in self._recorded for turn in _turns(task) for call in turn.calls}
        )
        self._copies: dict[int, Copy] = {}

    @property
    def length(self) -> int:
        """How many tasks a copy has."""
        return len(self._recorded)

    def turns(self, number: int) -> list[Turn]:
        """The turns of a task."""
        copy, task = divmod(number, self.length)
        rewritten = self._copies.setdefault(copy, Copy(copy, self._names))
        return [
            Turn(
                rewritten(said),
                [(name, rewritten(a), rewritten(b)) for name, a, b in calls],
                rewritten(answer),
            )
            for said, calls, answer in _turns(self._recorded[task])
        ]


def _turns(messages: Sequence[dict[str, Any]]) -> Iterator[Turn]:
    results = [one["content"] or "" for one in messages if one["role"] == "tool"]
    said, calls, answer, done = "", list[tuple[str, str, str]](), "", 0
    for one in [*messages, {"role": "user", "content": ""}]:
        if one["role"] == "user":
            if said:
                yield Turn(said, calls, answer or "You are welcome.")
            said, calls, answer = one["content"] or "", [], ""
        elif one["role"] == "assistant":
            made: list[dict[str, Any]] = one.get("tool_calls") or []
            for call in made:
                function = call["function"]
                result = results[done] if done < len(results) else ""
                calls.append((function["name"], function["arguments"], result))
                done += 1
            answer = one["content"] or answer


def facts_of(turns: Sequence[Turn]) -> Iterator[tuple[str, str]]:
    """Questions about what tools said of users, each with its answer."""
    for call, _, result in (call for turn in turns for call in turn.calls):
        if call == "get_user_details" and result.startswith("{"):
            known = json.loads(result)
            name = f"{known['name']['first_name']} {known['name']['last_name']}"
            yield f"What is the email address of {name}?", known["email"]
            yield f"When is {name} born?", known["dob"]
            yield f"What is the zip code of the address of {name}?", known["address"]["zip"]
            yield f"At which street does {name} live?", known["address"]["address1"]
            if known["reservations"]:
                yield f"Which reservations does {name} have?", known["reservations"][0]
            if known["payment_methods"]:
                yield f"What are the payment methods of {name}?", next(iter(known["payment_methods"]))


# The agent


class Script(Asks):
    """The model of the agent: makes the calls of a turn one by one, and gives its answer."""

    wire, name = "openai", MODEL

    def __init__(self) -> None:
        self.turn = Turn("", [], "")
        self.results: list[str] = []
        self.requests = 0

    def begin(self, turn: Turn) -> None:
        """What is said next."""
        self.turn, self.results = turn, [result for _, _, result in turn.calls]
        self._left: list[Item] = [ToolCall(f"call_{new_id()}", name, given) for name, given, _ in turn.calls]
        self._left.append(Message("assistant", turn.answer))

    def send(self, rendered: Rendered, *, stream: bool = True, **terms: Any) -> Answering:
        """The next call, or the answer."""
        item = self._left.pop(0)
        self.requests += 1
        parsed = Parsed((item,), None, "calls" if isinstance(item, ToolCall) else "stop", MODEL)
        return Answering(_nothing(), lambda: parsed)

    def result(self, **_: Any) -> str:
        """What every tool returns: the next recorded result."""
        return self.results.pop(0)


class Writer(Asks):
    """Writes summaries: the first words of the last things that were said, some 1,500 characters."""

    wire, name = "openai", MODEL

    def send(self, rendered: Rendered, *, stream: bool = True, **terms: Any) -> Answering:
        """The summary of what a request is about."""
        lines = str(rendered.payload["messages"][-1]["content"]).splitlines()
        said = [line[:100] for line in lines if line.startswith(("user: ", "assistant: "))][-15:]
        parsed = Parsed((Message("assistant", "\n".join(said) or "Nothing."),), None, "stop", MODEL)
        return Answering(_nothing(), lambda: parsed)


async def _nothing() -> AsyncGenerator[Delta, None]:
    return
    yield


class AnyArguments(Signature):
    """The parameters of a recorded tool: whatever it was called with."""

    def schema(self) -> dict[str, Any]:
        return {"type": "object", "properties": {}, "additionalProperties": True}

    def read(self, given: Any) -> dict[str, Any]:
        return dict(given)


class Watch:
    """CPU time of searches, of choosing what of them is shown, and of the index, since the last look."""

    def __init__(self) -> None:
        self.searches: list[float] = []
        self.packing: list[float] = []
        self.indexing: list[float] = []
        self.inside = 0.0

    def watching(self) -> ExitStack:
        """Put clocks around them."""
        stack = ExitStack()
        clocks: tuple[tuple[Any, str, list[float]], ...] = (
            (recall, "recalled", self.searches),
            (Quotes, "select", self.packing),
            (Follower, "catch_up", self.indexing),
        )
        for where, verb, times in clocks:
            stack.enter_context(patch.object(where, verb, self._timed(getattr(where, verb), times)))
        return stack

    def clear(self) -> None:
        """Begin anew."""
        self.searches.clear()
        self.packing.clear()
        self.indexing.clear()

    def _timed(self, call: Any, times: list[float]) -> Any:
        def timed(*given: Any, **named: Any) -> Any:
            began = thread_time()
            try:
                return call(*given, **named)
            finally:
                times.append(1e3 * (thread_time() - began))
                if times is not self.indexing:  # that is within a search
                    self.inside += times[-1]

        return timed


# Figures


def resident() -> float:
    """What the process holds, in megabytes."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096 / 1e6


def sizes(path: Path) -> dict[str, float]:
    """Kilobytes on disk, by what they are."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
        rows = connection.execute(
            "SELECT at < 0, stream, sum(length(body)) FROM entries GROUP BY 1, 2"
        ).fetchall()
    found: dict[str, float] = {"log": 0.0, "receipts": 0.0, "checkpoint": 0.0}
    for is_part, stream, size in rows:
        kind = "checkpoint" if is_part else "receipts" if stream.startswith(".receipt") else "log"
        found[kind] += size / 1e3
    folder = Path(f"{path}-index")
    found["index"] = sum(one.stat().st_size for one in folder.glob("*")) / 1e3 if folder.exists() else 0.0
    found["file"] = (
        sum(one.stat().st_size for one in path.parent.glob(f"{path.name}*") if one.is_file()) / 1e3
    )
    return found


def edits_in(session: Session) -> int:
    """How many runs of what is shown an edit has changed, and summaries."""
    return sum(1 for _ in session.view().shape.notable())


def recalled(session: Session, facts: Sequence[tuple[str, str]]) -> float:
    """The share of the questions whose answer comes back."""
    template = Template(Recall(tokens=1_024), budget=Budget(window=WINDOW), model=MODEL)
    found = 0
    for question, answer in facts:
        context = session.build(template, input=Message("user", question))
        text = "\n".join(
            one.text for one in context.items if isinstance(one, Message) and one.text != question
        )
        found += re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", text) is not None
    return found / len(facts)


async def run(tasks: Tasks, way: str, count: int, path: Path) -> list[dict[str, Any]]:
    """Do so many tasks; the figures of each block."""
    session = Session.open("bench/endless", store=path)
    script, watch, rows = Script(), Watch(), list[dict[str, Any]]()
    tools = [
        Tool(script.result, name=name, description=f"{name}.", signature=_signature()) for name in tasks.tools
    ]
    sections = (Instructions(tasks.instructions), History(), Recall())
    template = Template(*sections, budget=Budget(window=WINDOW), model=MODEL)
    agent = Agent(session, model=script, template=template, tools=tools)
    if (compactor := WAYS[way]) is not None:
        session.compaction.use(compactor, Writer())
    facts, times, requests = list[tuple[str, str]](), list[float](), 0
    first = list(facts_of(tasks.turns(0)))
    for number in range(count):
        turns = tasks.turns(number)
        if number < ASKED_ABOUT:
            facts += facts_of(turns)
        with watch.watching():
            for turn in turns:
                script.begin(turn)
                watch.inside, began = 0.0, process_time()
                reply = await agent.ask(turn.said)
                times.append(1e3 * (process_time() - began) - watch.inside)
                assert reply.text == turn.answer, reply
        if (number + 1) % BLOCK == 0:
            row = _row(number + 1, times, script.requests - requests, watch, session, path)
            if number + 1 in (ASKED_ABOUT, tasks.length, count):
                row |= {"facts": await asyncio.to_thread(recalled, session, facts)}
                row |= {"first": await asyncio.to_thread(recalled, session, first)}
            rows.append(row)
            page.progress(f"{way} {json.dumps(row)}")
            times, requests = [], script.requests
            watch.clear()
    await session.aio.close()
    return rows


def _signature() -> AnyArguments:
    def called() -> str:
        return ""

    return AnyArguments(called)


def _row(
    done: int, turns: Sequence[float], requests: int, watch: Watch, session: Session, path: Path
) -> dict[str, Any]:
    return {
        "tasks": done,
        "items": session.view().revision,
        "shown": len(session.view()),
        "turns": len(turns),
        "turn": fmean(turns),
        "median": median(turns),
        "call": sum(turns) / requests,
        "search": median(watch.searches),
        "search_99": quantiles(watch.searches, n=100)[-1],
        "packing": median(watch.packing),
        "packing_99": quantiles(watch.packing, n=100)[-1],
        "indexing": fmean(watch.indexing),
        "memory": resident(),
        "edits": edits_in(session),
        **sizes(path),
    }


def table(way: str, rows: Sequence[dict[str, Any]], of_copy: int) -> str:
    """The figures of some blocks, and the last beside the first of the same tasks."""
    last = rows[-1]
    twin = next((row for row in rows if (last["tasks"] - row["tasks"]) % of_copy == 0), rows[0])
    done = {10, 50, 100, 200, 500, last["tasks"], twin["tasks"]}
    sizes = ("memory", "log", "receipts", "checkpoint", "index", "edits")
    cells = [
        [
            row["tasks"],
            row["items"],
            f"{row['turn']:.3g} ({row['median']:.3g})",
            row["call"],
            f"{row['search']:.3g} ({row['search_99']:.3g})",
            f"{row['packing']:.3g} ({row['packing_99']:.3g})",
            row["indexing"],
            *(round(row[key]) for key in sizes),
            f"{row['facts']:.0%} ({row['first']:.0%})" if "facts" in row else None,
        ]
        for row in rows
        if row["tasks"] in done
    ]
    head = ("tasks", "items", "turn", "call", "search", "packing", "indexing", *sizes, "facts")
    cpu, first = last["turn"] / twin["turn"], last["turn"] / rows[0]["turn"]
    memory = last["memory"] / rows[0]["memory"]
    said = (
        f"{way}: the last {BLOCK} tasks took {cpu:.2f} times the CPU of the same as tasks "
        f"{twin['tasks'] - BLOCK + 1} to {twin['tasks']}, and {first:.2f} times that of "
        f"the first {BLOCK}; the process held {memory:.2f} times as much as after those."
    )
    return f"{said}\n\n{page.table(head, cells)}"


def main() -> None:
    parser = page.options(__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--tasks", type=int, default=1_000, metavar="N")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS), metavar="NAME")
    parser.add_argument("--folder", type=Path, help="keeps the stores")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    tasks = Tasks(options.path)
    with ExitStack() as stack:
        folder = options.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if options.one:
            way = options.ways[0]
            path = folder / f"{way.replace(' ', '-').lower()}.db"
            print(json.dumps(asyncio.run(run(tasks, way, options.tasks, path))))
            return
        found: dict[str, list[dict[str, Any]]] = {}
        for way in options.ways:
            command = [sys.executable, __file__, options.path, "--one", "--ways", way, "--folder", folder]
            command += ["--tasks", options.tasks]
            done = subprocess.run([*map(str, command)], stdout=subprocess.PIPE, text=True, check=True)
            found[way] = json.loads(done.stdout)
        parts = [table(way, rows, tasks.length) for way, rows in found.items()]
        page.report(options, {"endless": "\n\n".join(parts)}, found)


if __name__ == "__main__":
    main()
