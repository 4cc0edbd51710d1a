"""Compares a request with the one before it: the beginning they share, why it ends, and what that costs.

A cache serves the beginning that two requests share: tools, instructions and messages, in that order. All
that follows the first change is processed again, even if the earlier request had it too.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from msgspec.json import encode

from quire.context import DEFAULT_MODEL, shared_prefix, sizes_of
from quire.items import Item, Summary
from quire.providers import HISTORY
from quire.session.receipts import StoredReceipt
from quire.state import View
from quire.tokens import Definition, ModelFacts, counter_for, facts_for, read_definition, schema_tokens

_MIN_MISSED = 0.1
"""If a cache failed to serve a smaller share of a request, that is no miss: caches serve whole blocks."""

_EXCERPT = 160


class Cause(NamedTuple):
    """Why a cache did not serve the whole earlier request. `edit` is the id of the edit that caused it."""

    name: str
    reason: str
    edit: str | None = None


class Comparison(NamedTuple):
    """A request compared with the one before it."""

    items: int
    """How many items from the start both have."""
    tokens: int
    """The tokens of these items, and of the tools."""
    share: float
    """The share of the request that `tokens` are: a cache can serve as much."""
    cause: Cause | None
    """Why a cache did not serve more; if there are two causes, the one with more tokens."""
    again: int = 0
    """Tokens sent in both requests that no cache served; 0 if the earlier one was too short to be cached."""
    cost: float | None = None
    """What `again` cost more than from a cache, in USD at list prices."""


def before_of(receipt: StoredReceipt, earlier: Sequence[StoredReceipt]) -> StoredReceipt | None:
    """The last earlier request with the same sections, as several agents may take turns; else the last."""
    similar = (other for other in reversed(earlier) if list(other.sections) == list(receipt.sections))
    return next(similar, earlier[-1] if earlier else None)


def compare_requests(before: StoredReceipt, after: StoredReceipt) -> Comparison | None:
    """Compare two requests; `None` if the receipt of one is bare."""
    if before.is_bare or after.is_bare:
        return None
    facts = facts_for(after.model or DEFAULT_MODEL)
    count, cause = _shared(before, after)
    is_at_start = cause is not None and cause.name in ("model", "tools")
    tokens = 0 if is_at_start else _tokens_of_first(before, after, count)
    share = tokens / max(after.tokens, 1)
    if cause is not None and not _is_cached(before, after, facts):
        return Comparison(count, tokens, share, _short(facts), cost=0.0)
    again = 0 if cause is None else max(after.tokens - tokens - _tokens_of_new(before, after, count), 0)
    at_provider = _cause_at_provider(before, after, share, facts)
    is_missed = at_provider is not None and at_provider.name != "short"
    missed = round((share - (after.spending.cached or 0)) * after.tokens) if is_missed else 0
    if cause is None or missed > again:
        cause = at_provider
    return Comparison(count, tokens, share, cause, again + missed, _extra_cost(again + missed, after, facts))


def _is_cached(before: StoredReceipt, after: StoredReceipt, facts: ModelFacts) -> bool:
    """Whether a cache has the earlier request: it is long enough, or the reported usage shows it."""
    return before.tokens >= (facts.cache_minimum or 0) or after.spending.usage.cache_read > 0


def _extra_cost(tokens: int, after: StoredReceipt, facts: ModelFacts) -> float | None:
    """What tokens that are not read from a cache cost more, in USD; `None` if a price is not known.

    If the provider reported its usage, no more tokens than it charged are counted.
    """
    prices, usage = facts.prices.for_all_input(), after.spending.usage
    if prices.input is None or prices.cache_write is None or prices.cache_read is None:
        return None
    written = tokens
    if usage.input:
        tokens = min(tokens, usage.input - usage.cache_read)
        written = min(tokens, usage.cache_write)
    paid = written * prices.cache_write + (tokens - written) * prices.input
    return (paid - tokens * prices.cache_read) / 1e6


# Tokens


def _tokens_of_first(before: StoredReceipt, after: StoredReceipt, count: int) -> int:
    """The tokens of tools and of the first items; of whole sections among them, as the receipt says."""
    whole, start = max(_whole_sections(before, count), _whole_sections(after, count), key=lambda row: row[1])
    counter = counter_for(after.model or DEFAULT_MODEL)
    counted = whole + sum(map(counter.count, after.items[start:count])) + sum(after.beside.values())
    return round(counted * _scale(after))


def _whole_sections(receipt: StoredReceipt, count: int) -> tuple[int, int]:
    """The tokens of the sections that are whole within the first items, and where the last of them ends."""
    tokens = end = 0
    names = [name for name, _ in receipt.runs]
    for name, length in receipt.runs:
        if end + length > count or names.count(name) > 1:
            break
        tokens, end = tokens + receipt.sections[name], end + length
    return tokens, end


def _tokens_of_new(before: StoredReceipt, after: StoredReceipt, count: int) -> int:
    """The tokens of tools and of items after the first ones that the earlier request did not have."""
    earlier = {item.id: item for item in before.items[count:]}
    new = [item for item in after.items[count:] if earlier.get(item.id) != item]
    counter = counter_for(after.model or DEFAULT_MODEL)
    tools = schema_tokens([tool for tool in after.tools if tool not in before.tools], counter)
    return round((tools + sum(map(counter.count, new))) * _scale(after))


def _scale(after: StoredReceipt) -> float:
    """The factor from counted tokens to those of the request: framing, and the calibration of its counter."""
    return after.tokens / max(sum(sizes_of(after).values()), 1)


# Causes


def _shared(before: StoredReceipt, after: StoredReceipt) -> tuple[int, Cause | None]:
    """How many items from the start are equal, and why not more; `None` if items were only added."""
    count = shared_prefix(before.items, after.items)
    if (before.provider, before.model) != (after.provider, after.model):
        names = [f"{receipt.model or 'a model'} at {receipt.provider}" for receipt in (before, after)]
        return count, Cause("model", f"{names[0]} → {names[1]}")
    if before.tools != after.tools:
        return count, Cause("tools", _changed_tools(before.tools, after.tools))
    is_grown = count >= before.items.stable_length
    return count, None if is_grown else _cause_at(before, after, count)


def _changed_tools(old: Sequence[Definition], new: Sequence[Definition]) -> str:
    had, has = ({read_definition(tool)[0]: tool for tool in tools} for tools in (old, new))
    rows = {
        "new": [name for name in has if name not in had],
        "gone": [name for name in had if name not in has],
        "changed": [name for name in has if name in had and has[name] != had[name]],
    }
    texts = [f"{what}: {', '.join(names[:5])}" for what, names in rows.items() if names]
    return "; ".join(texts) or "the order of the tools changed"


def _cause_at(before: StoredReceipt, after: StoredReceipt, index: int) -> Cause:
    """Why the item at an index of the earlier request is not at this index any more."""
    old = before.items[index]
    new = after.items[index] if index < len(after.items) else None
    view, view_before = after.items.view, before.items.view
    if view is not None and view.log.find(old.id, view.end) is not None:
        return _cause_in_history(old, new, view, view_before)
    section, end = "", 0
    for section, length in before.runs:  # noqa: B007
        end += length
        if end > index:
            break
    if before.plan.slow is not None and index >= before.plan.slow:
        return Cause("volatile", f"{section!r} changes from call to call, and stands before the history")
    name = "instructions" if index < before.plan.static else "section"
    return Cause(name, f"{section!r} has changed")


def _cause_in_history(old: Item, new: Item | None, view: View, view_before: View | None) -> Cause:
    state, by = view.fate(old.id)
    if by is not None:
        return Cause("edit", f"an item was {state}", by)
    if isinstance(new, Summary):
        return Cause("edit", "another summary takes its place", new.id)
    position = None if new is None or view_before is None else view_before.log.find(new.id, view_before.end)
    if new is not None and view_before is not None and position is not None:
        undone = view_before.fate(new.id).by
        if undone is not None:
            return Cause("undo", "an edit was undone", undone)
        if position < view.position(old.id):
            return Cause("cut", "there was room for more: the cut moved back")
    if isinstance(old, Summary):
        return Cause("undo", "a summary was undone", old.id)
    return Cause("cut", "the room was full: the cut moved")


def _cause_at_provider(
    before: StoredReceipt, after: StoredReceipt, share: float, facts: ModelFacts
) -> Cause | None:
    """Why a provider served less of a request than it could; `None` if it served enough."""
    reported, usage = after.spending.cached, after.spending.usage
    if reported is None or share - reported <= _MIN_MISSED:
        return None
    if facts.cache_minimum is not None and share * usage.input < facts.cache_minimum:
        return None if usage.cache_read else _short(facts)
    gap = after.created_at - before.created_at
    if facts.cache_seconds is not None and gap > facts.cache_seconds:
        minutes, lifetime = gap / 60, facts.cache_seconds / 60
        return Cause("time-out", f"it came {minutes:,.0f} min later; entries are kept for {lifetime:g} min")
    return Cause("not served", "the beginning was the same, and the provider did not serve it")


def _short(facts: ModelFacts) -> Cause:
    return Cause("short", f"beginnings of less than {facts.cache_minimum:,} tokens are not cached")


# The first change


class FirstChange(NamedTuple):
    """The first difference of two payloads: the byte of the JSON, the path, and an excerpt of each.

    With `is_growth`, the later request only adds messages to the earlier one.
    """

    byte: int
    path: str
    is_growth: bool
    was: str
    now: str


Path = tuple[str | int, ...]
Change = tuple[Path, bytes, bytes]


def first_change(before: StoredReceipt, after: StoredReceipt) -> FirstChange | None:
    """Find the first byte that differs, in the order in which providers read: the conversation last.

    Cache marks are left out, because they differ in each request, and are not cached themselves. `Forgotten`
    if one of the requests cannot be rendered again.
    """
    old, new = (receipt.payload(cache=False).payload for receipt in (before, after))
    history = HISTORY.get(after.provider, "")
    fields = sorted({**new, **old}, key=lambda name: name == history)
    change = _first(_changed(old.get(name), new.get(name), (name,)) for name in fields)
    if change is None:
        return None
    path, was, now = change
    pairs = enumerate(zip(was, now, strict=False))
    start = next((n for n, (a, b) in pairs if a != b), min(len(was), len(now)))
    texts = [text[start : start + _EXCERPT].decode(errors="replace") for text in (was, now)]
    is_growth = path == (history, len(old.get(history, ())))
    return FirstChange(_offset(after.request(), path) + start, _path_text(path), is_growth, *texts)


def _changed(old: Any, new: Any, path: Path) -> Change | None:
    if old == new:
        return None
    if _are(dict, old, new):
        return _first(_changed(old.get(name), new.get(name), (*path, name)) for name in {**new, **old})
    if _are(list, old, new):
        pairs = enumerate(zip(old, new, strict=False))
        change = _first(_changed(a, b, (*path, index)) for index, (a, b) in pairs)
        end = min(len(old), len(new))
        if change is not None or len(old) == len(new):
            return change
        return (*path, end), encode(old[end:])[1:-1], encode(new[end:])[1:-1]
    was, now = (b"" if value is None else encode(value) for value in (old, new))
    return path, was, now


def _are(kind: type, *values: Any) -> bool:
    return all(isinstance(value, kind) for value in values)


def _first(changes: Iterable[Change | None]) -> Change | None:
    return next((change for change in changes if change is not None), None)


def _offset(value: Any, path: Path) -> int:
    """The byte at which the value at a path begins in the JSON of a value, or would begin if it is missing.

    In a request with cache marks, a text may be a list with one block instead.
    """
    is_mapping = _are(dict, value)
    if not path and _are(list, value) and value and "text" in value[0]:
        path = (0, "text")
    if not path or not (is_mapping or _are(list, value)):
        return 0
    at = 1
    for key, inner in value.items() if is_mapping else enumerate(value):
        at += len(encode(key)) + 1 if is_mapping else 0
        if key == path[0]:
            return at + _offset(inner, path[1:])
        at += len(encode(inner)) + 1
    return at - 1


def _path_text(path: Path) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")
