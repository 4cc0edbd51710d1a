"""What became of each candidate of one section."""

from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from typing import Literal, NamedTuple

from quire.context.fit import Fitted
from quire.items import Item, kind_of
from quire.sections import Quote, Quotes
from quire.state import EDIT, View
from quire.tokens import Counter

Shown = Literal["shown", "pinned", "masked", "summarised", "hidden", "left out"]

IN_SIGHT = ("shown", "pinned", "masked")
"""Fates of what the model sees."""

_REASONS = {
    "shown": "it is shown as it is",
    "pinned": "it is pinned, and so shown as it is",
    "masked": "a stub is shown for its content",
    "summarised": "a summary is shown in its place",
    "hidden": "an edit leaves it out",
}


Which = tuple[str, float]
"""An item by its id and its time: two conversations may give one id to two items."""


class Entry(NamedTuple):
    """What became of one candidate. `tokens` are those it takes, or would have taken.

    Of what could be quoted, `source` is the conversation or the document that it is from.
    """

    item_id: str
    kind: str
    section: str
    fate: Shown
    rule: str
    tokens: int
    reason: str
    source: str = ""


class Fates:
    """One section as it was fitted, asked about its candidates."""

    def __init__(self, fitted: Fitted, counter: Counter) -> None:
        self._fitted = fitted
        self._counter = counter
        piece = fitted.piece
        self._view = piece.content if isinstance(piece.content, View) else piece.source

    def entries(self) -> Iterator[tuple[Which, Entry]]:
        """Of each candidate, in the order it was recorded."""
        content = self._fitted.piece.content
        if isinstance(content, Quotes):
            return (self._quoted(content, *candidate) for candidate in content.candidates())
        return map(self._entry, content if self._view is None else _recorded(self._view))

    def find(self, item_id: str) -> Iterator[tuple[Which, Entry]]:
        """Of the candidates with an id, of which only quotes have several."""
        content = self._fitted.piece.content
        if isinstance(content, Quotes):
            found = (candidate for candidate in content.candidates() if candidate[0].id == item_id)
            return (self._quoted(content, *candidate) for candidate in found)
        if self._view is None:
            return map(self._entry, islice((item for item in content if item.id == item_id), 1))
        position = self._view.log.find(item_id, self._view.end)
        if position is None or not _is_candidate(self._view, position):
            return iter(())
        return map(self._entry, (self._view.log.item(position),))

    def _entry(self, item: Item) -> tuple[Which, Entry]:
        name, (fate, rule) = self._fitted.name, self._fate(item)
        reason = _REASONS[fate]
        if fate in IN_SIGHT and item.id in self._left_out:
            fate, rule = "left out", self._fitted.rule
            reason = f"there was no room for all of {name!r}"
        elif fate in IN_SIGHT and item.id not in self._chosen:
            fate, rule, reason = "left out", "not chosen", f"{name!r} did not choose it"
        tokens = self._counter.count(self._as_shown(item))
        entry = Entry(item.id, kind_of(item), name, fate, rule, tokens, reason)
        return (item.id, item.created_at), entry

    def _quoted(self, quotes: Quotes, quote: Quote, item: Item) -> tuple[Which, Entry]:
        """What became of something that could have been quoted, and why it was thought of at all."""
        is_told = self._fitted.told is not None and quote.key in self._fitted.told.kept
        fate: Shown = "shown" if is_told else "left out"
        rule = "quoted" if is_told else "others were worth more, or it is shown already"
        tokens, why = self._counter.count(item), quotes.why(quote)
        entry = Entry(item.id, kind_of(item), self._fitted.name, fate, rule, tokens, why, quote.source)
        return (quote.id, quote.at), entry

    def _fate(self, item: Item) -> tuple[Shown, str]:
        if self._view is None:
            return "shown", "in full"
        state, by = self._view.fate(item.id)
        rule = f"edit {by}" if by else "in full"
        if state == "covered":
            return "summarised", rule
        return "hidden" if state == "edit" else state, rule

    def _as_shown(self, item: Item) -> Item:
        """An item as it is shown: it may be with a stub for its content, or transformed."""
        if not isinstance(self._fitted.piece.content, View):
            return self._chosen.get(item.id) or item
        run = self._fitted.piece.content.run_at(self._fitted.piece.content.position(item.id))
        return item if run is None or run.stand_in is None else run.stand_in

    @cached_property
    def _chosen(self) -> "dict[str, Item] | _Everything":
        """What the section gave, by id; a view gives all that it shows."""
        content = self._fitted.piece.content
        return _Everything() if isinstance(content, View) else {item.id: item for item in content}

    @cached_property
    def _left_out(self) -> set[str]:
        """Ids of what fitting left out."""
        fitted = self._fitted
        if len(fitted.shown) == len(fitted.piece.content):
            return set()
        kept = {item.id for item in fitted.shown.before}
        view = fitted.shown.view
        candidates = fitted.piece.content if view is None else view[: fitted.shown.start]
        return {item.id for item in candidates if item.id not in kept}


class _Everything:
    def __contains__(self, item_id: object) -> bool:
        return True

    def get(self, item_id: str) -> Item | None:
        return None


def _recorded(view: View) -> Iterator[Item]:
    """All content that a view could show, and the summaries that it does show."""
    for position, item in enumerate(view.log.items(0, view.end)):
        if _is_candidate(view, position):
            yield item


def _is_candidate(view: View, position: int) -> bool:
    return view.log.head(position) != EDIT or view.fate(view.log.item(position).id).state == "shown"
