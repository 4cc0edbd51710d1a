"""The receipt: of every candidate what became of it, by which rule, for how many tokens, and why.

It is worked out when somebody asks. A context of ten thousand items costs nothing to explain until then.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Literal, NamedTuple

from quire.context.fit import Fitted
from quire.context.printing import Row, as_html, as_table
from quire.errors import UnknownId, WrongType, cut
from quire.items import Item, kind_of
from quire.state import View
from quire.state.log import EDIT
from quire.tokens import Counter

Shown = Literal["shown", "pinned", "masked", "summarised", "hidden", "left out"]

_REASONS = {
    "shown": "it is shown as it is",
    "pinned": "it is pinned, and so shown as it is",
    "masked": "a stub is shown for its content",
    "summarised": "a summary is shown in its place",
    "hidden": "an edit leaves it out",
}


class Entry(NamedTuple):
    """What became of one candidate. `tokens` are those it takes, or would have taken."""

    item_id: str
    kind: str
    section: str
    fate: Shown
    rule: str
    tokens: int
    reason: str


class Line(NamedTuple):
    """One section in short."""

    section: str
    tokens: int
    shown: int
    left_out: int
    note: str


class Receipt:
    """Why a context is as it is."""

    def __init__(
        self, fitted: Sequence[Fitted], counter: Counter, available: int, schemas: int, advice: Sequence[str]
    ) -> None:
        self._fitted = fitted
        self._counter = counter
        self.available = available
        self.schemas = schemas
        self.advice = tuple(advice)

    @property
    def tokens(self) -> int:
        """Tokens of the whole request, tool definitions included."""
        return self._counter.total(sum(fitted.counted for fitted in self._fitted)) + self.schemas

    def lines(self) -> list[Line]:
        """Section by section."""
        return [self._line(fitted) for fitted in self._fitted]

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """Every candidate once, section by section, in the order it was recorded."""
        return tuple(entry for fitted in self._fitted for entry in self._entries(fitted))

    def explain(self, item: Item | str) -> Entry:
        """What became of one candidate, by itself or by its id."""
        item_id = item if isinstance(item, str) else getattr(item, "id", None)
        if not isinstance(item_id, str):
            raise WrongType(f"expected an item or its id, not {type(item).__name__}")
        for fitted in self._fitted:
            found = self._find(fitted, item_id)
            if found is not None:
                return self._entry(fitted, found)
        raise UnknownId(f"no item {cut(item_id)!r} was a candidate")

    def __str__(self) -> str:
        return as_table(self._rows(), self.advice)

    def _repr_html_(self) -> str:
        return as_html(self._rows(), self.advice)

    def _rows(self) -> list[Row]:
        rows: list[Row] = [
            (line.section, f"{line.tokens:,}", f"{line.shown:,}", f"{line.left_out:,}", line.note)
            for line in self.lines()
        ]
        if self.schemas:
            rows.append(("tool definitions", f"{self.schemas:,}", "", "", ""))
        return [*rows, ("in all", f"{self.tokens:,}", "", "", f"of {self.available:,}")]

    def _line(self, fitted: Fitted) -> Line:
        candidates = len(fitted.piece.content)
        note = fitted.piece.failure or fitted.rule
        return Line(fitted.name, fitted.counted, len(fitted.shown), candidates - len(fitted.shown), note)

    def _entries(self, fitted: Fitted) -> Iterator[Entry]:
        content = fitted.piece.content
        candidates = _recorded(content) if isinstance(content, View) else content
        for item in candidates:
            yield self._entry(fitted, item)

    def _find(self, fitted: Fitted, item_id: str) -> Item | None:
        content = fitted.piece.content
        if not isinstance(content, View):
            return next((item for item in content if item.id == item_id), None)
        position = content.log.find(item_id, content.end)
        return None if position is None else content.log.item(position)

    def _entry(self, fitted: Fitted, item: Item) -> Entry:
        content = fitted.piece.content
        fate: Shown = "shown"
        rule = "in full"
        if isinstance(content, View):
            state, by = content.fate(item.id)
            fate = "summarised" if state == "covered" else "hidden" if state == "edit" else state
            rule = f"edit {by}" if by else "in full"
        reason, tokens = _REASONS[fate], self._counter.count(_shown_as(content, item))
        if fate in ("shown", "pinned", "masked") and item.id in self._gone(fitted):
            fate, rule = "left out", fitted.rule
            reason = f"there was no room for all of {fitted.name!r}"
        return Entry(item.id, kind_of(item), fitted.name, fate, rule, tokens, reason)

    def _gone(self, fitted: Fitted) -> set[str]:
        """Ids of what fitting left out."""
        if fitted.is_whole and len(fitted.shown) == len(fitted.piece.content):
            return set()
        if fitted.name not in self._gone_by_section:
            kept = {item.id for item in fitted.shown.before}
            view = fitted.shown.view
            candidates = fitted.piece.content if view is None else view[: fitted.shown.start]
            self._gone_by_section[fitted.name] = {item.id for item in candidates if item.id not in kept}
        return self._gone_by_section[fitted.name]

    @cached_property
    def _gone_by_section(self) -> dict[str, set[str]]:
        return {}


def _recorded(view: View) -> Iterator[Item]:
    """All content that a view could show, and the summaries that it does show."""
    for position, item in enumerate(view.log.items(0, view.end)):
        if view.log.head(position) != EDIT or view.fate(item.id).state == "shown":
            yield item


def _shown_as(content: View | tuple[Item, ...], item: Item) -> Item:
    """An item as it is shown, which may be with a stub for its content."""
    if isinstance(content, View):
        run = content.run_at(content.position(item.id))
        if run is not None and run.stand_in is not None:
            return run.stand_in
    return item
