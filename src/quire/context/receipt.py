"""The receipt: of every candidate what became of it, by which rule, for how many tokens, and why.

It is worked out when somebody asks. A context of ten thousand items costs nothing to explain until then.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from quire.compactors import Room
from quire.context.blaming import ANSWER, TOOLS
from quire.context.counts import Beside
from quire.context.fates import IN_SIGHT, Entry, Fates, Which
from quire.context.fit import Fitted
from quire.context.printing import Row, as_html, as_table
from quire.errors import UnknownId, WrongType, cut
from quire.items import Item
from quire.sections import Quote
from quire.tokens import Counter


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
        beside: Beside,
        advice: Sequence[str],
    ) -> None:
        self._fitted = fitted
        self._counter = counter
        self.available = available
        self.schemas = beside.tools
        self.output = beside.output
        self._counted_beside = beside.counted
        self.advice = tuple(advice)

    @property
    def tokens(self) -> int:
        """Tokens of the whole request, tool definitions and the schema of the answer included."""
        items = self._counter.total(sum(fitted.counted for fitted in self._fitted))
        return items + self.schemas + self.output

    @property
    def counted(self) -> int:
        """The counts of all that is sent, added up: what a provider's report of it is compared with."""
        return sum(fitted.counted for fitted in self._fitted) + self._counted_beside

    def room(self, section: str) -> Room:
        """What a section may take while all else stays as it is."""
        # Who is given the room counts what is shown, and not what rendering adds to it.
        own = sum(fitted.counted - fitted.answers for fitted in self._fitted if fitted.name == section)
        others = self.tokens - self._counter.total(own)
        return Room(max(self.available - others, 0), self._counter)

    def quotes(self) -> Iterator[Quote]:
        """What was recalled and is told, wherever it is from."""
        for fitted in self._fitted:
            if fitted.told is not None:
                yield from fitted.told.quotes

    def lines(self) -> list[Line]:
        """Section by section."""
        return [self._line(fitted) for fitted in self._fitted]

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """Every candidate once, section by section, in the order it was recorded."""
        found: dict[Which, Entry] = {}
        for fates in self._fates:
            for which, entry in fates.entries():
                if _tells_more(entry, found.get(which)):
                    found[which] = entry
        return tuple(found.values())

    def explain(self, item: Item | str) -> Entry:
        """What became of one candidate, by itself or by its id.

        Where two conversations have the same id, the first that is shown has the say.
        """
        item_id = item if isinstance(item, str) else getattr(item, "id", None)
        if not isinstance(item_id, str):
            raise WrongType(f"expected an item or its id, not {type(item).__name__}")
        named = [one for fates in self._fates for one in fates.find(item_id)]
        itself = [] if isinstance(item, str) else [one for one in named if one[0][1] == item.created_at]
        found: Entry | None = None
        for _, entry in itself or named:
            found = entry if _tells_more(entry, found) else found
        if found is None:
            raise UnknownId(f"no item {cut(item_id)!r} was a candidate")
        return found

    def __str__(self) -> str:
        return as_table(self._rows(), self.advice)

    def _repr_html_(self) -> str:
        return as_html(self._rows(), self.advice)

    @cached_property
    def _fates(self) -> tuple[Fates, ...]:
        return tuple(Fates(fitted, self._counter) for fitted in self._fitted)

    def _rows(self) -> list[Row]:
        rows: list[Row] = [
            (line.section, f"{line.tokens:,}", f"{line.shown:,}", f"{line.left_out:,}", line.note)
            for line in self.lines()
        ]
        beside = ((TOOLS, self.schemas), (ANSWER, self.output))
        rows += [(name, f"{tokens:,}", "", "", "") for name, tokens in beside if tokens]
        return [*rows, ("in all", f"{self.tokens:,}", "", "", f"of {self.available:,}")]

    def _line(self, fitted: Fitted) -> Line:
        candidates = len(fitted.piece.content)
        note = fitted.piece.failure or fitted.rule
        if fitted.answers:
            note = "; ".join(filter(None, (note, f"{fitted.answers:,} tokens answer calls that wait")))
        shown = len(fitted.shown) if fitted.told is None else len(fitted.told.quotes)
        return Line(fitted.name, fitted.counted, shown, candidates - shown, note)


def _tells_more(entry: Entry, known: Entry | None) -> bool:
    """Of several sections that had the same candidate, the first that shows it has the say."""
    return known is None or (entry.fate in IN_SIGHT and known.fate not in IN_SIGHT)
