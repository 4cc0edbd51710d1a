"""The log: every item ever appended, in the order it arrived, shared by all forks.

A log is a row of segments that only grow. Whoever owns the last one appends to it; a fork remembers how far
it may look and, when it first writes, adds a segment of its own. Positions count from the first item of the
whole log.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterator
from typing import Any

from quire.items import Edit, Item
from quire.state.ids import Strays
from quire.state.reaches import Reaches
from quire.state.shape import Interval, Place, Shape
from quire.tokens import Counter, count_by

EDIT = 0xFFFFFFFF
"""Stands in `heads` for an item that belongs to no group, because it is an edit."""

_SMALL = 256  # a fork copies a segment up to this length rather than chain to it, so chains stay short


class Segment:
    """Items in order of arrival, with what is known about each by its position."""

    __slots__ = (
        *(
            "alone",
            "areas",
            "arrived",
            "asides",
            "edits",
            "far",
            "heads",
            "highest",
            "items",
            "last_users",
            "late",
        ),
        *("marks", "memos", "placed", "places", "recorded_apart", "shapes", "shown_apart", "start", "strays"),
        *("sums", "users"),
    )

    def __init__(self, start: int, highest: str = "") -> None:
        self.start = start
        self.highest = highest  # of all ids so far, those of earlier segments included
        self.items: list[Item] = []
        self.heads = array("I")  # the position of the first member of the item's group
        self.far: dict[int, list[int]] = {}  # members of a group that do not directly follow the others
        self.recorded_apart = Reaches()  # the same by where the members were recorded
        self.shown_apart = Reaches()  # groups whose members may be shown apart, by where these are shown
        self.alone: dict[str, list[int]] = {}  # by call id: results that came without a call
        self.users = array("I")  # positions of the messages of users
        self.last_users = array("I")  # for each of these: which of them was shown last once it had come
        self.marks = array("I")  # positions of what is structural: instructions, configuration, handoffs
        self.edits = array("I")
        self.late = array("I")  # positions of what is shown elsewhere than where it arrived
        self.asides = array("I")  # both: all that does not stand where it was recorded
        self.placed: dict[int, float] = {}  # the time by which such an item is shown
        self.places: list[tuple[float, int]] = []  # the same, sorted
        self.arrived: dict[int, float] = {}  # of late items and edits: the latest time when they came
        self.strays = Strays()
        self.sums: dict[str, array[int]] = {}  # by counter: tokens of all items before an offset
        self.shapes: list[tuple[int, Shape]] = []  # what was shown from each revision that changed it
        self.areas: dict[int, list[Interval]] = {}  # what summaries cover, once somebody looked
        self.memos: dict[Hashable, Any] = {}  # what readers of views worked out and can take further

    def copy_until(self, end: int, highest: str) -> "Segment":
        """The same segment up to a position, free to grow on its own.

        `highest` is that of the segments before.
        """
        copy = Segment(self.start, highest)
        length = end - self.start
        copy.items = self.items[:length]
        copy.heads = self.heads[:length]
        for name in ("users", "marks", "edits", "late", "asides"):
            positions = getattr(self, name)
            setattr(copy, name, positions[: bisect_left(positions, end)])
        copy.last_users = self.last_users[: len(copy.users)]
        copy.far = {
            head: [p for p in members if p < end] for head, members in self.far.copy().items() if head < end
        }
        copy.recorded_apart = self.recorded_apart.copy_until(end)
        copy.shown_apart = self.shown_apart.copy_until(end)
        alone = ((call, [p for p in found if p < end]) for call, found in self.alone.copy().items())
        copy.alone = {call: found for call, found in alone if found}
        copy.placed = {position: time for position, time in self.placed.copy().items() if position < end}
        copy.places = [place for place in self.places.copy() if place[1] < end]
        copy.arrived = {position: time for position, time in self.arrived.copy().items() if position < end}
        copy.sums = {key: sums[: length + 1] for key, sums in self.sums.copy().items()}
        copy.shapes = [entry for entry in self.shapes if entry[0] <= end]
        for offset, item in enumerate(copy.items):
            copy._note_id(item.id, offset)
        return copy

    def record(self, item: Item, head: int) -> None:
        """Take in one item at the end, as a member of the group of `head`."""
        self._note_id(item.id, len(self.items))
        self.items.append(item)
        self.heads.append(head)

    def note_far(self, head: int, position: int) -> None:
        """Take note that a member of the group of `head` does not directly follow the others."""
        self.far.setdefault(head, []).append(position)
        self.recorded_apart.add(head, position, recorded_at(head), recorded_at(position))

    def record_edit(self, edit: Edit, latest: float) -> None:
        """Take in an edit, which came when `latest` was the time of what is shown last."""
        position = self.start + len(self.items)
        self.edits.append(position)
        self.asides.append(position)
        self.arrived[position] = latest
        self.record(edit, EDIT)

    def _note_id(self, item_id: str, offset: int) -> None:
        """Make an item findable, whether its id is above all before it or not."""
        if item_id > self.highest and not self.strays.complete:
            self.highest = item_id
        else:
            self.strays.add(item_id, offset, self.items)
            self.highest = max(self.highest, item_id)

    def count(self, counter: Counter, length: int) -> "array[int]":
        """Running totals of the tokens of at least the first `length` items.

        Each item is counted once, ever.
        """
        sums = self.sums.get(counter.key)
        if sums is None:
            sums = self.sums.setdefault(counter.key, array("q", (0,)))
        known = len(sums)
        if known <= length:
            more = array("q")
            total = sums[known - 1]
            for item in self.items[known - 1 : length]:
                total += count_by(counter, item)
                more.append(total)
            # Two threads may come here at once; both put the same numbers in the same places.
            sums[known : known + len(more)] = more
        return sums


def recorded_at(position: int) -> Place:
    """The place of a position in the order of the log, whatever the time of its item."""
    return (0.0, position)


class Log:
    """Segments in a row. A log does not know where it ends: that is for the reader to know."""

    __slots__ = ("earlier_places", "segments", "starts")

    def __init__(self, segments: tuple[Segment, ...]) -> None:
        self.segments = segments
        # Those of late items in all segments but the last, once somebody looked.
        self.earlier_places: list[list[tuple[float, int]]] | None = None
        self.starts = tuple(segment.start for segment in segments)

    def forked_at(self, end: int, highest: str | None = None) -> "Log":
        """A log with the same items up to a position and a last segment that nobody else writes to.

        `highest` is that of the ids up to there, where more were recorded since.
        """
        index = self._index(max(end - 1, 0))
        last = self.segments[index]
        if end - last.start <= _SMALL:
            return self.cut_at(end)
        return Log((*self.segments[: index + 1], Segment(end, last.highest if highest is None else highest)))

    def cut_at(self, end: int) -> "Log":
        """A log with the same items up to a position, the last segment copied."""
        if 0 < end == self.starts[-1]:
            return Log((*self.segments[:-1], Segment(end, self.segments[-2].highest)))
        index = self._index(max(end - 1, 0))
        highest = self.segments[index - 1].highest if index else ""
        return Log((*self.segments[:index], self.segments[index].copy_until(end, highest)))

    def segment(self, position: int) -> Segment:
        """The segment that holds a position."""
        last = self.segments[-1]
        return last if position >= last.start else self.segments[self._index(position)]

    def _index(self, position: int) -> int:
        return bisect_right(self.starts, position) - 1

    def item(self, position: int) -> Item:
        """The item at a position."""
        segment = self.segment(position)
        return segment.items[position - segment.start]

    def head(self, position: int) -> int:
        """The position of the first member of the item's group, or `EDIT`."""
        segment = self.segment(position)
        return segment.heads[position - segment.start]

    def time(self, position: int) -> float:
        """The time by which an item is shown."""
        segment = self.segment(position)
        placed = segment.placed.get(position)
        return segment.items[position - segment.start].created_at if placed is None else placed

    def seen(self, end: int) -> list[tuple[Segment, int]]:
        """The segments before `end`, each with the position at which this log leaves it.

        What stands further on in a segment was recorded by another who shares it.
        """
        if len(self.segments) == 1:
            return [(self.segments[0], end)]
        stops = (*self.starts[1:], end)
        return [(s, min(stop, end)) for s, stop in zip(self.segments, stops, strict=True) if s.start < end]

    def pieces(self, start: int, stop: int) -> Iterator[tuple[Segment, int, int]]:
        """The segments under a range, each with its own part of it as offsets."""
        index = self._index(start)
        while start < stop:
            segment = self.segments[index]
            index += 1
            end = min(stop, self.starts[index]) if index < len(self.starts) else stop
            yield segment, start - segment.start, end - segment.start
            start = end

    def items(self, start: int, stop: int) -> list[Item]:
        """The items of a range."""
        last = self.segments[-1]
        if start >= last.start:
            return last.items[start - last.start : stop - last.start]
        return [item for segment, a, b in self.pieces(start, stop) for item in segment.items[a:b]]

    def tokens(self, start: int, stop: int, counter: Counter) -> int:
        """The tokens of a range."""
        last = self.segments[-1]
        if start >= last.start:
            sums = last.count(counter, stop - last.start)
            return sums[stop - last.start] - sums[start - last.start]
        total = 0
        for segment, a, b in self.pieces(start, stop):
            sums = segment.count(counter, b)
            total += sums[b] - sums[a]
        return total

    def find(self, item_id: str, end: int) -> int | None:
        """The position of the item with this id, if it is before `end`."""
        for segment in reversed(self.segments):
            if segment.start < end:
                offset = segment.strays.find(item_id, segment.items)
                if offset is not None and segment.start + offset < end:
                    return segment.start + offset
            end = min(end, segment.start)
        return None

    def group(self, position: int, end: int) -> list[int]:
        """The positions of the group that an item belongs to, as it is before `end`."""
        head = self.head(position)
        if head == EDIT:
            return []
        members = [head]
        while members[-1] + 1 < end and self.head(members[-1] + 1) == head:
            members.append(members[-1] + 1)
        for segment, stop in self.seen(end):
            far = segment.far.get(head)
            if far is not None:
                members.extend(p for p in far if members[-1] < p < stop)
        return members
