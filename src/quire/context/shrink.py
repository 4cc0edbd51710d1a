"""Shrinks a history that is too long for its room.

First old tool results are shortened, only as many as necessary. If that is not enough, the oldest items are
left out, and a ledger after the instructions lists what they say. The result stays the same until the cut
moves, so that a prompt cache can serve it.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from quire.compactors import LEDGER as LEDGER, Evidence, Pointer, ledger_of, no_pointer, short_form
from quire.errors import Irreducible
from quire.items import Item, Message, ToolResult
from quire.sections import stable_id
from quire.state import (
    SOURCES,
    Cut,
    Scroll,
    View,
    is_structural,
    keep_memo,
    keep_newest,
    memos,
    newest_from,
    newest_since,
)
from quire.tokens import Counter

_SIZES = (256, 128, 64, 48)
"""Tokens of a short form. The first size with which all items fit is used; if none is enough, the last."""

_MAX_ATTEMPTS = 3

_LEDGER_DIVISORS = (1, 2, 4, 8, 0)
"""The tokens of a ledger are divided by the first of these that fits; 0 means no ledger."""

_LOOKBACK = 400
"""How many items before the cut are read for the ledger."""


def ledger_name(section_name: str) -> str:
    """Return the name of a ledger in receipts."""
    return f"{section_name} {LEDGER}"


def is_ledger(section_name: str) -> bool:
    """Whether a name in a receipt is that of a ledger."""
    return section_name.endswith(f" {LEDGER}")


class Shrunk(NamedTuple):
    """A shrunk history: its visible items, and how they came about."""

    shown: Scroll
    cut: Cut | None
    shortened: frozenset[str] = frozenset()
    """The ids of the shortened results."""
    ledger: Message | None = None


def as_shrunk(shown: Scroll) -> Shrunk:
    """Describe a history that a plain cut has shortened already: without short forms and ledger."""
    view = shown.view
    if view is None or shown.start >= len(view):
        return Shrunk(shown, None)
    first = view[shown.start].id
    return Shrunk(shown, Cut(first, first, view[-1].id, 0))


class _Forms(NamedTuple):
    """The short forms and the ledger of a cut, cached for the next turns."""

    shape: object
    """The shape of the view: if it has changed, the forms are made again."""
    short: dict[str, ToolResult]
    ledger: Message | None


class Shrinking:
    """Shrinks one history. `pointer` gives the handles with which a model can read items back."""

    def __init__(
        self,
        name: str,
        view: View,
        protected_ids: Collection[str] | None,  # None: those that the view protects
        counter: Counter,
        *,
        ledger_tokens: int,
        shortens: bool,
        pointer: Pointer = no_pointer,
    ) -> None:
        self._name, self._view, self._protected_ids = name, view, protected_ids
        self._counter, self._ledger_tokens, self._shortens = counter, ledger_tokens, shortens
        self._pointer = pointer

    def apply(self, cut: Cut) -> Shrunk | None:
        """Shrink the history as an earlier turn did; `None` if the items of its cut are gone."""
        view = self._view
        first_whole = view.log.find(cut.first_whole, view.end)
        base = newest_since(view, cut.first, self._protected_ids) if cut.first else Scroll(view=view)
        if base is None or first_whole is None or view.log.find(cut.last, view.end) is None:
            return None
        start = max(view.index_of(first_whole), base.start)
        shortenable = view[base.start : start]
        forms = self._forms(cut, shortenable)
        protected = self._resolve_protected_ids()
        short = [item if item.id in protected else forms.short.get(item.id, item) for item in shortenable]
        place = next((n for n, item in enumerate(base.before) if not is_structural(item)), len(base.before))
        ledger = () if forms.ledger is None else (forms.ledger,)
        before = (*base.before[:place], *ledger, *base.before[place:], *short)
        shortened = frozenset(new.id for new, old in zip(short, shortenable, strict=True) if new is not old)
        return Shrunk(Scroll(before, view, start), cut, shortened, forms.ledger)

    def cut_again(
        self, *, least: int, usual: int, most: int, spare: int, newest_whole: int, target: int, reach: int
    ) -> Shrunk:
        """Make a new cut: shorten old results to `target` tokens of history, or leave out the oldest items.

        If items are left out, the result has `least` to `usual` tokens, up to `most` if a turn needs them.
        If there are old results, `spare` is taken off `least`: a ledger can list what they say, so less has
        to be shown. The newest `newest_whole` tokens are never shortened. Items before the last `reach`
        tokens are not read.
        """
        view, counter = self._view, self._counter
        begin = self._index_before(reach) if view.counted(counter) > reach else 0
        base = newest_from(view, begin, self._protected_ids)
        items, protected, last = list(base), self._resolve_protected_ids(), view[-1].id
        head = len(base.before)
        whole_from = max(self._index_before(newest_whole) - base.start + head, head)
        sizes = [counter.count(item) for item in items]
        results = {
            at: sizes[at]
            for at in range(head, whole_from)
            if self._shortens and isinstance(items[at], ToolResult) and items[at].id not in protected
        }
        surplus = view.counted(counter) - target
        evidence = self._evidence(view.position_at(begin), last)
        for size in () if begin else _SIZES:
            if sum(max(before - size, 0) for before in results.values()) >= surplus:
                shrunk = self._shortened(items, results, surplus, evidence, size, last)
                if shrunk.shown.counted(counter) <= most:
                    return shrunk
        # Items have to be left out. Going back from the newest, shorten every result until nothing more fits.
        size, total = _SIZES[-1], sum(sizes[whole_from:])
        candidates = list(items)
        for at in range(whole_from - 1, head - 1, -1):
            if at in results:
                item = items[at]
                assert isinstance(item, ToolResult)
                candidates[at] = self._short(item, evidence, size) or item
            total += counter.count(candidates[at])
            if total > most:
                break
        first_whole = items[whole_from].id if whole_from < len(items) else last
        least -= spare if results else 0
        late_tokens = 0  # what rendering adds for late results: `keep_newest` does not count it
        for divisor in _LEDGER_DIVISORS:
            ledger = self._ledger_tokens // divisor if divisor else 0
            for _ in range(_MAX_ATTEMPTS):
                within = most - ledger - late_tokens
                bounds = min(least, within), min(usual, most - late_tokens), within
                try:
                    cut = keep_newest(candidates, *bounds, counter=counter, stays=protected)
                except Irreducible:
                    break
                first = cut.view[cut.start].id if cut.view and cut.start < len(cut.view) else first_whole
                shrunk = self._apply(Cut(first, first_whole, last, size, ledger))
                surplus = shrunk.shown.counted(counter) - most
                if surplus <= 0:
                    return shrunk
                late_tokens += surplus
        raise Irreducible("what must stay takes all the room", ())

    def _shortened(
        self,
        items: Sequence[Item],
        results: dict[int, int],
        surplus: int,
        evidence: Evidence,
        size: int,
        last: str,
    ) -> Shrunk:
        """Shorten the oldest results until there is no surplus."""
        at = 0
        for at, tokens in results.items():
            item = items[at]
            assert isinstance(item, ToolResult)
            short = self._short(item, evidence, size)
            if short is not None:
                surplus -= tokens - self._counter.count(short)
            if surplus <= 0:
                break
        return self._apply(Cut("", items[min(at + 1, len(items) - 1)].id, last, size))

    def _short(self, result: ToolResult, evidence: Evidence, size: int) -> ToolResult | None:
        return short_form(result, evidence, self._counter, size, pointer=self._pointer)

    def _apply(self, cut: Cut) -> Shrunk:
        shrunk = self.apply(cut)
        assert shrunk is not None
        return shrunk

    def _index_before(self, tokens: int) -> int:
        """Return the largest index with at least this many tokens from it to the end; 0 if there is none."""
        counted = 0
        for number, item in enumerate(reversed(self._view), 1):
            counted += self._counter.count(item)
            if counted >= tokens:
                return len(self._view) - number
        return 0

    def _resolve_protected_ids(self) -> Collection[str]:
        if self._protected_ids is not None:
            return self._protected_ids
        return {item.id for item in newest_from(self._view, len(self._view)).before}

    def _evidence(self, start: int, last: str) -> Evidence:
        log = self._view.log
        return Evidence(log.items(max(start - _LOOKBACK, 0), log.locate(last, self._view.end) + 1))

    def _forms(self, cut: Cut, shortenable: Sequence[Item]) -> _Forms:
        """Return the short forms and the ledger of a cut, which are cached."""
        view = self._view
        has_pointers = self._pointer is not no_pointer
        tokens = min(cut.ledger, self._ledger_tokens)
        key = (LEDGER, self._name, cut, tokens, self._shortens, has_pointers, self._counter.key)
        forms = memos(view).get(key)
        if isinstance(forms, _Forms) and forms.shape is view.shape:
            return forms
        first = view.log.find(cut.first, view.end) if cut.first else None
        start = view.position_at(0) if len(view) else 0
        evidence = self._evidence(start if first is None else first, cut.last)
        results = (item for item in shortenable if self._shortens and isinstance(item, ToolResult))
        pairs = ((item.id, self._short(item, evidence, cut.size)) for item in results)
        short = {item_id: form for item_id, form in pairs if form is not None}
        ledger = None
        if first is not None and tokens:
            ledger = self._ledger(first, cut, evidence, short, shortenable, tokens)
        forms = _Forms(view.shape, short, ledger)
        keep_memo(view, key, forms)
        return forms

    def _ledger(
        self,
        first: int,
        cut: Cut,
        evidence: Evidence,
        short: dict[str, ToolResult],
        shortenable: Sequence[Item],
        tokens: int,
    ) -> Message | None:
        view = self._view
        start = view.log.locate(cut.first_whole, view.end)
        last = view.log.locate(cut.last, view.end)
        left_out = list(self._left_out(first))
        newest = view.log.items(start, last + 1)
        shown = [*view.summaries(), *(short.get(item.id, item) for item in shortenable), *newest]
        ledger = ledger_of(left_out, shown, evidence, self._counter, tokens, self._pointer)
        if ledger is None:
            return None
        text, sources = ledger
        own_id = stable_id(f"{self._name}/{LEDGER}", text)
        return Message("user", text, id=own_id, created_at=0.0, extras={SOURCES: sources})

    def _left_out(self, first: int) -> Iterator[Item]:
        """Yield the items that the cut leaves out, as far back as the ledger reads."""
        view = self._view
        for position in range(max(first - _LOOKBACK, 0), first):
            if view.run_at(position) is not None:
                yield view.log.item(position)


def shorter_results(
    items: Sequence[Item],
    pinned: Collection[str],
    history: Sequence[Item],
    counter: Counter,
    surplus: int,
    pointer: Pointer = no_pointer,
) -> dict[str, Item]:
    """Shorten the largest results among the items until `surplus` tokens are saved; return them by id."""
    evidence = Evidence(history[-_LOOKBACK:])
    results = [item for item in items if isinstance(item, ToolResult) and item.id not in pinned]
    short_by_id: dict[str, Item] = {}
    for result in sorted(results, key=counter.count, reverse=True):
        whole_size, saved = counter.count(result), 0
        size = max(whole_size - surplus, _SIZES[-1])
        while surplus > 0 and size >= _SIZES[-1] // 2:
            short = short_form(result, evidence, counter, size, least=0, pointer=pointer)
            saved = 0 if short is None else whole_size - counter.count(short)
            if short is not None:
                short_by_id[result.id] = short
            if saved >= surplus:
                break
            size = size * 3 // 4
        surplus -= saved if result.id in short_by_id else 0
    return short_by_id
