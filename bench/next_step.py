"""What the next step needs: whether the arguments of the next recorded call stand in what would be sent.

Usage: python bench/next_step.py PATH [--budgets N ...] [--ways NAME ...] [--joined] [--page FILE] [--json]

The file has one JSON object a line, with `messages` as OpenAI's chat API has them. Each conversation is
replayed in a session of its own; with `--joined`, those with the commonest instructions as one. Before each
reply that has calls, a session builds what it would be sent. The values are the strings and numbers in the
arguments of the calls, lists and objects taken apart. A value that stands nowhere in the conversation before
the reply does not count, so the whole history has 100 %; nor does one that stands in the instructions, which
are always sent. Replies before which the whole conversation is within the budget do not count.

- `values`: the share that stands in the request as words of their own, letter case aside. In the ledger, a
  value counts only behind its field, call or speaker.
- `reached`: the share that stands there, or in what one call of `read_back` gives for a handle.
- `sent`: the tokens of a request in the mean. `cached`: the share that a request has in common with the one
  before it. `bill`: the tokens in thousands, where a cached one costs 0.1 and another one 1.25.
- `ledger`: its tokens in the mean of the requests that have one, and the most. `used`: the share of the
  values in it that a later call has.
- `regret`: summaries after which a value was missing that the next call has, and which stood under them; the
  item is then read again, and shown in the next request. `check`: the CPU time of checking a summary.
- `refused`: requests that were not built because what must stay is larger than the budget.

No model is asked. `Summarize` has a writer whose summaries say nothing, so its row is what is left without
one that is any good.
"""

import argparse
import asyncio
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from time import thread_time
from typing import Any, NamedTuple

import msgspec

import page
from quire import Budget, Message, Session, Template
from quire.agent.builtin import read_back_tools
from quire.agent.tools import call_tool
from quire.agent.window import characters_within
from quire.compactors import ClearToolResults, Compactor, Offload, Summarize, TruncateOldest, plan
from quire.context import Context
from quire.items import Item, Reasoning, ToolCall, ToolResult
from quire.memory import Wishes
from quire.models import Scripted
from quire.sections import Ask, History, Section, Settings
from quire.state import is_output
from quire.stores import MemoryStore
from quire.tokens import counter_for
from recorded import CACHED, MODEL, NOT_CACHED, conversations, joined, read, remembered, shared, steps

BUDGETS = (2_500, 4_000, 8_000)
DUMPED = 300
"""The tokens of the bare dump."""


class Dump(Settings):
    """The distinct values of older results and arguments, newest first, without a word on what they are.

    Older is what is before the newest half of the room that the instructions leave.
    """

    def __init__(self, budget: int) -> None:
        super().__init__("dump", required=False)
        self._budget = budget

    async def items(self, ask: Ask) -> Sequence[Item]:
        kept, count = dict[str, None](), counter_for(MODEL).count
        tokens, view = 0, ask.view()
        left = (self._budget - DUMPED - count(view[0])) // 2
        for item in reversed(view):
            left -= count(item)
            if left > 0:
                continue
            for value in leaves(item):
                if value not in kept and tokens < DUMPED:
                    kept[value] = None
                    tokens += count(Message("user", f" {value}", created_at=0.0)) - 4
        return [Message("user", " ".join(kept))] if kept else []


PLAIN = partial(History, ledger=False, shortens=False)
"""A history that leaves out its oldest items and says nothing of them."""


class Way(NamedTuple):
    """The sections of a template, and a compactor."""

    sections: Callable[[int], list[Section]]
    compactor: Compactor | None = None
    is_whole: bool = False
    reads_back: bool = False
    """Whether the tool is offered that gives what is not shown whole."""
    regrets: bool = False
    """Whether an item is read again when a value of it is missing that a summary took out of view."""


WAYS = {
    "whole": Way(lambda _: [PLAIN()], is_whole=True),
    "newest that fits": Way(lambda _: [History(closely=True)]),
    "newest, cut in steps": Way(lambda _: [PLAIN()]),
    "+ short results": Way(lambda _: [History(ledger=False)]),
    "+ ledger": Way(lambda _: [History(shortens=False)]),
    "History(): both": Way(lambda _: [History()]),
    "History(), and read_back": Way(lambda _: [History()], reads_back=True),
    "an agent's, and read_back": Way(lambda _: [History(), Wishes(scope=False)], reads_back=True),
    "TruncateOldest()": Way(lambda _: [PLAIN()], TruncateOldest()),
    "ClearToolResults()": Way(lambda _: [PLAIN()], ClearToolResults()),
    "Offload()": Way(lambda _: [PLAIN()], Offload(larger_than=100), reads_back=True),
    "Summarize()": Way(lambda _: [PLAIN()], Summarize(floor=0.4, ceiling=1.0, unit="tokens")),
    "Summarize(), and regret": Way(
        lambda _: [History()], Summarize(floor=0.4, ceiling=1.0, unit="tokens"), reads_back=True, regrets=True
    ),
    "bare dump of 300 tokens": Way(lambda budget: [Dump(budget), PLAIN()]),
}


# Values


def leaves(item: Item) -> Iterator[str]:
    """The values in the arguments of a call or in a result, lists and objects taken apart."""
    if isinstance(item, ToolCall):
        yield from leaves_of(_decoded(item.arguments))
    elif isinstance(item, ToolResult):
        yield from leaves_of(_decoded(item.text))


def leaves_of(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from leaves_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves_of(inner)
    elif isinstance(value, str | int | float) and not isinstance(value, bool) and str(value).strip():
        yield str(value)


def _decoded(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def normal(text: str) -> str:
    """A text for comparing: letter case, spaces, and how numbers are written do not matter."""
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text.casefold())
    return " ".join(re.sub(r"(?<=\d)\.0+\b", "", text).split())


def text_of(item: Item) -> str:
    """All that a model reads of an item."""
    if isinstance(item, ToolCall):
        return "\n".join((item.name, item.arguments, *leaves(item)))
    if isinstance(item, Message | ToolResult):
        return "\n".join((item.text, *leaves(item)))
    return item.text if isinstance(item, Reasoning) else str(getattr(item, "text", ""))


@cache
def _pattern(value: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(value)}(?!\w)")


def stands(value: str, text: str) -> bool:
    """Whether a value stands in a text as words of its own; both are normal."""
    return value in text and _pattern(value).search(text) is not None


_NAMED = re.compile(r"(?:^|[\s,;(])[^\s:=(]*[:=(]\s*(.*)", re.DOTALL)
"""What follows a field, a call or a speaker in a line."""


def named_in(block: str) -> str:
    """What stands in the lines of a ledger behind something that says what it is."""
    found = (_NAMED.search(line) for line in block.splitlines())
    return "\n".join(match[1] for match in found if match)


# Replaying


class Figures:
    """What is summed up over all calls of one way and budget."""

    def __init__(self) -> None:
        self.calls = self.steps = self.refused = self.said = self.found = self.reached = 0
        self.sent = self.cached = 0
        self.ledgers: list[int] = []
        self.told = self.used = 0
        self.summaries = self.regretted = self.needed = self.again = 0
        self.checks: list[float] = []

    def row(self) -> dict[str, float]:
        tokens = self.ledgers
        return {
            "values": self.found / max(self.said, 1),
            "reached": self.reached / max(self.said, 1),
            "sent": self.sent / max(self.calls - self.refused, 1),
            "cached": self.cached / max(self.sent, 1),
            "bill": CACHED * self.cached + NOT_CACHED * (self.sent - self.cached),
            "ledger": sum(tokens) / max(len(tokens), 1),
            "largest": max(tokens, default=0),
            "used": self.used / max(self.told, 1),
            "summaries": self.summaries,
            "regretted": self.regretted,
            "needed": self.needed,
            "again": self.again,
            "check": 1e3 * sum(self.checks) / max(len(self.checks), 1),
            "refused": self.refused,
            "steps": self.steps,
        }


_READS = read_back_tools()[0]
_HANDLE = re.compile(r"(?<!\w)(?:#\d+|output-[0-9a-f]{10})(?!\w)")


class Replay:
    """One conversation that is replayed in one way."""

    def __init__(self, items: Sequence[Item], figures: Figures, budget: int) -> None:
        self._items, self._figures, self._budget = items, figures, budget
        self._whole = 0
        self._texts = [normal(text_of(item)) for item in items]
        self._count = remembered(counter_for(MODEL).count)
        self._last: Sequence[Item] = ()
        self._block = ""

    def run(self, way: Way) -> None:
        """Build what each call would be sent, and add up what was found in it."""
        window = 1_000_000 if way.is_whole else self._budget
        template = Template(*way.sections(window), budget=Budget(window=window), model=MODEL)
        writer = Scripted(["They talked, and went on."], repeat=True)
        store = MemoryStore()
        session = Session.open("bench/one", store=store, compactor=way.compactor, model=writer)
        self._regrets, missing = way.regrets, dict[str, str]()
        for step in steps(self._items, template, session, [_READS.definition] if way.reads_back else ()):
            self._whole += self._count(self._items[step.place - 1])
            if step.context is not None and missing:
                shown = {item.id for item in step.context.items}
                self._figures.again += sum(name in shown for name in missing.values())
                missing = {}
            if step.is_call:
                missing = self._judge(step.place, step.context, session)
                self._read_again(step.place, missing, session)
        past = [one for one in session.compaction.past() if one.model and one.fate == "kept"]
        self._figures.summaries += len(past)
        self._figures.regretted += sum(bool(one.regrets) for one in past)

    def _read_again(self, place: int, missing: dict[str, str], session: Session) -> None:
        """Record that a model reads the items again that hold what is missing."""
        self._figures.needed += len(missing)
        for number, name in enumerate(missing.values()):
            call_id = f"again-{place}-{number}"
            session.append(
                ToolCall(call_id, "read_back", f'{{"handle": "{name}"}}'),
                ToolResult(call_id, "read_back", "(read)", extras={"quire.of": [name]}),
            )

    def _judge(self, place: int, context: Context | None, session: Session) -> dict[str, str]:
        """Add up what was found; returns what is missing, with the items under a summary that hold it."""
        figures = self._figures
        figures.calls += 1
        figures.refused += context is None
        if context is not None:
            sizes = [self._count(one) for one in context.items]
            figures.sent += sum(sizes)
            figures.cached += sum(sizes[: shared(self._last, context.items)])
            self._last = context.items
            self._judge_ledger(place, context.items)
        values = self._values(place)
        if not values or self._whole <= self._budget:
            return {}
        figures.steps += 1
        before = "\n".join(self._texts[:place])
        said = [value for value in values if stands(value, before) and not stands(value, self._texts[0])]
        figures.said += len(said)
        if context is not None:
            text = "\n".join(map(self._read, context.items))
            missing = [value for value in said if not stands(value, text)]
            named = list(self._read_back(context.items, session)) if missing else []
            figures.found += len(said) - len(missing)
            figures.reached += len(said) - sum(
                not any(stands(value, one) for one in named) for value in missing
            )
            return dict(self._summarised(place, missing, session)) if self._regrets else {}
        return {}

    def _summarised(self, place: int, missing: Iterable[str], session: Session) -> Iterator[tuple[str, str]]:
        view = session.view()
        for value in missing:
            for at in range(place - 1, -1, -1):
                item = self._items[at]
                if stands(value, self._texts[at]) and view.fate(item.id).state == "summarised":
                    yield value, item.id
                    break

    def _values(self, place: int) -> set[str]:
        """The values of the calls in the reply that begins at a place."""
        found = set[str]()
        for item in self._items[place:]:
            if not is_output(item):
                break
            found.update(map(normal, leaves(item)))
        return found - {""}

    def _read(self, item: Item) -> str:
        return normal(named_in(item.text)) if is_ledger(item) else normal(text_of(item))  # type: ignore[union-attr]

    def _read_back(self, items: Iterable[Item], session: Session) -> Iterator[str]:
        """What one call of the tool gives, for each handle, in the room that an agent allows it."""
        room = partial(characters_within, counter_for(MODEL), self._budget // 4)
        for handle in dict.fromkeys(_HANDLE.findall("\n".join(map(text_of, items)))):
            outcome, _ = asyncio.run(call_tool(_READS, {"handle": handle}, session=session, room=room))
            given = str(outcome.content)
            yield normal(
                "\n".join((given, *leaves_of(_decoded(given.rpartition("\n[characters")[0] or given))))
            )

    def _judge_ledger(self, place: int, items: Iterable[Item]) -> None:
        """Count the ledger, and, when it is another one than before, its values that later calls have."""
        for item in items:
            if isinstance(item, Message) and is_ledger(item):
                self._figures.ledgers.append(self._count(item))
                if item.text != self._block:
                    self._block = item.text
                    told = values_in(item.text)
                    later = {
                        normal(value)
                        for one in self._items[place:]
                        if isinstance(one, ToolCall)
                        for value in leaves(one)
                    }
                    self._figures.told += len(told)
                    self._figures.used += len(told & later)


def is_ledger(item: Item) -> bool:
    """Whether an item is the ledger of a history."""
    return "/ledger/" in item.id


def values_in(block: str) -> set[str]:
    """The values of a ledger: what stands between its marks of fields, calls and lists."""
    texts = re.split(r"[\n,;()=|\[\]]|: |->|→", normal(named_in(block)))
    return {text.strip(" \"'.") for text in texts} - {""}


def measured(groups: Sequence[Sequence[Item]], way: Way, budget: int) -> dict[str, float]:
    figures = Figures()
    with checks_timed(figures.checks):
        for items in groups:
            Replay(items, figures, budget).run(way)
    return figures.row()


@contextmanager
def checks_timed(times: list[float]) -> Iterator[None]:
    """Collect the CPU time of each check of a summary."""
    with_losses = plan._with_losses

    def timed(*arguments: Any) -> str:
        start = thread_time()
        text = with_losses(*arguments)
        times.append(thread_time() - start)
        return text

    plan._with_losses = timed
    try:
        yield
    finally:
        plan._with_losses = with_losses


Found = dict[str, dict[str, dict[str, float]]]
"""By budget and way: the figures."""


def tables(found: Found) -> Iterator[str]:
    """A row for each way; of each budget the shares of values, the cached share and the bill."""
    columns = ("values", "reached", "cached", "bill")
    head = ("", *(f"{int(budget):,}: {column}" for budget in found for column in columns))
    rows = [
        (way, *(cell for ways in found.values() for cell in _cells(ways[way])))
        for way in next(iter(found.values()))
    ]
    yield page.table(head, rows)
    for budget, ways in found.items():
        summaries = [f"{way}: {_of_summaries(one)}." for way, one in ways.items() if one["summaries"]]
        if summaries:
            yield f"At {int(budget):,} tokens: {' '.join(summaries)}"


def _cells(one: dict[str, float]) -> tuple[str | int, ...]:
    shares = (f"{one[share]:.1%}" for share in ("values", "reached", "cached"))
    return *shares, round(one["bill"] / 1e3)


def _of_summaries(one: dict[str, float]) -> str:
    text = f"{one['summaries']:,} summaries, each checked in {one['check']:.1f} ms"
    if not one["needed"]:
        return text
    return f"{text}, {one['regretted']:,} regretted; {one['again']:,} of {one['needed']:,} values shown again"


def main() -> None:
    parser = page.options(__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--budgets", type=int, nargs="+", default=BUDGETS, metavar="N")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS), metavar="NAME")
    parser.add_argument("--joined", action="store_true", help="all with the commonest instructions as one")
    options: argparse.Namespace = parser.parse_args()
    groups = [joined(options.path)] if options.joined else [*map(read, conversations(options.path))]
    found = Found()
    for budget in options.budgets:
        for way in options.ways:
            one = found.setdefault(str(budget), {})[way] = measured(groups, WAYS[way], budget)
            page.progress(f"{way} {budget}: {one}")
    name = "next step, joined" if options.joined else "next step"
    page.report(options, {name: "\n\n".join(tables(found))}, found)


if __name__ == "__main__":
    main()
