"""The log: every appended item, in order of arrival, shared by all forks.

A log is a list of segments that only grow. The transcript that owns the last segment appends to it. A fork
shares the segments up to where it began, and adds its own with its first write. Positions count from the
first item of the whole log. A log does not know where it ends: every reader passes its own end.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import accumulate, chain, pairwise
from operator import attrgetter
from typing import Any, Literal, get_args

import msgspec

from quire.errors import EditRefused, UnknownId, cut
from quire.items import Distrust, Hide, Item, Mask, Message, Opaque, Span, Summary, ToolResult
from quire.state.groups import Grouping, is_output, is_structural, is_user_message
from quire.state.shape import Interval, Run, Shape, united
from quire.tokens import Counter, Late

EDIT = 0xFFFFFFFF
"""The head of an edit, which belongs to no group."""

MASKED = "masked"
"""The prefix of the state of a masked reply. No digest equals it, so the state is never sent back."""

IndexKind = Literal["users", "marks", "edits", "late"]
"""The positions that a log indexes: user messages; marks, which are structural items (instructions,
configuration, handoffs, plain summaries); edits; and results that arrived after the model had moved on."""

PAGE = 1024
"""The items of a page of an archive. Segments store the grouping at the beginning of each page."""

_SMALL = 256  # a fork copies a shorter last segment instead of adding one, so that chains stay short


class Segment:
    """Items in order of arrival, and facts about each by position.

    As long as ids rise, as those of `new_id` do, bisection finds an id. After the first that does not, all
    ids are in a dictionary. An `Archive` is a segment that is loaded as it is read.
    """

    __slots__ = (
        "_heads",
        "_ids",
        "_items",
        "_shapes",
        "counters",
        "detached",
        "detached_members",
        "heads",
        "highest",
        "indexes",
        "items",
        "late_sums",
        "memos",
        "page_groupings",
        "start",
        "sums",
    )

    is_lazy = False
    """Whether items are loaded when they are read."""

    def __init__(self, start: int, highest: str = "") -> None:
        self.start = start
        self.highest = highest  # no id in this segment or in one before it is higher
        self._items: list[Item] = []
        self.items: Sequence[Item] = self._items
        self._heads = array("I")
        self.heads: Sequence[int] = self._heads  # for each item, the position of the first of its group
        self.detached_members: dict[int, list[int]] = {}  # by head: members not right behind the others
        self.detached: list[tuple[int, int]] = []  # the same in order: each member, and its head
        self.indexes: dict[IndexKind, array[int]] = {kind: array("I") for kind in get_args(IndexKind)}
        self._ids: dict[str, int] | None = None  # positions by id, if ids do not rise
        self.sums: dict[str, array[int]] = {}  # by counter: the tokens before each offset
        self.late_sums: dict[str, array[int]] = {}  # by counter: what the late results before each one add
        self.counters: dict[str, Counter] = {}  # the counters in use
        self._shapes: list[tuple[int, Shape]] = []  # by revision: the shape after each edit
        self.page_groupings: dict[int, Grouping] = {}  # the groupings at the first positions of pages
        self.memos: dict[Hashable, Any] = {}  # what readers of views keep, see `keep_memo`

    def copy_until(self, end: int) -> "Segment | None":
        """A copy up to a position, which may grow on its own; None if it would be too long."""
        length = end - self.start
        if length > _SMALL:
            return None
        copy = Segment(self.start, self.highest)
        copy._items.extend(self._items[:length])
        copy._heads.extend(self._heads[:length])
        copy._ids = None if self._ids is None else self._positions(copy._items)
        copy.indexes = {kind: row[: bisect_left(row, end)] for kind, row in self.indexes.items()}
        copy.detached = self.detached[: bisect_left(self.detached, (end,))]
        members = self.detached_members.copy().items()
        copy.detached_members = {head: [p for p in positions if p < end] for head, positions in members}
        copy.sums = {key: sums[: length + 1] for key, sums in self.sums.copy().items()}
        copy.counters = self.counters.copy()
        copy._shapes = [entry for entry in self._shapes if entry[0] <= end]
        copy.page_groupings = {p: grouping for p, grouping in self.page_groupings.items() if p <= end}
        return copy

    def record(self, item: Item, head: int, *, is_late: bool = False) -> None:
        """Add one item at the end, as a member of the group of `head`."""
        position = self.start + len(self._items)
        if head == EDIT:
            self.indexes["edits"].append(position)
        elif head != position:
            # A group that began in an earlier segment is detached here as well.
            if head < self.start or self._heads[-1] != head or head in self.detached_members:
                self.detached_members.setdefault(head, []).append(position)
                self.detached.append((position, head))
            if is_late:
                self.indexes["late"].append(position)
        elif is_user_message(item):
            self.indexes["users"].append(position)
        elif is_structural(item):
            self.indexes["marks"].append(position)
        if item.id > self.highest:
            self.highest = item.id
        elif self._ids is None:
            self._ids = self._positions(self._items)
        if self._ids is not None:
            self._ids[item.id] = position
        self._items.append(item)
        self._heads.append(head)

    def load(self, positions: Sequence[int]) -> None:
        """Load items ahead of a read; here all are in memory."""

    def record_shape(self, shape: Shape) -> None:
        """Store the shape that applies from the end on."""
        self._shapes.append((self.start + len(self._items), shape))

    def _positions(self, items: Iterable[Item]) -> dict[str, int]:
        return {item.id: position for position, item in enumerate(items, self.start)}

    def find(self, item_id: str, end: int) -> int | None:
        """The position of the item with this id, if it is before `end`."""
        if self._ids is not None:
            position = self._ids.get(item_id)
            return position if position is not None and position < end else None
        position = self.start + bisect_left(self._items, item_id, 0, end - self.start, key=_id_of)
        is_found = position < end and self._items[position - self.start].id == item_id
        return position if is_found else None

    def id_at(self, offset: int) -> str:
        """The id of an item."""
        return self._items[offset].id

    def ids(self, start: int, stop: int) -> list[str]:
        """The ids of the items between two offsets."""
        return [item.id for item in self._items[start:stop]]

    def counts_between(self, key: str, start: int, stop: int) -> Sequence[int]:
        """The tokens of each item between two offsets, up to the first that was not counted."""
        sums = self.sums.get(key, ())
        return [after - before for before, after in pairwise(sums[start : stop + 1])]

    def tokens(self, counter: Counter, start: int, stop: int) -> int:
        """The tokens of the items between two offsets. Each item is counted once, ever."""
        sums = self.sums.get(counter.key)
        if sums is None:
            sums = self.sums.setdefault(counter.key, array("q", (0,)))
            self.counters[counter.key] = counter
        known = len(sums)
        if known <= stop:
            counts = map(counter.count, self._items[known - 1 : stop])
            new_sums = array("q", accumulate(counts, initial=sums[known - 1]))[1:]
            # Two threads may be here at once: both write the same numbers to the same places.
            sums[known : known + len(new_sums)] = new_sums
        return sums[stop] - sums[start]

    def late_tokens(self, counter: Late, start: int, stop: int) -> int:
        """The tokens that the late results between two positions add. Each is counted once."""
        late, sums = self.indexes["late"], self.late_sums.setdefault(counter.key, array("q", (0,)))
        first, last, known = bisect_left(late, start), bisect_left(late, stop), len(sums)
        if first < last and known <= last:
            new = late[known - 1 : last]
            self.load(new)
            counts = (counter.count(self.items[position - self.start]) for position in new)
            new_sums = array("q", accumulate(counts, initial=sums[known - 1]))[1:]
            sums[known : known + len(new_sums)] = new_sums  # as in `tokens`
        return sums[last] - sums[first] if first < last else 0

    def cached_counts(self) -> int:
        """The number of items that were counted, summed over all counters."""
        return sum(len(sums) - 1 for sums in self.sums.values())

    def positions(self, kind: IndexKind, start: int, stop: int) -> Sequence[int]:
        """The indexed positions of one kind in a range."""
        row = self.indexes[kind]
        return row[bisect_left(row, start) : bisect_left(row, stop)]

    def last_user(self, end: int) -> int | None:
        """The position of the last message of the user in this segment before `end`."""
        users = self.indexes["users"]
        index = bisect_left(users, end)
        return users[index - 1] if index else None

    def shape_at(self, revision: int, _log: "Log") -> Shape | None:
        """The shape at a revision, if it was made by an edit in this segment."""
        index = bisect_right(self._shapes, revision, key=lambda entry: entry[0])
        return self._shapes[index - 1][1] if index else None

    def grouping_before(self, end: int, _log: "Log") -> tuple[int, Grouping] | None:
        """The last position up to `end` with a known grouping, and that grouping."""
        page_start = end // PAGE * PAGE
        if page_start in self.page_groupings:
            return page_start, self.page_groupings[page_start].copy()
        return None if self.start else (0, Grouping())


class Log:
    """A list of segments, one after the other."""

    __slots__ = ("_areas", "_stubs", "segments", "starts")

    def __init__(self, segments: tuple[Segment, ...]) -> None:
        self.segments = segments
        self.starts = tuple([segment.start for segment in segments])
        self._stubs: dict[tuple[int, int], Item] = {}  # masked and distrusted items as shown, by run
        self._areas: dict[str, list[Interval]] = {}  # by summary: what it covers, if others name it

    def forked_at(self, end: int) -> "Log":
        """A log with the same items up to a position, and a last segment of its own."""
        index = self._index(max(end - 1, 0))
        last = self.segments[index]
        copy = last.copy_until(end)
        if copy is not None:
            return Log((*self.segments[:index], copy))
        return self.followed_by(Segment(end, last.highest))

    def followed_by(self, segment: Segment) -> "Log":
        """A log with the same items up to the start of a segment, and then that segment."""
        index = self._index(max(segment.start - 1, 0)) if segment.start else -1
        return Log((*self.segments[: index + 1], segment))

    def _index(self, position: int) -> int:
        return bisect_right(self.starts, position) - 1

    def item(self, position: int) -> Item:
        """The item at a position."""
        segment = self.segments[self._index(position)]
        return segment.items[position - segment.start]

    def id_at(self, position: int) -> str:
        """The id of the item at a position."""
        segment = self.segments[self._index(position)]
        return segment.id_at(position - segment.start)

    def load(self, runs: Iterable[Run]) -> None:
        """Load the items that several runs show, as far as they are not in memory."""
        lazy = [segment for segment in self.segments if segment.is_lazy]
        positions = {p for run in runs for p in _positions_of(run)} if lazy else ()
        for segment in lazy:
            following = (start for start in self.starts if start > segment.start)
            stop = min(following, default=segment.start + len(segment.items))
            segment.load(sorted(p for p in positions if segment.start <= p < stop))

    def shown(self, run: Run) -> Sequence[Item]:
        """The items that a run shows."""
        if run.by < 0:
            return self.items(run.start, run.stop)
        if run.start == run.stop:
            return (self.item(run.by),)
        key = (run.start, run.by)
        stub = self._stubs.get(key)
        if stub is None:
            edit = self.item(run.by)
            assert isinstance(edit, Mask | Distrust)
            stub = self._stubs[key] = changed_by(edit, self.item(run.start))
        return (stub,)

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
        pieces = self.pieces(start, stop)
        if isinstance(counter, Late):
            return sum(s.late_tokens(counter, s.start + a, s.start + b) for s, a, b in pieces)
        return sum(segment.tokens(counter, a, b) for segment, a, b in pieces)

    def find(self, item_id: str, end: int) -> int | None:
        """The position of the item with this id, if it is before `end`."""
        for segment in reversed(self.segments):
            if segment.start < end:
                position = segment.find(item_id, end)
                if position is not None:
                    return position
                end = segment.start  # later items of an earlier segment belong to another fork
        return None

    def locate(self, item_id: str, end: int) -> int:
        """The position of the item with this id; an error if it is not before `end`."""
        position = self.find(item_id, end)
        if position is None:
            raise UnknownId(f"no item {cut(item_id)!r} at revision {end}")
        return position

    def area(self, edit: Hide | Summary, end: int) -> list[Interval]:
        """The positions that an edit covers; where it names a summary, those that the summary covers."""
        area: list[Interval] = []
        for span in edit.spans:
            first, last = self.locate(span.first, end), self.locate(span.last, end)
            item = self.item(first)
            if first == last and isinstance(item, Summary) and item.spans:
                if item.id not in self._areas:
                    self._areas[item.id] = self.area(item, end)
                area += self._areas[item.id]
            elif EDIT in (self.head(first), self.head(last)) or first > last:
                raise EditRefused(
                    f"the span from {cut(span.first)!r} to {cut(span.last)!r} does not run between two items"
                )
            else:
                area.append((first, last + 1))
        return united(area)

    def spans(self, area: Iterable[Interval]) -> tuple[Span, ...]:
        """An area as spans, which begin and end with content."""
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
        """The positions of the group of an item, as of `end`."""
        head = self.head(position)
        if head == EDIT:
            return []
        members = [head]
        while members[-1] + 1 < end and self.head(members[-1] + 1) == head:
            members.append(members[-1] + 1)
        for segment, _, stop in self.pieces(head, end):
            detached = segment.detached_members.get(head)
            if detached is not None:
                members.extend(p for p in detached if members[-1] < p < segment.start + stop)
        return members

    def detached_members(self, start: int, end: int) -> dict[int, list[int]]:
        """By head of a group, its members in a range that come after a gap, or in a later segment."""
        by_head: dict[int, list[int]] = {}
        for segment, a, b in self.pieces(start, end):
            first, last = (bisect_left(segment.detached, (segment.start + offset,)) for offset in (a, b))
            for position, head in segment.detached[first:last]:
                by_head.setdefault(head, []).append(position)
        return by_head

    def is_late(self, head: int, end: int) -> bool:
        """Whether a next result of a group would be late: the model has moved on to other output."""
        for position in range(end - 1, head, -1):
            other = self.head(position)
            if other == head:
                return bool(self.positions("late", position, position + 1))
            if other != EDIT and is_output(self.item(position)):
                return True
        return False

    @property
    def has_late(self) -> bool:
        """Whether any result was late."""
        return any(segment.indexes["late"] for segment in self.segments)

    def positions(self, kind: IndexKind, start: int, end: int) -> list[int]:
        """The indexed positions of one kind in a range."""
        return [
            position
            for segment, a, b in self.pieces(start, end)
            for position in segment.positions(kind, segment.start + a, segment.start + b)
        ]

    def last_user(self, end: int) -> int | None:
        """The position of the last message of the user before `end`."""
        positions = (s.last_user(s.start + stop) for s, _, stop in self._back_from(end))
        return next((position for position in positions if position is not None), None)

    def shape_at(self, revision: int) -> Shape:
        """The shape at a revision."""
        shapes = (s.shape_at(s.start + stop, self) for s, _, stop in self._back_from(revision))
        return next((shape for shape in shapes if shape is not None), Shape())

    def grouping_at(self, revision: int) -> Grouping:
        """The grouping at a revision."""
        known = (s.grouping_before(s.start + stop, self) for s, _, stop in self._back_from(revision))
        start, grouping = next((pair for pair in known if pair is not None), (0, Grouping()))
        edits = set(self.positions("edits", start, revision))
        for position, item in enumerate(self.items(start, revision), start):
            if position not in edits:
                grouping.add(item, position)
            elif grouping.reply >= 0 and self.shape_at(position + 1).run_at(grouping.reply, position) is None:
                grouping.reply = -1
        return grouping

    def _back_from(self, end: int) -> Iterator[tuple[Segment, int, int]]:
        return reversed(list(self.pieces(0, end)))


def _positions_of(run: Run) -> Iterable[int]:
    """The positions of the items that a run needs."""
    return range(run.start, run.stop) if run.by < 0 else (*range(run.start, run.stop), run.by)


def changed_by(edit: Mask | Distrust, item: Item) -> Item:
    """The item with a stub as its content, or as text from outside.

    The state of a reply is marked, so that it is never sent back with other words.
    """
    changes: dict[str, Any] = {"origin": "external"} if isinstance(edit, Distrust) else {"content": edit.stub}
    if isinstance(item, Message) and item.role == "assistant":
        changes["state"] = msgspec.structs.replace(item.state or Opaque("quire", ""), prefix=MASKED)
    is_said = isinstance(item, ToolResult) or (
        isinstance(item, Message) and item.role in ("user", "assistant")
    )
    if is_said or isinstance(edit, Distrust):
        return msgspec.structs.replace(item, **changes)
    raise EditRefused(
        f"{cut(item.id)!r} is not a result or a message of the conversation: it cannot be masked"
    )


_id_of = attrgetter("id")
