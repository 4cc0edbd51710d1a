"""The edits in force at one revision: all that were recorded and not taken back.

This looks at every edit there is, so it serves undoing, pinning and explaining; a plain edit does not need
it.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from quire.errors import EditRefused, UnknownId, cut
from quire.items import Hide, Mask, Pin, Span, Summary, Undo
from quire.state.folding import held_by_later
from quire.state.log import EDIT, Log
from quire.state.positions import positions
from quire.state.shape import Interval, united


class Cover(NamedTuple):
    """What a `Hide` or a `Summary` takes away: content by area, and summaries by position."""

    area: list[Interval]
    summaries: frozenset[int]
    is_summary: bool


class ActiveEdits:
    """Edits by what they do: `covers` in order of their positions, `masks` and `pins` by what they aim at."""

    def __init__(self, log: Log, end: int, undoing: int | None = None) -> None:
        self._log = log
        self.undone = _undone(log, end, undoing)
        self.covers: dict[int, Cover] = {}
        self.masks: dict[int, int] = {}
        self.pins: set[int] = set()
        for position in positions(log, "edits", 0, end):
            if position not in self.undone:
                self._take(position, end)

    def _take(self, position: int, end: int) -> None:
        edit = self._log.item(position)
        if isinstance(edit, Hide | Summary):
            self.covers[position] = resolved(self._log, edit, end)
        elif isinstance(edit, Mask):
            self.masks[located(self._log, edit.target, end)] = position
        elif isinstance(edit, Pin):
            self.pins.add(self._log.head(located(self._log, edit.target, end)))

    def mask_items(self) -> Iterator[tuple[int, Mask]]:
        """The masks in force with the positions they are over."""
        for position, mask in self.masks.items():
            edit = self._log.item(mask)
            assert isinstance(edit, Mask)
            yield position, edit

    def mask_of(self, position: int) -> str | None:
        """The id of the mask over a position."""
        mask = self.masks.get(position)
        return None if mask is None else self._log.item(mask).id

    def hidden(self) -> list[Interval]:
        """All content that is hidden or covered, pins not considered."""
        return united(interval for cover in self.covers.values() for interval in cover.area)

    def summaries(self) -> set[int]:
        """Positions of the summaries to be shown: those not hidden, and not folded into a later one.

        One later summary must hold all of an earlier one. Were it enough that several hold it together, none
        of these could be taken back without bringing the earlier one up beside another.
        """
        named = frozenset[int]().union(*(cover.summaries for cover in self.covers.values()))
        areas = {position: cover.area for position, cover in self.covers.items() if cover.is_summary}
        return areas.keys() - named - held_by_later(areas)


def located(log: Log, item_id: str, end: int) -> int:
    """The position of an item that an edit names."""
    position = log.find(item_id, end)
    if position is None:
        raise UnknownId(f"an edit names {cut(item_id)!r}, which is not in the transcript")
    return position


def resolved(log: Log, edit: Hide | Summary, end: int) -> Cover:
    """The spans of an edit as positions."""
    area: list[Interval] = []
    summaries: set[int] = set()
    for span in edit.spans:
        first, last = located(log, span.first, end), located(log, span.last, end)
        if log.head(first) == EDIT and first == last and isinstance(log.item(first), Summary):
            summaries.add(first)
        elif EDIT in (log.head(first), log.head(last)) or first > last:
            raise EditRefused(
                f"the span from {cut(span.first)!r} to {cut(span.last)!r} does not run between two items"
            )
        else:
            area.append((first, last + 1))
    return Cover(united(area), frozenset(summaries), isinstance(edit, Summary))


def area_of_summary(log: Log, position: int, end: int) -> list[Interval]:
    """What the summary at a position covers: found out once, for an edit names only what came before it."""
    areas = log.segment(position).areas
    area = areas.get(position)
    if area is None:
        summary = log.item(position)
        assert isinstance(summary, Summary)
        area = areas.setdefault(position, resolved(log, summary, end).area)
    return area


def spans_of(log: Log, area: Sequence[Interval], summaries: Iterable[int] = ()) -> tuple[Span, ...]:
    """An area and summaries as spans, each beginning and ending with content."""
    spans: list[Span] = []
    for start, stop in area:
        while start < stop and log.head(start) == EDIT:
            start += 1
        while start < stop and log.head(stop - 1) == EDIT:
            stop -= 1
        if start < stop:
            spans.append(Span(log.item(start).id, log.item(stop - 1).id))
    spans.extend(Span(log.item(p).id, log.item(p).id) for p in summaries)
    return tuple(spans)


def _undone(log: Log, end: int, undoing: int | None) -> set[int]:
    undone = set[int]() if undoing is None else {undoing}
    for position in reversed(positions(log, "edits", 0, end)):
        edit = log.item(position)
        if isinstance(edit, Undo) and position not in undone:
            undone.add(located(log, edit.target, end))
    return undone
