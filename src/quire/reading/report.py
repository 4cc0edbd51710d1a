"""The report of a store: costs, cache hits, cache breaks with their causes, and waste."""

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
from quire.session import (
    Comparison,
    Session,
    Spending,
    StoredReceipt,
    before_of,
    compare_requests,
    first_change,
)
from quire.state import View, is_output
from quire.tokens import AS_OF, Definition, read_definition, schema_tokens, single_definitions

EXCHANGES = "exchanges"
"""The transcript in which the proxy records the outcome of each request."""

_MIN_RESENT_TOKENS, _MIN_SHOWN_COST = 500, 0.0001
"""The least tokens of a cache break with a warning, and the least USD that it mentions."""
_AT_START = ("instructions", "tools", "section")
"""The causes of a break at the start of a request, which the first changed byte explains."""
_MAX_SCANNED, _ROWS, _EXCERPT = 2_000, 10, 60
_TOOLS_SHARE, _LEAST_REPLIES, _LEAST_TOOLS = 0.4, 10, 1_000
"""Unused tools are named after so many replies, if tools take this share and so many tokens of a request."""
_LEAST_REPEATED = 4
"""The least times of one call that are reported."""
_OVERSIZED = 40_000
"""The least characters of a result with a warning."""


# The report


class Report(Record, frozen=True):
    """What the requests of a store `since` a time used and wasted.

    `cached` is the share of the input that a cache served, and `first` the median of the seconds to the first
    token. Costs are in USD at list prices; `prices_of` is their month. `unpriced` counts the requests without
    a price. `breaks` are cache breaks by cause, `unused` are tools, and `repeated` are calls.
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
    """The sums of a report, added up conversation by conversation."""

    def __init__(self) -> None:
        self.spending = Spending()
        self.conversations = self.requests = self.failed = 0
        self.first_token_seconds = list[float]()
        self.models: dict[str, Spending] = {}
        self.breaks: dict[str, dict[str, Any]] = {}
        self.items: dict[str, tuple[int, str, Item]] = {}
        self.tool_sizes: dict[str, list[int]] = {}
        self.call_counts = Counter[str]()
        self.repeated = list[Fields]()

    def add(self, session: Session, since: float) -> None:
        """Add a conversation."""
        receipts = session.receipts[:]
        if not any(receipt.created_at >= since for receipt in receipts):
            return
        self.conversations += 1
        for index, receipt in enumerate(receipts):
            if receipt.created_at >= since:
                self._add_request(receipt, before_of(receipt, receipts[:index]), str(session.place))
        self._add_items(session, receipts[-1])
        for item in session.view(EXCHANGES) if EXCHANGES in session.transcripts else ():
            answer: Mapping[str, Any] = item.content if isinstance(item, Note) else {}
            if item.created_at >= since:
                self.failed += not answer.get("whole") or answer.get("status", 0) >= 400 or "error" in answer
                self.first_token_seconds += filter(None, [answer.get("first")])

    def _add_request(self, receipt: StoredReceipt, before: StoredReceipt | None, address: str) -> None:
        spent, model = receipt.spending, receipt.model or ""
        self.requests += 1
        self.spending += spent
        self.models[model] = self.models.get(model, Spending()) + spent
        comparison = None if before is None else compare_requests(before, receipt)
        cause = None if comparison is None else comparison.cause
        if before is None or comparison is None or cause is None or cause.name == "short":
            return
        row = self.breaks.setdefault(cause.name, {"requests": 0, "tokens": 0, "cost": 0.0, "last": ""})
        row["requests"] += 1
        row["tokens"] += _tokens_not_served(before, receipt, comparison)
        row["cost"] += comparison.cost or 0.0
        row["last"] = f"{address}: {cause.reason}"

    def _add_items(self, session: Session, last: StoredReceipt) -> None:
        address, calls, counter = str(session.place), Counter[tuple[str, str]](), counter_of(session)
        for item in session.view().recorded():
            if isinstance(item, ToolCall):
                self.call_counts[item.name] += 1
                calls[item.name, item.arguments] += 1
            self.items[item.id] = len(text_of(item)), address, item
        if len(self.items) > 10 * _ROWS:
            self.items = dict(nlargest(_ROWS, self.items.items(), key=lambda row: row[1][0]))
        for (name, arguments), times in calls.most_common(_ROWS):
            if times >= _LEAST_REPEATED:
                row = {"address": address, "name": name, "arguments": arguments[:_EXCERPT], "times": times}
                self.repeated.append(row)
        for tool in [] if last.is_bare else single_definitions(last.tools):
            self.tool_sizes.setdefault(read_definition(tool)[0], []).append(schema_tokens([tool], counter))

    def largest(self, source: Source) -> Iterator[Fields]:
        """Yield the largest items with their tokens."""
        for _, address, item in nlargest(_ROWS, self.items.values(), key=lambda row: row[0]):
            counted = counter_of(source.session(address)).count(item)
            name = getattr(item, "name", None) or getattr(item, "role", None)
            yield {"address": address, "id": item.id, "kind": kind_of(item), "name": name, "tokens": counted}


def write_report(source: Source, since: float = 0.0) -> Report:
    """Sum up the requests since a time, without conversations that cannot be read."""
    sums = _Sums()
    for recent in source.recent():
        if recent.time is not None and recent.time < since:
            break
        try:
            sums.add(source.session(recent.place), since)
        except QuireError:
            continue
    spent = sums.spending
    unused = [
        {"name": name, "tokens": max(sizes), "conversations": len(sizes)}
        for name, sizes in sums.tool_sizes.items()
        if not sums.call_counts[name]
    ]
    models = [
        {
            "model": model,
            "requests": spending.requests,
            "cost": spending.cost,
            "cached": spending.cached,
            **asdict(spending.usage),
        }
        for model, spending in sums.models.items()
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
        first=median(sums.first_token_seconds) if sums.first_token_seconds else None,
        failed=sums.failed,
        models=sorted(models, key=lambda row: -row["cost"]),
        breaks=sorted(breaks, key=lambda row: -row["tokens"]),
        largest=sorted(sums.largest(source), key=lambda row: -row["tokens"]),
        unused=nlargest(_ROWS, unused, key=lambda row: row["tokens"] * row["conversations"]),
        repeated=nlargest(_ROWS, sums.repeated, key=lambda row: row["times"]),
    )


# Warnings


def describe_break(before: StoredReceipt, receipt: StoredReceipt, comparison: Comparison) -> list[str]:
    """Describe a cache break: its cause, its cost, and the first changed bytes; nothing if there is none."""
    if comparison.cause is None or comparison.cause.name == "short":
        return []
    tokens = _tokens_not_served(before, receipt, comparison)
    if tokens < _MIN_RESENT_TOKENS:
        return []
    extra = comparison.cost or 0.0
    cost = f", {extra:.4f} USD more" if extra >= _MIN_SHOWN_COST else ""
    text = f"cache break: {comparison.cause.reason}; {tokens:,} tokens were not served{cost}"
    if comparison.cause.name not in _AT_START:
        return [text]
    try:
        change = first_change(before, receipt)
    except QuireError:
        return [text]
    if change is None:
        return [text]
    old, new = (repr(value[:_EXCERPT]) for value in (change.was, change.now))
    return [f"{text}; byte {change.byte:,}, {change.path}: {old} → {new}"]


def _tokens_not_served(before: StoredReceipt, receipt: StoredReceipt, comparison: Comparison) -> int:
    """The tokens that the cache did not serve; after a change at the start, all that follow it."""
    is_start = comparison.cause is not None and comparison.cause.name in _AT_START
    return min(before.tokens, receipt.tokens) - comparison.tokens if is_start else comparison.again


def find_waste(view: View, tools: Sequence[Definition], tool_tokens: int, tokens: int) -> list[str]:
    """Describe what wastes the window of a request: unused tools, repeated calls, oversized results."""
    recent = view[-_MAX_SCANNED:]
    return [*_unused(recent, tools, tool_tokens, tokens), *_repeated(recent), *_oversized(recent)]


def unused_tools(items: Sequence[Item], tools: Sequence[Definition]) -> list[str]:
    """Return the names of tools that were never called."""
    called = {item.name for item in items if isinstance(item, ToolCall)}
    return [name for tool in tools if (name := read_definition(tool)[0]) not in called]


def _unused(items: Sequence[Item], tools: Sequence[Definition], tool_tokens: int, size: int) -> Iterator[str]:
    replies = sum(1 for is_reply, _ in groupby(items, is_output) if is_reply)
    if tool_tokens < max(_TOOLS_SHARE * size, _LEAST_TOOLS) or replies < _LEAST_REPLIES:
        return
    if names := unused_tools(items, tools):
        listed = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        yield f"tools take {tool_tokens:,} tokens of each request, and these were never called: {listed}"


def _repeated(items: Sequence[Item]) -> Iterator[str]:
    calls = Counter((item.name, item.arguments) for item in items if isinstance(item, ToolCall))
    for (name, arguments), times in calls.most_common():
        if times < _LEAST_REPEATED:
            return
        if times & (times - 1) == 0:  # warn at 4, 8, 16 …
            yield f"{name} was called {times} times with the same arguments: {arguments[:_EXCERPT]}"


def _oversized(items: Sequence[Item]) -> Iterator[str]:
    for item in items:
        if isinstance(item, ToolResult) and (size := len(item.text)) >= _OVERSIZED:
            yield f"a result of {item.name} has {size:,} characters"
