"""The report of a store: what requests cost, what caches served, why they broke, and what was wasted."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from heapq import nlargest
from itertools import groupby
from statistics import median
from typing import Any

from msgspec.structs import asdict

from quire.errors import QuireError
from quire.items import Item, Note, ToolCall, ToolResult, kind_of
from quire.reading.items import text_of
from quire.reading.source import Fields, Record, Source, counter_of
from quire.session import Comparison, Kept, Session, Spending, before_of, compare_requests, first_change
from quire.state import View, is_output
from quire.tokens import AS_OF, Definition, read_definition, schema_tokens, single_definitions

EXCHANGES = "exchanges"
"""The transcript in which the proxy notes how each request was answered."""

_LEAST_AGAIN, _LEAST_COST = 500, 0.0001
"""Tokens from which a break of the cache is worth a warning, and USD that are worth a word."""
_EXPLAINED = ("instructions", "tools", "section")
"""The causes that the first changed byte explains."""
_MOST_SCANNED, _ROWS, _EXCERPT = 2_000, 10, 60
_TOOLS_SHARE, _LEAST_REPLIES, _LEAST_TOOLS = 0.4, 10, 1_000
_LEAST_REPEATED = 4
_OVERSIZED = 40_000
"""The size of a result that is worth a warning, in characters."""


# The report


class Report(Record, frozen=True):
    """What the requests of a store used and wasted, those `since` a time.

    `first` is the median of the seconds to the first token. Costs are in USD at list prices of `prices_of`;
    `unpriced` counts the requests that have none. `breaks` are of caches, by cause.
    """

    since: float
    conversations: int
    requests: int
    input: int
    output: int
    cached: float | None
    cost: float
    unpriced: int
    prices_of: str
    first: float | None
    failed: int
    models: Sequence[Fields]
    breaks: Sequence[Fields]
    largest: Sequence[Fields]
    unused: Sequence[Fields]
    repeated: Sequence[Fields]


class _Sums:
    """What is added up conversation by conversation."""

    def __init__(self) -> None:
        self.spending = Spending()
        self.conversations = self.requests = self.failed = 0
        self.firsts = list[float]()
        self.models: dict[str, Spending] = {}
        self.breaks: dict[str, dict[str, Any]] = {}
        self.items: dict[str, tuple[int, str, Item]] = {}
        self.offered: dict[str, list[int]] = {}
        self.called = Counter[str]()
        self.repeated = list[Fields]()

    def add(self, session: Session, since: float) -> None:
        """Add a conversation."""
        receipts = session.receipts[:]
        if not any(kept.created_at >= since for kept in receipts):
            return
        self.conversations += 1
        for place, kept in enumerate(receipts):
            if kept.created_at >= since:
                self._add_request(kept, before_of(kept, receipts[:place]), str(session.place))
        self._add_items(session, receipts[-1])
        for item in session.view(EXCHANGES) if EXCHANGES in session.transcripts else ():
            told: Mapping[str, Any] = item.content if isinstance(item, Note) else {}
            if item.created_at >= since:
                self.failed += not told.get("whole") or told.get("status", 0) >= 400 or "error" in told
                self.firsts += filter(None, [told.get("first")])

    def _add_request(self, kept: Kept, before: Kept | None, address: str) -> None:
        spent, model = kept.spending, kept.model or ""
        self.requests += 1
        self.spending += spent
        self.models[model] = self.models.get(model, Spending()) + spent
        made = None if before is None else compare_requests(before, kept)
        if before is None or made is None or made.cause is None or made.cause.name == "short":
            return
        row = self.breaks.setdefault(made.cause.name, {"requests": 0, "tokens": 0, "cost": 0.0, "last": ""})
        row["requests"] += 1
        row["tokens"] += _tokens_behind(before, kept, made)
        row["cost"] += made.cost or 0.0
        row["last"] = f"{address}: {made.cause.reason}"

    def _add_items(self, session: Session, last: Kept) -> None:
        address, calls, counter = str(session.place), Counter[tuple[str, str]](), counter_of(session)
        for item in session.view().recorded():
            if isinstance(item, ToolCall):
                self.called[item.name] += 1
                calls[item.name, item.arguments] += 1
            self.items[item.id] = len(text_of(item)), address, item
        if len(self.items) > 10 * _ROWS:
            self.items = dict(nlargest(_ROWS, self.items.items(), key=lambda row: row[1][0]))
        for (name, arguments), times in calls.most_common(_ROWS):
            if times >= _LEAST_REPEATED:
                row = {"address": address, "name": name, "arguments": arguments[:_EXCERPT], "times": times}
                self.repeated.append(row)
        for tool in [] if last.is_bare else single_definitions(last.tools):
            self.offered.setdefault(read_definition(tool)[0], []).append(schema_tokens([tool], counter))

    def largest(self, source: Source) -> Iterator[Fields]:
        """The largest items, in tokens."""
        for _, address, item in nlargest(_ROWS, self.items.values(), key=lambda row: row[0]):
            counted = counter_of(source.session(address)).count(item)
            name = getattr(item, "name", None) or getattr(item, "role", None)
            yield {"address": address, "id": item.id, "kind": kind_of(item), "name": name, "tokens": counted}


def write_report(source: Source, since: float = 0.0) -> Report:
    """Sum up the requests since a time; a conversation that cannot be read is left out."""
    sums = _Sums()
    for one in source.recent():
        if one.time is not None and one.time < since:
            break
        try:
            sums.add(source.session(one.place), since)
        except QuireError:
            continue
    spent = sums.spending
    unused = [
        {"name": name, "tokens": max(sizes), "conversations": len(sizes)}
        for name, sizes in sums.offered.items()
        if not sums.called[name]
    ]
    models = [
        {
            "model": model,
            "requests": one.requests,
            "cost": one.cost,
            "cached": one.cached,
            **asdict(one.usage),
        }
        for model, one in sums.models.items()
    ]
    breaks = [{"cause": cause, **row} for cause, row in sums.breaks.items()]
    return Report(
        since=since,
        conversations=sums.conversations,
        requests=sums.requests,
        input=spent.usage.input,
        output=spent.usage.output,
        cached=spent.cached,
        cost=spent.cost,
        unpriced=spent.unpriced,
        prices_of=AS_OF,
        first=median(sums.firsts) if sums.firsts else None,
        failed=sums.failed,
        models=sorted(models, key=lambda row: -row["cost"]),
        breaks=sorted(breaks, key=lambda row: -row["tokens"]),
        largest=sorted(sums.largest(source), key=lambda row: -row["tokens"]),
        unused=nlargest(_ROWS, unused, key=lambda row: row["tokens"] * row["conversations"]),
        repeated=nlargest(_ROWS, sums.repeated, key=lambda row: row["times"]),
    )


# Warnings


def describe_break(before: Kept, kept: Kept, made: Comparison) -> list[str]:
    """Say why a cache did not serve a request, what that cost, and the bytes that caused it; else nothing."""
    if made.cause is None or made.cause.name == "short":
        return []
    tokens = _tokens_behind(before, kept, made)
    if tokens < _LEAST_AGAIN:
        return []
    cost = f", {made.cost:.4f} USD more" if made.cost and made.cost >= _LEAST_COST else ""
    text = f"cache break: {made.cause.reason}; {tokens:,} tokens were not served{cost}"
    if made.cause.name not in _EXPLAINED:
        return [text]
    try:
        first = first_change(before, kept)
    except QuireError:
        return [text]
    if first is None:
        return [text]
    was, new = (repr(one[:_EXCERPT]) for one in (first.was, first.now))
    return [f"{text}; byte {first.byte:,}, {first.path}: {was} → {new}"]


def _tokens_behind(before: Kept, kept: Kept, made: Comparison) -> int:
    """The tokens that were not served; what changed at the start is new, with much that did not."""
    is_start = made.cause is not None and made.cause.name in _EXPLAINED
    return min(before.tokens, kept.tokens) - made.tokens if is_start else made.again


def find_waste(view: View, tools: Sequence[Definition], schemas: int, tokens: int) -> list[str]:
    """Say what a request spends its window on: tools that nobody calls, calls repeated, oversized results."""
    recent = view[-_MOST_SCANNED:]
    return [*_unused(recent, tools, schemas, tokens), *_repeated(recent), *_oversized(recent)]


def unused_tools(items: Sequence[Item], tools: Sequence[Definition]) -> list[str]:
    """Return the names of tools that were never called."""
    called = {item.name for item in items if isinstance(item, ToolCall)}
    return [name for tool in tools if (name := read_definition(tool)[0]) not in called]


def _unused(items: Sequence[Item], tools: Sequence[Definition], schemas: int, tokens: int) -> Iterator[str]:
    replies = sum(1 for is_reply, _ in groupby(items, is_output) if is_reply)
    if schemas < max(_TOOLS_SHARE * tokens, _LEAST_TOOLS) or replies < _LEAST_REPLIES:
        return
    if names := unused_tools(items, tools):
        listed = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        yield f"tools take {schemas:,} tokens of each request, and these were never called: {listed}"


def _repeated(items: Sequence[Item]) -> Iterator[str]:
    calls = Counter((item.name, item.arguments) for item in items if isinstance(item, ToolCall))
    for (name, arguments), times in calls.most_common():
        if times < _LEAST_REPEATED:
            return
        if times & (times - 1) == 0:  # at 4, 8, 16 …: it is said again where it goes on
            yield f"{name} was called {times} times with the same arguments: {arguments[:_EXCERPT]}"


def _oversized(items: Sequence[Item]) -> Iterator[str]:
    for item in items:
        if isinstance(item, ToolResult) and (size := len(item.text)) >= _OVERSIZED:
            yield f"a result of {item.name} has {size:,} characters"
