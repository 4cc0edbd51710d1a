"""The receipt: what became of every candidate, by which rule, for how many tokens, and why.

It is computed on demand. A context of ten thousand items costs nothing to explain until somebody asks.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from html import escape
from itertools import islice
from typing import Literal, NamedTuple

from quire.compactors import Room
from quire.context.fit import ANSWER, TOOLS, Fitted
from quire.errors import UnknownId, WrongType, cut
from quire.items import Item, kind_of
from quire.sections import Candidate, Selection
from quire.state import EDIT, View
from quire.tokens import Counter

Fate = Literal["shown", "pinned", "masked", "summarised", "hidden", "left out"]

_VISIBLE = ("shown", "pinned", "masked")
"""The fates of what the model sees."""

_REASONS = {
    "shown": "it is shown as it is",
    "pinned": "it is pinned, and so shown as it is",
    "masked": "a stub is shown for its content",
    "summarised": "a summary is shown in its place",
    "hidden": "an edit leaves it out",
}

_TITLES = ("section", "tokens", "shown", "left out", "")

_Identity = tuple[str, float]
"""An item by its id and time: two conversations may use one id for two items."""


class Entry(NamedTuple):
    """What became of one candidate. `tokens` are those it takes, or would have taken.

    `source` is the conversation or the document that a quote is from.
    """

    item_id: str
    kind: str
    section: str
    fate: Fate
    rule: str
    tokens: int
    reason: str
    source: str = ""


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
        self,
        fitted: Sequence[Fitted],
        counter: Counter,
        available: int,
        schemas: int = 0,
        output: int = 0,
        advice: Sequence[str] = (),
    ) -> None:
        self._fitted = fitted
        self._counter = counter
        self.available = available
        self.schemas = schemas
        self.output = output
        self.advice = tuple(advice)

    @property
    def counted(self) -> int:
        """The counts of all that is sent, tool definitions and the answer schema included."""
        return sum(fitted.counted for fitted in self._fitted) + self.schemas + self.output

    @property
    def tokens(self) -> int:
        """The tokens of the whole request, as the counter totals them."""
        return self._counter.total(self.counted)

    @property
    def selections(self) -> tuple[Selection, ...]:
        """What was selected of candidates, section by section."""
        return tuple(fitted.selection for fitted in self._fitted if fitted.selection is not None)

    def room(self, section: str) -> Room:
        """Return the room that a section may take while all else stays as it is."""
        # A compactor counts what is shown, and not the results that rendering adds to it.
        own = sum(fitted.counted - fitted.answers for fitted in self._fitted if fitted.name == section)
        others = self.tokens - self._counter.total(own)
        return Room(max(self.available - others, 0), self._counter)

    def lines(self) -> list[Line]:
        """Return a line for each section."""
        return [_line(fitted) for fitted in self._fitted]

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """Every candidate once, section by section, in the order it was recorded."""
        found: dict[_Identity, Entry] = {}
        for fates in self._fates:
            for identity, entry in fates.entries():
                if _comes_first(entry, found.get(identity)):
                    found[identity] = entry
        return tuple(found.values())

    def explain(self, item: Item | str) -> Entry:
        """Return what became of one candidate.

        If two conversations use the same id, the entry of the first that is shown is returned.
        """
        item_id = item if isinstance(item, str) else getattr(item, "id", None)
        if not isinstance(item_id, str):
            raise WrongType(f"expected an item or its id, not {type(item).__name__}")
        named = [one for fates in self._fates for one in fates.find(item_id)]
        itself = [] if isinstance(item, str) else [one for one in named if one[0][1] == item.created_at]
        found: Entry | None = None
        for _, entry in itself or named:
            found = entry if _comes_first(entry, found) else found
        if found is None:
            raise UnknownId(f"no item {cut(item_id)!r} was a candidate")
        return found

    def __str__(self) -> str:
        table = [_TITLES, *self._rows()]
        widths = [max(len(row[column]) for row in table) for column in range(len(_TITLES))]
        lines = [_aligned(row, widths) for row in table]
        lines.insert(1, "-" * max(map(len, lines)))
        return "\n".join((*lines, *(f"! {note}" for note in self.advice)))

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(title)}</th>" for title in _TITLES)
        rows = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in self._rows())
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.advice)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}"

    @cached_property
    def _fates(self) -> tuple["_Fates", ...]:
        return tuple(_Fates(fitted, self._counter) for fitted in self._fitted)

    def _rows(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [
            (line.section, f"{line.tokens:,}", f"{line.shown:,}", f"{line.left_out:,}", line.note)
            for line in self.lines()
        ]
        beside = ((TOOLS, self.schemas), (ANSWER, self.output))
        rows += [(name, f"{tokens:,}", "", "", "") for name, tokens in beside if tokens]
        return [*rows, ("in all", f"{self.tokens:,}", "", "", f"of {self.available:,}")]


def _comes_first(entry: Entry, known: Entry | None) -> bool:
    """Whether an entry replaces a known one: the first section that shows a candidate has the entry."""
    return known is None or (entry.fate in _VISIBLE and known.fate not in _VISIBLE)


def _line(fitted: Fitted) -> Line:
    note = fitted.piece.failure or fitted.rule
    if fitted.answers:
        note = "; ".join(filter(None, (note, f"{fitted.answers:,} tokens answer calls that wait")))
    shown = len(fitted.shown) if fitted.selection is None else len(fitted.selection)
    return Line(fitted.name, fitted.counted, shown, len(fitted.piece.content) - shown, note)


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    name, *numbers, note = row
    aligned = [number.rjust(width) for number, width in zip(numbers, widths[1:-1], strict=True)]
    return "  ".join((name.ljust(widths[0]), *aligned, note)).rstrip()


class _Fates:
    """What became of the candidates of one section."""

    def __init__(self, fitted: Fitted, counter: Counter) -> None:
        self._fitted = fitted
        self._counter = counter
        self._content = fitted.piece.content
        self._view = fitted.piece.origin if fitted.piece.source is None else fitted.piece.source
        if isinstance(self._content, View):
            self._view = self._content

    def entries(self) -> Iterator[tuple[_Identity, Entry]]:
        """Yield an entry for each candidate, in the order it was recorded."""
        if self._fitted.selection is not None:
            yield from map(self._selected, self._fitted.selection.candidates())
        elif self._view is None:
            yield from map(self._entry, self._content)
        else:
            for position, item in enumerate(self._view.log.items(0, self._view.end)):
                if self._is_candidate(self._view, position):
                    yield self._entry(item)

    def find(self, item_id: str) -> Iterator[tuple[_Identity, Entry]]:
        """Yield the entries of the candidates with an id; only quotes have several."""
        if self._fitted.selection is not None:
            candidates = (one for one in self._fitted.selection.candidates() if one.item.id == item_id)
            yield from map(self._selected, candidates)
        elif self._view is None:
            yield from map(self._entry, islice((item for item in self._content if item.id == item_id), 1))
        else:
            position = self._view.log.find(item_id, self._view.end)
            if position is not None and self._is_candidate(self._view, position):
                yield self._entry(self._view.log.item(position))

    def _is_candidate(self, view: View, position: int) -> bool:
        """Whether a position holds content, or a summary that is shown."""
        return view.log.head(position) != EDIT or view.fate(view.log.item(position).id).state == "shown"

    def _entry(self, item: Item) -> tuple[_Identity, Entry]:
        name, (fate, rule) = self._fitted.name, self._fate(item)
        reason = _REASONS[fate]
        if fate in _VISIBLE and item.id in self._left_out:
            fate, rule = "left out", self._fitted.rule
            reason = f"there was no room for all of {name!r}"
        elif fate in _VISIBLE and self._chosen is not None and item.id not in self._chosen:
            fate, rule, reason = "left out", "not chosen", f"{name!r} did not choose it"
        tokens = self._counter.count(self._as_shown(item))
        return (item.id, item.created_at), Entry(item.id, kind_of(item), name, fate, rule, tokens, reason)

    def _selected(self, candidate: Candidate) -> tuple[_Identity, Entry]:
        item, is_selected, reason, source = candidate
        fate: Fate = "shown" if is_selected else "left out"
        rule = "selected" if is_selected else "others ranked higher, or it is shown already"
        tokens = self._counter.count(item)
        entry = Entry(item.id, kind_of(item), self._fitted.name, fate, rule, tokens, reason, source)
        return (item.id, item.created_at), entry

    def _fate(self, item: Item) -> tuple[Fate, str]:
        if self._view is None:
            return "shown", "in full"
        state, by = self._view.fate(item.id)
        rule = f"edit {by}" if by else "in full"
        if state == "covered":
            return "summarised", rule
        return "hidden" if state == "edit" else state, rule

    def _as_shown(self, item: Item) -> Item:
        """Return the item as it is shown: masked or transformed, if it is."""
        if self._chosen is not None:
            return self._chosen.get(item.id) or item
        view = self._view
        run = None if view is None else view.run_at(view.position(item.id))
        return item if run is None or run.stand_in is None else run.stand_in

    @cached_property
    def _chosen(self) -> dict[str, Item] | None:
        """What the section gave, by id; None for a view, which gives all that it shows."""
        return None if isinstance(self._content, View) else {item.id: item for item in self._content}

    @cached_property
    def _left_out(self) -> set[str]:
        """The ids of what fitting left out."""
        shown = self._fitted.shown
        if len(shown) == len(self._content):
            return set()
        kept = {item.id for item in shown.before}
        candidates = self._content if shown.view is None else shown.view[: shown.start]
        return {item.id for item in candidates if item.id not in kept}
