"""The log: every item that was appended, in order of arrival, shared by all forks.

A log is a row of segments that only grow. The transcript that owns the last segment appends to it. A fork
shares the segments up to where it began and adds one of its own with its first write. Positions count from
the first item of the whole log. A log does not know where it ends: every reader passes its own end.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, Literal

from quire.items import Item
from quire.state.groups import is_user_message, structural
from quire.state.shape import Shape
from quire.tokens import Counter, count_by

EDIT = 0xFFFFFFFF
"""The head of an item that belongs to no group because it is an edit."""

Sort = Literal["users", "marks", "edits"]
"""Messages of users; structural items (instructions, configuration, handoffs, plain summaries); edits."""

_SMALL = 256  # a fork copies a segment up to this length instead of adding one, so that chains stay short

_CONTENT = ("far", "heads", "items", "shapes", "sorts")


class Segment:
    """Items in order of arrival, and what is known about each by its position.

    With `load` only the ids are known, and `load` fetches the segment when more is needed.
    """

    __slots__ = ("_load", "ids", "memos", "start", "sums", *_CONTENT)

    def __init__(
        self, start: int, ids: Iterable[str] = (), load: "Callable[[], Segment] | None" = None
    ) -> None:
        self.start = start
        self.ids = {item_id: position for position, item_id in enumerate(ids, start)}
        self.sums: dict[str, array[int]] = {}  # by counter: tokens of all items before an offset
        self.memos: dict[Hashable, Any] = {}  # what readers of views computed and can continue from
        self._load = load
        if load is None:
            self.items: list[Item] = []
            self.heads = array("I")  # for each item the position of the first member of its group
            self.far: dict[int, list[int]] = {}  # by head: members after a gap or in a later segment
            self.sorts: dict[Sort, array[int]] = {sort: array("I") for sort in ("users", "marks", "edits")}
            self.shapes: list[tuple[int, Shape]] = []  # what was shown from each revision that changed it

    def __getattr__(self, name: str) -> Any:
        # Python calls this for attributes that are not set: those of a segment before it is loaded.
        if self._load is None:
            raise AttributeError(name)
        loaded, self._load = self._load(), None
        for attribute in _CONTENT:
            setattr(self, attribute, getattr(loaded, attribute))
        return getattr(self, name)

    def copy_until(self, end: int) -> "Segment":
        """The same segment up to a position, free to grow on its own."""
        length = end - self.start
        items = self.items[:length]
        copy = Segment(self.start, (item.id for item in items))
        copy.items, copy.heads = items, self.heads[:length]
        copy.sorts = {sort: found[: bisect_left(found, end)] for sort, found in self.sorts.items()}
        copy.far = {head: [p for p in members if p < end] for head, members in self.far.copy().items()}
        copy.sums = {key: sums[: length + 1] for key, sums in self.sums.copy().items()}
        copy.shapes = [entry for entry in self.shapes if entry[0] <= end]
        return copy

    def record(self, item: Item, head: int) -> None:
        """Add one item at the end, as a member of the group of `head`."""
        position = self.start + len(self.items)
        if head == EDIT:
            self.sorts["edits"].append(position)
        elif head != position:
            # Where the group began in an earlier segment, its members here are found by their head.
            if head < self.start or self.heads[-1] != head or head in self.far:
                self.far.setdefault(head, []).append(position)
        elif is_user_message(item):
            self.sorts["users"].append(position)
        elif structural(item):
            self.sorts["marks"].append(position)
        self.ids[item.id] = position
        self.items.append(item)
        self.heads.append(head)

    def count(self, counter: Counter, length: int) -> "array[int]":
        """Running token totals of at least the first `length` items. Each item is counted once, ever."""
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
            # Two threads may arrive here at once; both write the same numbers to the same places.
            sums[known : known + len(more)] = more
        return sums


class Log:
    """Segments in a row."""

    __slots__ = ("segments", "starts")

    def __init__(self, segments: tuple[Segment, ...]) -> None:
        self.segments = segments
        self.starts = tuple(segment.start for segment in segments)

    def forked_at(self, end: int) -> "Log":
        """A log with the same items up to a position and a last segment that nobody else writes to."""
        index = self._index(max(end - 1, 0))
        last = self.segments[index]
        if end - last.start <= _SMALL:
            return Log((*self.segments[:index], last.copy_until(end)))
        return Log((*self.segments[: index + 1], Segment(end)))

    def segment(self, position: int) -> Segment:
        """The segment that holds a position."""
        return self.segments[self._index(position)]

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

    def pieces(self, start: int, stop: int) -> Iterator[tuple[Segment, int, int]]:
        """The segments under a range, each with its part of the range as offsets."""
        index = self._index(start)
        while start < stop:
            segment = self.segments[index]
            index += 1
            end = min(stop, self.starts[index]) if index < len(self.starts) else stop
            yield segment, start - segment.start, end - segment.start
            start = end

    def items(self, start: int, stop: int) -> list[Item]:
        """The items of a range."""
        return [item for segment, a, b in self.pieces(start, stop) for item in segment.items[a:b]]

    def tokens(self, start: int, stop: int, counter: Counter) -> int:
        """The tokens of a range."""
        total = 0
        for segment, a, b in self.pieces(start, stop):
            sums = segment.count(counter, b)
            total += sums[b] - sums[a]
        return total

    def find(self, item_id: str, end: int) -> int | None:
        """The position of the item with this id, if it is before `end`."""
        for segment in reversed(self.segments):
            position = segment.ids.get(item_id)
            if position is not None and position < end:
                return position
            end = min(end, segment.start)  # what follows in an earlier segment belongs to another fork
        return None

    def group(self, position: int, end: int) -> list[int]:
        """The positions of the group that an item belongs to, as it is before `end`."""
        head = self.head(position)
        if head == EDIT:
            return []
        members = [head]
        while members[-1] + 1 < end and self.head(members[-1] + 1) == head:
            members.append(members[-1] + 1)
        for segment, _, stop in self.pieces(head, end):
            far = segment.far.get(head)
            if far is not None:
                members.extend(p for p in far if members[-1] < p < segment.start + stop)
        return members

    def scattered(self, end: int) -> dict[int, list[int]]:
        """By the head of a group, its members after the first gap or in a later segment than the head."""
        found: dict[int, list[int]] = {}
        for segment, _, stop in self.pieces(0, end):
            for head, members in segment.far.copy().items():
                if apart := [p for p in members if p < segment.start + stop]:
                    found.setdefault(head, []).extend(apart)
        return found

    def positions(self, sort: Sort, start: int, end: int) -> list[int]:
        """The positions of one sort in a range."""
        found: list[int] = []
        for segment, a, b in self.pieces(start, end):
            kept = segment.sorts[sort]
            found.extend(kept[bisect_left(kept, segment.start + a) : bisect_left(kept, segment.start + b)])
        return found

    def last_user(self, end: int) -> int | None:
        """The position of the last message of the user before `end`."""
        for segment, _, stop in reversed(list(self.pieces(0, end))):
            users = segment.sorts["users"]
            index = bisect_left(users, segment.start + stop)
            if index:
                return users[index - 1]
        return None

    def shape_at(self, revision: int) -> Shape:
        """What was shown at a revision."""
        for segment, _, stop in reversed(list(self.pieces(0, revision))):
            index = bisect_right(segment.shapes, segment.start + stop, key=lambda entry: entry[0])
            if index:
                return segment.shapes[index - 1][1]
        return Shape()
