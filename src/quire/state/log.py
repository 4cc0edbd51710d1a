"""The log: every item that was appended, in order of arrival, shared by all forks.

A log is a row of segments that only grow. The transcript that owns the last segment appends to it. A fork
shares the segments up to where it began and adds one of its own with its first write. Positions count from
the first item of the whole log. A log does not know where it ends: every reader passes its own end.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import chain
from operator import attrgetter
from typing import Any, Literal

from quire.errors import EditRefused, UnknownId, cut
from quire.items import Hide, Item, Span, Summary
from quire.state.groups import is_user_message, structural
from quire.state.shape import Interval, Shape, united
from quire.tokens import Counter

EDIT = 0xFFFFFFFF
"""The head of an item that belongs to no group because it is an edit."""

Sort = Literal["users", "marks", "edits"]
"""Messages of users; structural items (instructions, configuration, handoffs, plain summaries); edits."""

_SMALL = 256  # a fork copies a segment up to this length instead of adding one, so that chains stay short

_CONTENT = ("edits", "far", "heads", "ids", "items", "marks", "shapes", "users")


class Segment:
    """Items in order of arrival, and what is known about each by its position.

    While each id is higher than all before it, as those of `new_id` are, bisection finds an id. From the
    first that is not, all are in a dictionary. With `load` the content is fetched when it is needed.
    """

    __slots__ = ("_load", "highest", "memos", "start", "sums", *_CONTENT)

    def __init__(self, start: int, highest: str = "", load: "Callable[[], Segment] | None" = None) -> None:
        self.start = start
        self.highest = highest  # no id in this segment or in one before it is higher
        self.sums: dict[str, array[int]] = {}  # by counter: tokens of all items before an offset
        self.memos: dict[Hashable, Any] = {}  # what readers of views computed and can continue from
        self._load = load
        if load is None:
            self.items: list[Item] = []
            self.ids: dict[str, int] | None = None  # the positions, if the ids are not in rising order
            self.heads = array("I")  # for each item the position of the first member of its group
            self.far: dict[int, list[int]] = {}  # by head: members after a gap or in a later segment
            self.users, self.marks, self.edits = array("I"), array("I"), array("I")  # positions of each sort
            self.shapes: list[tuple[int, Shape]] = []  # what was shown from each revision that changed it

    def __getattr__(self, name: str) -> Any:
        # Python calls this for attributes that are not set: those of a segment before it is loaded.
        if self._load is None:
            raise AttributeError(name)
        loaded = self._load()
        for attribute in _CONTENT:
            setattr(self, attribute, getattr(loaded, attribute))
        return getattr(self, name)

    def copy_until(self, end: int) -> "Segment":
        """The same segment up to a position, free to grow on its own."""
        length = end - self.start
        copy = Segment(self.start, self.highest)
        copy.items, copy.heads = self.items[:length], self.heads[:length]
        copy.ids = None if self.ids is None else self._positions(copy.items)
        copy.users = self.users[: bisect_left(self.users, end)]
        copy.marks = self.marks[: bisect_left(self.marks, end)]
        copy.edits = self.edits[: bisect_left(self.edits, end)]
        copy.far = {head: [p for p in members if p < end] for head, members in self.far.copy().items()}
        copy.sums = {key: sums[: length + 1] for key, sums in self.sums.copy().items()}
        copy.shapes = [entry for entry in self.shapes if entry[0] <= end]
        return copy

    def record(self, item: Item, head: int) -> None:
        """Add one item at the end, as a member of the group of `head`."""
        position = self.start + len(self.items)
        if head == EDIT:
            self.edits.append(position)
        elif head != position:
            # Where the group began in an earlier segment, its members here are found by their head.
            if head < self.start or self.heads[-1] != head or head in self.far:
                self.far.setdefault(head, []).append(position)
        elif is_user_message(item):
            self.users.append(position)
        elif structural(item):
            self.marks.append(position)
        if item.id > self.highest:
            self.highest = item.id
        elif self.ids is None:
            self.ids = self._positions(self.items)
        if self.ids is not None:
            self.ids[item.id] = position
        self.items.append(item)
        self.heads.append(head)

    def _positions(self, items: Iterable[Item]) -> dict[str, int]:
        return {item.id: position for position, item in enumerate(items, self.start)}

    def find(self, item_id: str, end: int) -> int | None:
        """The position of the item with this id, if it is before `end`."""
        if self.ids is not None:
            position = self.ids.get(item_id)
            return position if position is not None and position < end else None
        position = self.start + bisect_left(self.items, item_id, 0, end - self.start, key=_id_of)
        is_found = position < end and self.items[position - self.start].id == item_id
        return position if is_found else None

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
                total += counter.count(item)
                more.append(total)
            # Two threads may arrive here at once; both write the same numbers to the same places.
            sums[known : known + len(more)] = more
        return sums


class Log:
    """Segments in a row."""

    __slots__ = ("segments", "starts")

    def __init__(self, segments: tuple[Segment, ...]) -> None:
        self.segments = segments
        self.starts = tuple([segment.start for segment in segments])

    def forked_at(self, end: int) -> "Log":
        """A log with the same items up to a position and a last segment that nobody else writes to."""
        index = self._index(max(end - 1, 0))
        last = self.segments[index]
        if end - last.start <= _SMALL:
            return Log((*self.segments[:index], last.copy_until(end)))
        return Log((*self.segments[: index + 1], Segment(end, last.highest)))

    def _index(self, position: int) -> int:
        return bisect_right(self.starts, position) - 1

    def item(self, position: int) -> Item:
        """The item at a position."""
        segment = self.segments[self._index(position)]
        return segment.items[position - segment.start]

    def head(self, position: int) -> int:
        """The position of the first member of the item's group, or `EDIT`."""
        segment = self.segments[self._index(position)]
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
        return list(chain.from_iterable(segment.items[a:b] for segment, a, b in self.pieces(start, stop)))

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
            if segment.start < end:
                position = segment.find(item_id, end)
                if position is not None:
                    return position
                end = segment.start  # what follows in an earlier segment belongs to another fork
        return None

    def locate(self, item_id: str, end: int) -> int:
        """The position of the item with this id; an error if it is not before `end`."""
        position = self.find(item_id, end)
        if position is None:
            raise UnknownId(f"no item {cut(item_id)!r} at revision {end}")
        return position

    def area(self, edit: Hide | Summary, end: int) -> list[Interval]:
        """The positions that an edit covers; a summary that it names stands for all that one covers."""
        area: list[Interval] = []
        named: set[int] = set()
        spans = list(edit.spans)
        for span in spans:  # it grows
            first, last = self.locate(span.first, end), self.locate(span.last, end)
            item = self.item(first)
            if first == last and isinstance(item, Summary) and item.spans:
                spans += item.spans if first not in named else ()
                named.add(first)
            elif EDIT in (self.head(first), self.head(last)) or first > last:
                raise EditRefused(
                    f"the span from {cut(span.first)!r} to {cut(span.last)!r} does not run between two items"
                )
            else:
                area.append((first, last + 1))
        return united(area)

    def spans(self, area: Iterable[Interval]) -> tuple[Span, ...]:
        """An area as spans, each beginning and ending with content."""
        spans: list[Span] = []
        for start, stop in area:
            while start < stop and self.head(start) == EDIT:
                start += 1
            while start < stop and self.head(stop - 1) == EDIT:
                stop -= 1
            if start < stop:
                spans.append(Span(self.item(start).id, self.item(stop - 1).id))
        return tuple(spans)

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
            kept: array[int] = getattr(segment, sort)
            found.extend(kept[bisect_left(kept, segment.start + a) : bisect_left(kept, segment.start + b)])
        return found

    def last_user(self, end: int) -> int | None:
        """The position of the last message of the user before `end`."""
        for segment, _, stop in reversed(list(self.pieces(0, end))):
            users = segment.users
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


_id_of = attrgetter("id")
