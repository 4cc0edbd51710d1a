"""Recorded conversations: use of the window against the bill, and whether every request is valid and fits.

Usage: python bench/recorded.py PATH [--budgets N ...] [--ways NAME ...] [--page FILE]
       python bench/recorded.py PATH --wires [--limit N] [--json]

The file has one JSON object a line, with `messages` as OpenAI's chat API has them. All conversations that
begin with the commonest instructions are joined behind one copy of these. Before each reply of the model a
session builds what it would be sent. Use is the share of the budget that a request takes, over all calls for
which the whole conversation is longer than the budget. The cached share is the longest beginning that a
request has in common with the one before it. A cached token costs 0.1 and another one 1.25.

With `--wires`, what comes before each call is truncated to several limits, rendered to each wire and checked.
`refused` are those where what must stay is larger than the limit: nothing is sent. Of the rest, `over` are
those that are larger by the counter that truncated.
"""

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import page
from quire import Budget, Message, Session, Template
from quire.context import Context
from quire.errors import Irreducible, OverBudget
from quire.items import Item
from quire.memory import Recall
from quire.providers import PROVIDERS
from quire.sections import Ask, History, Settings
from quire.state import Transcript, is_output, truncate
from quire.stores import MemoryStore
from quire.tokens import Definition, counter_for

BUDGETS = (2_000, 4_000, 8_000, 32_000, 128_000)
CACHED, NOT_CACHED = 0.1, 1.25
PINNED_EVERY = 40
"""One user message is pinned after so many calls."""

MODELS = {
    "openai": "gpt-5.6",
    "openai-responses": "gpt-5.6",
    "anthropic": "claude-sonnet-4-5",
    "gemini": "gemini-2.5-pro",
}
LIMITS = (1_000, 2_000, 4_000, 8_000)
MODEL = MODELS["openai"]
read = PROVIDERS["openai"].read_history


def conversations(path: Path) -> Iterator[list[dict[str, Any]]]:
    with path.open(encoding="utf-8") as lines:
        yield from (json.loads(line)["messages"] for line in lines if line.strip())


# Use of the window against the bill


class Changing(Settings):
    """A block after the history that differs in each call, of as many tokens as its turn in a list says."""

    def __init__(self, sizes: Sequence[int]) -> None:
        super().__init__("changing")
        self._sizes, self._calls = sizes, 0

    async def items(self, ask: Ask) -> Sequence[Item]:
        self._calls += 1
        size = self._sizes[self._calls % len(self._sizes)]
        return [Message("system", f"State {self._calls}:" + " now" * size)] if size else []


WAYS = {
    "History()": lambda: [History()],
    "History(closely=True)": lambda: [History(closely=True)],
    "+ a block of 300": lambda: [History(), Changing([300])],
    "+ a block of 0 to 600": lambda: [History(), Changing([0, 300, 50, 600, 0, 100])],
    "+ Recall()": lambda: [History(), Recall()],
    "+ pins": lambda: [History()],
}
"""What each row's template has."""


def joined(path: Path) -> list[Item]:
    """All conversations with the commonest instructions, behind one copy of these."""
    alike: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for first, *rest in conversations(path):
        if first["role"] == "system":
            alike[first["content"]] += rest
    content, rest = max(alike.items(), key=lambda pair: len(pair[1]))
    return read([{"role": "system", "content": content}, *rest])


def replayed(items: Sequence[Item], way: str, budget: int) -> dict[str, float]:
    """Build each call of the conversation, and sum up use, tokens and cached tokens."""
    count = remembered(counter_for(MODEL).count)
    template = Template(*WAYS[way](), budget=Budget(window=budget), model=MODEL)
    session = Session.open("bench/one", store=MemoryStore())
    uses: list[float] = []
    sent = cached = whole = calls = refused = 0
    last: Sequence[Item] = ()
    for step in steps(items, template, session):
        before = items[step.place - 1]
        whole += count(before)
        is_due = way == "+ pins" and calls % PINNED_EVERY == 0
        if is_due and isinstance(before, Message) and before.role == "user":
            session.pin(before.id)
        calls, refused = calls + step.is_call, refused + (step.is_call and step.context is None)
        if step.context is not None:
            context = step.context
            sizes = [count(one) for one in context.items]
            sent, cached = sent + sum(sizes), cached + sum(sizes[: shared(last, context.items)])
            last = context.items
            if whole > budget:
                uses.append(context.receipt.tokens / budget)
    return _figures(uses, sent, cached, calls, refused)


class Step(NamedTuple):
    """A place in a recorded conversation: whether a reply of the model begins there, and what it was sent.

    Without a context nothing was sent: there was no room.
    """

    place: int
    is_call: bool
    context: Context | None


def steps(
    items: Sequence[Item], template: Template, session: Session, tools: Sequence[Definition] = ()
) -> Iterator[Step]:
    """Record items one by one; before each reply of the model, build what it would be sent."""
    session.append(items[0])
    for place, (before, item) in enumerate(pairwise(items), 1):
        is_call, context = is_output(item) and not is_output(before), None
        if is_call:
            with suppress(OverBudget, Irreducible):
                context = session.build(template, tools=tools)
        yield Step(place, is_call, context)
        session.append(item)


def remembered(count: Callable[[Item], int]) -> Callable[[Item], int]:
    """Return a count that counts an item once; what is recalled changes under one id."""
    known: dict[str, tuple[Item, int]] = {}

    def counted(item: Item) -> int:
        if item.id not in known or known[item.id][0] != item:
            known[item.id] = item, count(item)
        return known[item.id][1]

    return counted


def shared(last: Sequence[Item], items: Sequence[Item]) -> int:
    """Return how many items two requests begin with in common."""
    pairs = enumerate(zip(last, items, strict=False))
    return next((place for place, (one, other) in pairs if one != other), min(len(last), len(items)))


def _figures(uses: list[float], sent: int, cached: int, calls: int, refused: int) -> dict[str, float]:
    uses.sort()
    return {
        "mean": sum(uses) / max(len(uses), 1),
        "p10": uses[len(uses) // 10] if uses else 0.0,
        "min": uses[0] if uses else 0.0,
        "cached": cached / sent if sent else 0.0,
        "bill": CACHED * cached + NOT_CACHED * (sent - cached),
        "sent": sent,
        "calls": calls,
        "refused": refused,
    }


Found = dict[str, dict[str, dict[str, float]]]
"""By way and budget: the figures."""


def tables(found: Found) -> Iterator[str]:
    """A row for each way, a column for each budget."""
    head = ("", *(f"{int(budget):,}" for budget in next(iter(found.values()))))

    def rows(cell: Callable[[dict[str, float]], str]) -> list[list[str]]:
        return [[way, *map(cell, figures.values())] for way, figures in found.items()]

    use = rows(lambda one: f"{one['mean']:.0%}, {one['min']:.0%}")
    bill = rows(lambda one: f"{one['cached']:.1%}, {one['bill'] / 1e6:.2f}")
    yield f"Use of the window, the mean and the lowest, by budget:\n\n{page.table(head, use)}"
    yield f"Cached share, and the bill in millions of tokens:\n\n{page.table(head, bill)}"


# Every wire, within a limit


def wires(options: argparse.Namespace) -> list[dict[str, Any]]:
    """The counts of each limit and wire."""
    tally = {(limit, wire): Counter[str]() for limit in LIMITS for wire in MODELS}
    for messages in islice(conversations(options.path), options.limit):
        transcript = Transcript()
        whole = iter(read(messages))  # read as one history, so that results know the names of their tools
        for number, message in enumerate(messages):
            if message["role"] == "assistant" and number:
                for (limit, wire), counts in tally.items():
                    judge(transcript, limit, wire, counts)
            transcript.extend(islice(whole, len(read([message]))))
    counted = ("calls", "refused", "truncated", "faults", "over")
    return [
        {"wire": wire, "limit": limit, **{what: counts[what] for what in counted}}
        for (limit, wire), counts in tally.items()
    ]


def judge(transcript: Transcript, limit: int, wire: str, counts: Counter[str]) -> None:
    """One call within one limit on one wire."""
    counts["calls"] += 1
    # A fork closes calls that wait; where there are some, it is read anew, and they still wait.
    fork = Transcript(transcript.recorded()) if transcript.view.pending() else transcript.fork()
    model, counter = MODELS[wire], counter_for(MODELS[wire])
    try:
        edit = truncate(fork.view, tokens=limit, counter=counter)
    except Irreducible:
        counts["refused"] += 1
        return
    if edit is not None:
        fork.append(edit)
        counts["truncated"] += 1
    payload = PROVIDERS[wire].render(fork.view, model=model).payload
    counts["faults"] += len(PROVIDERS[wire].check(payload, model))
    counts["over"] += fork.view.tokens(counter) > limit


def main() -> None:
    parser = page.options(__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--budgets", type=int, nargs="+", default=BUDGETS, metavar="N")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS), metavar="NAME")
    parser.add_argument("--wires", action="store_true")
    parser.add_argument("--limit", type=int, help="so many conversations")
    options = parser.parse_args()
    if options.wires:
        rows = wires(options)
        page.report(options, {"wires": page.table(list(rows[0]), [list(row.values()) for row in rows])}, rows)
        return
    items, found = joined(options.path), Found()
    for way in options.ways:
        for budget in options.budgets:
            found.setdefault(way, {})[str(budget)] = replayed(items, way, budget)
            page.progress(f"{way} {budget}: {found[way][str(budget)]}")
    page.report(options, {"frontier": "\n\n".join(tables(found))}, found)


if __name__ == "__main__":
    main()
