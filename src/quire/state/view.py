"""The view: the part of a log that is shown at one revision. It never changes; a transcript makes new ones.

Readers of views share three things here: the positions that no cut may remove, memos with which a reader
continues from an earlier view, and scrolls.
"""

from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from heapq import heappop, heappush
from itertools import accumulate, chain, islice
from typing import Any, Literal, NamedTuple, cast, overload

from quire.errors import OutOfRange
from quire.items import Hide, Item, Mask, Span, Summary, ToolCall, ToolResult, Undo, is_below, own_origin
from quire.state.groups import Group, gathered
from quire.state.log import EDIT, Log
from quire.state.shape import Interval, Node, Part, Run, Shape, contains, singles, united
from quire.tokens import AsSent, Counter, Late, checked_counter, whole

_RUNS_AT_ONCE = 256
_FIRST_AT_ONCE, _MAX_AT_ONCE = 16, 256
"""How many items a reader from the end loads together: few at first, as most stop early."""


class Fate(NamedTuple):
    """The state of an item in a view, and the id of the edit that caused it."""

    state: Literal["shown", "pinned", "masked", "summarised", "hidden", "edit"]
    by: str | None = None


class ItemRow(Sequence[Item]):
    """A sequence of items that is not a list in memory: a subclass returns slices of it."""

    __slots__ = ()

    @abstractmethod
    def _slice(self, start: int, stop: int) -> list[Item]:
        """The items from an index to before another, neither below zero."""

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> list[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | list[Item]:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            return self._slice(start, stop) if step == 1 else list(self)[index]
        place = index + len(self) if whole(index, "an index") < 0 else index
        if not 0 <= place < len(self):
            raise OutOfRange(f"there are {len(self)} items; there is none at {index}")
        return self._slice(place, place + 1)[0]


class EditsInForce:
    """All edits up to a revision that were not undone."""

    def __init__(
        self, log: Log, end: int, undoing: int | None = None, before: "EditsInForce | None" = None
    ) -> None:
        """`undoing` is the position of one more edit to undo, `before` the edits of an earlier revision."""
        self.end = end
        self.undone = set[int]() if undoing is None else {undoing}
        new = _edits(log, 0 if before is None else before.end, end)
        if before is not None and any(isinstance(edit, Undo) for _, edit in new):
            before, new = None, _edits(log, 0, end)
        for position, edit in reversed(new):
            if isinstance(edit, Undo) and position not in self.undone:
                self.undone.add(log.locate(edit.target, end))
        self.edits = {position: edit for position, edit in new if position not in self.undone}
        covering = (edit for edit in self.edits.values() if isinstance(edit, Hide | Summary))
        self.covers = [(edit, log.area(edit, end)) for edit in covering]
        if before is not None:
            self.edits, self.covers = before.edits | self.edits, before.covers + self.covers
            self.undone = before.undone

    def over(self, position: int) -> Hide | Summary:
        """The last edit that covers a position that is not shown."""
        bounds, last = self._last_covers
        return self.covers[last[bisect_right(bounds, position) - 1]][0]

    @cached_property
    def _last_covers(self) -> tuple[list[int], list[int]]:
        """The positions where areas begin and end, and for each the number of the last cover there.

        A sweep over these positions with a heap of the covers that have begun, the last on top. A cover that
        has ended is removed when it is on top.
        """
        begins: dict[int, list[tuple[int, int]]] = {}
        for number, (_, area) in enumerate(self.covers):
            for start, stop in area:
                begins.setdefault(start, []).append((-number, stop))
                begins.setdefault(stop, [])
        bounds, last, heap = sorted(begins), list[int](), list[tuple[int, int]]()
        for bound in bounds:
            for cover in begins[bound]:
                heappush(heap, cover)
            while heap and heap[0][1] <= bound:
                heappop(heap)
            last.append(-heap[0][0] if heap else -1)
        return bounds, last


def _edits(log: Log, start: int, end: int) -> list[tuple[int, Item]]:
    positions = log.positions("edits", start, end)
    log.load(Run(position, position + 1) for position in positions)
    return [(position, log.item(position)) for position in positions]


class View(ItemRow):
    """Items as they are shown, oldest first.

    `log`, `shape` and `end` are internal to Quire: the view shows `log` by `shape`, and reads up to `end`,
    because the log may have grown since.
    """

    __slots__ = ("_edits_in_force", "_open_calls", "_pins", "_summaries", "end", "log", "shape")

    def __init__(self, log: Log, shape: Shape, end: int, open_calls: tuple[int, ...] | None = None) -> None:
        self.log = log
        self.shape = shape
        self.end = end
        self._open_calls = open_calls  # computed on demand for an earlier revision
        self._edits_in_force: EditsInForce | None = None
        self._pins: set[int] | None = None
        self._summaries: set[int] | None = None  # the positions of the shown ones

    @property
    def revision(self) -> int:
        """The number of recorded items, edits included."""
        return self.end

    @property
    def was_edited(self) -> bool:
        """Whether any edit was recorded."""
        return self.shape.tail > 0

    def recorded(self) -> list[Item]:
        """All items up to this revision in order of arrival, edits and hidden ones included."""
        return self.log.items(0, self.end)

    def added_since(self, earlier: "View") -> list[Item] | None:
        """The items after those of an earlier view; `None` if more differs than new items at the end."""
        same_log = earlier.log.segments[-1] is self.log.segments[-1]
        if not same_log or earlier.shape is not self.shape or not self.shape.tail <= earlier.end <= self.end:
            return None
        return self.log.items(earlier.end, self.end)

    def __len__(self) -> int:
        return self.shape.size + max(self.end - self.shape.tail, 0)

    def __iter__(self) -> Iterator[Item]:
        return chain.from_iterable(map(self.log.shown, self._loaded(self.runs())))

    def __reversed__(self) -> Iterator[Item]:
        start, size = len(self), _FIRST_AT_ONCE
        while start > 0:
            stop, start = start, max(start - size, 0)
            yield from reversed(self._slice(start, stop))
            size = min(2 * size, _MAX_AT_ONCE)

    def __repr__(self) -> str:
        return f"<View of {len(self)} items at revision {self.end}>"

    def _loaded(self, runs: Iterable[Run]) -> Iterator[Run]:
        """The runs one by one; their items are loaded for many runs at once."""
        rest = iter(runs)
        while batch := list(islice(rest, _RUNS_AT_ONCE)):
            self.log.load(batch)
            yield from batch

    def runs(self) -> list[Run]:
        """The runs that are shown, the tail included."""
        runs = cast("list[Run]", [part for leaf in self.shape.leaves() for part in leaf.parts])
        return [*runs, Run(self.shape.tail, self.end)] if self.end > self.shape.tail else runs

    def shown_at(self, position: int) -> Item | None:
        """The item at a position as it is shown; None if it is not shown."""
        run = self.run_at(position)
        if run is None:
            return None
        return self.log.item(position) if run.by < 0 else self.log.shown(run)[0]

    def summaries(self) -> list[Summary]:
        """The summaries that are shown."""
        items = [self.log.item(run.by) for run in self.shape.summaries()]
        return [item for item in items if isinstance(item, Summary)]

    def shows_summary(self, position: int) -> bool:
        """Whether the item at a position is a shown summary."""
        if self._summaries is None:
            self._summaries = {run.by for run in self.shape.summaries()}
        return position in self._summaries

    def _slice(self, start: int, stop: int) -> list[Item]:
        parts: list[Run] = []
        for at, run in self._runs_from(start):
            if at >= stop:
                break
            if run.by < 0:
                run = Run(run.start + max(start - at, 0), min(run.start + stop - at, run.stop))
            parts.append(run)
        if len(parts) > 1:
            self.log.load(parts)
        return [item for run in parts for item in self.log.shown(run)]

    def up_to(self, index: int) -> "View | None":
        """The view before the item at an index was appended; None if an edit came later."""
        earlier = View(self.log, self.shape, self.position_at(index))
        return earlier if len(earlier) == index else None

    def last_position(self) -> int | None:
        """The position of the last shown item that is not a summary."""
        runs = (run for index in range(len(self) - 1, -1, -1) for _, run in self._runs_from(index))
        return next((run.stop - 1 for run in runs if run.stop > run.start), None)

    def _runs_from(self, index: int) -> Iterator[tuple[int, Run]]:
        """The runs that show an index and all after it, each with the index of its first item."""
        yield from self.shape.runs(index)
        if self.end > self.shape.tail:
            yield self.shape.size, Run(self.shape.tail, self.end)

    def get(self, item_id: str) -> Item:
        """The item with this id as it was recorded, even if it is not shown."""
        return self.log.item(self.position(item_id))

    def position(self, item_id: str) -> int:
        """The position of an item in the log."""
        return self.log.locate(item_id, self.end)

    def run_at(self, position: int) -> Run | None:
        """The run that shows a position, if one does."""
        return self.shape.run_at(position, self.end)

    def position_at(self, index: int) -> int:
        """The position of the item at an index; for a summary, of the first item it covers."""
        at, run = next(self._runs_from(index), (index, Run(self.end, self.end)))
        return run.start + index - at

    def index_of(self, position: int) -> int:
        """The number of items that are shown before a position: its index, if it is shown."""
        return self.shape.index_of(position)

    def tokens(self, counter: Counter) -> int:
        """The tokens of the view. Each item is counted only once, by all views together."""
        counted = self.counted(counter)
        return counter.total(counted)

    def counted(self, counter: Counter) -> int:
        """The sum of the counts of all items."""
        return self.counted_before(len(self), checked_counter(counter))

    def counted_before(self, index: int, counter: Counter) -> int:
        """The sum of the counts of the items before an index."""
        if isinstance(counter, AsSent) and self.log.has_late:
            return self._summed(index, counter) + self._summed(index, counter.late)
        return self._summed(index, counter)

    def _summed(self, index: int, counter: Counter) -> int:
        shape = self.shape
        if index >= shape.size:
            tail = self.log.tokens(shape.tail, shape.tail + index - shape.size, counter)
            return self._sums(shape.root, counter)[-1] + tail
        counted = 0
        part: Part = shape.root
        while isinstance(part, Node):
            for child, before in zip(part.parts, self._sums(part, counter), strict=False):
                if child.width > index:
                    counted, part = counted + before, child
                    break
                index -= child.width
        return counted + self.log.tokens(part.start, part.start + index, counter)

    def _sums(self, node: Node, counter: Counter) -> list[int]:
        """The running totals of the parts of a node."""
        if counter.key not in node.sums:
            sizes = (self._size(part, counter) for part in node.parts)
            node.sums[counter.key] = list(accumulate(sizes, initial=0))
        return node.sums[counter.key]

    def _size(self, part: Part, counter: Counter) -> int:
        if isinstance(part, Node):
            return self._sums(part, counter)[-1]
        if part.by < 0 or isinstance(counter, Late):  # a stub is late if its item is
            return self.log.tokens(part.start, part.stop, counter)
        return counter.count(self.log.shown(part)[0])

    def groups(self) -> list[Group]:
        """The items as groups; a summary is a group of its own."""
        return gathered(
            (self.log.head(position) if run.start < run.stop else -1 - position, item)
            for run in self._loaded(self.runs())
            for position, item in enumerate(self.log.shown(run), run.start)
        )

    def open_calls(self) -> tuple[int, ...]:
        """The positions of the calls without a result."""
        if self._open_calls is None:
            self._open_calls = self.log.grouping_at(self.end).open_calls()
        return self._open_calls

    def pending(self) -> list[ToolCall]:
        """The calls without a result, in order."""
        calls = map(self.log.item, self.open_calls())
        return [call for call in calls if isinstance(call, ToolCall)]

    def late_among(self, items: Iterable[Item]) -> list[ToolResult]:
        """The late results among some items: they arrived after the model had moved on."""
        if not self.log.has_late:
            return []
        results = ((self.log.find(item.id, self.end), item) for item in items if isinstance(item, ToolResult))
        return [item for at, item in results if at is not None and self.log.positions("late", at, at + 1)]

    def pins(self) -> set[int]:
        """The heads of the pinned groups."""
        if self._pins is None:
            runs = (run for run in self.shape.notable() if run.pinned)
            self._pins = {self.log.head(p) for run in runs for p in range(run.start, run.stop)}
        return self._pins

    def held_groups(self) -> set[int]:
        """The heads of the groups that no edit removes: pinned ones, and those with open calls."""
        return self.pins().union(map(self.log.head, self.open_calls()))

    @property
    def edits_in_force(self) -> EditsInForce:
        """The edits that were not undone at this revision."""
        if self._edits_in_force is None:
            memo: EditsInForce | None = memos(self).get(EditsInForce)
            edits = memo if memo is not None and memo.end <= self.end else None
            if edits is None or self.log.positions("edits", edits.end, self.end):
                edits = EditsInForce(self.log, self.end, before=edits)
            if memo is None or edits.end > memo.end:
                keep_memo(self, EditsInForce, edits)
            self._edits_in_force = edits
        return self._edits_in_force

    def fate(self, item_id: str) -> Fate:
        """The state of an item, and the edit that caused it."""
        return self.fate_at(self.position(item_id))

    def fate_at(self, position: int) -> Fate:
        """The state of the item at a position, and the edit that caused it."""
        head = self.log.head(position)
        if head == EDIT:
            return Fate("shown" if self.shows_summary(position) else "edit")
        run = self.run_at(position)
        if run is not None and head in self.pins():
            return Fate("pinned")
        if run is not None and run.by >= 0:
            is_masked = isinstance(self.log.item(run.by), Mask)
            return Fate("masked" if is_masked else "shown", self.log.id_at(run.by))
        if run is not None:
            return Fate("shown")
        edit = self.edits_in_force.over(position)
        return Fate("summarised" if isinstance(edit, Summary) else "hidden", edit.id)


def protected_positions(view: View) -> Iterator[int]:
    """The positions that no cut removes, shown or not.

    These are instructions, configuration, handoffs and plain summaries; pinned groups and groups with open
    calls; the last user message and, if the last item is a result, the group of that.
    """
    log, end = view.log, view.end
    yield from log.positions("marks", 0, end)
    for head in view.held_groups():
        yield from log.group(head, end)
    last = log.last_user(end)
    if last is not None:
        yield last
    newest = view.last_position()
    if newest is not None and isinstance(log.item(newest), ToolResult):
        yield from log.group(newest, end)


def undone_groups(view: View) -> set[int]:
    """The heads of the groups that a person's undo brought back, alone or under an earlier summary."""
    log, end, heads = view.log, view.end, set[int]()
    summaries = [(log.locate(summary.id, end), log.area(summary, end)) for summary in view.summaries()]
    for undo in view.edits_in_force.edits.values():
        if not isinstance(undo, Undo) or is_below(own_origin(undo), "user"):
            continue
        position = log.locate(undo.target, end)
        edit, area = log.item(position), list[Interval]()
        if isinstance(edit, Mask):
            area = singles([log.locate(edit.target, end)])
        elif isinstance(edit, Hide | Summary):
            area = log.area(edit, end)
        earlier = [covered for at, covered in summaries if at < position and contains(area, covered[0][0])]
        heads.update(log.head(p) for p in _positions(area) if view.run_at(p) is not None)
        heads.update(log.head(p) for covered in earlier for p in _positions(covered))
    return heads - {EDIT}


def _positions(area: Iterable[Interval]) -> Iterator[int]:
    return (position for start, stop in area for position in range(start, stop))


def spans_over(view: View, items: Iterable[Item]) -> tuple[Span, ...]:
    """The fewest spans over these items and no others; for a summary, over all that it covers."""
    log, end = view.log, view.end
    area = singles(log.positions("edits", 0, end))  # edits between two items do not split a span
    for item in items:
        if isinstance(item, Summary) and item.spans:
            area += log.area(item, end)
        else:
            position = view.position(item.id)
            area.append((position, position + 1))
    return log.spans(united(area))


_MEMOS = 4
"""The most memos of one type: one for each provider and model in use at a time."""


def memos(view: View) -> dict[Hashable, Any]:
    """The memos of readers of this transcript's views, each under its own key."""
    return view.log.segments[-1].memos


def keep_memo(view: View, key: Hashable, memo: object) -> None:
    """Store what a reader computed, so that it can continue from there; old memos of its type are dropped."""
    all_memos = memos(view)
    all_memos[key] = memo
    keys = [other for other, value in list(all_memos.items()) if type(value) is type(memo)]
    for oldest in keys[:-_MEMOS]:
        all_memos.pop(oldest, None)


class Scroll(ItemRow):
    """A few items, then a view from the index `start` on, then a few volatile items.

    Nearly every request to a model has this form. The history is not copied, and a reader of one scroll can
    continue with a later one that is longer.
    """

    __slots__ = ("after", "before", "start", "view")

    def __init__(
        self,
        before: tuple[Item, ...] = (),
        view: View | None = None,
        start: int = 0,
        after: tuple[Item, ...] = (),
    ) -> None:
        self.before = before
        self.view = view
        self.start = start
        self.after = after

    def __len__(self) -> int:
        return self.stable_length + len(self.after)

    def __iter__(self) -> Iterator[Item]:
        view: Sequence[Item] = () if self.view is None else self.view
        return chain(self.before, view[self.start :] if self.start else view, self.after)

    @property
    def stable_length(self) -> int:
        """The number of items before `after`: all but the volatile ones."""
        return len(self.before) + (0 if self.view is None else len(self.view) - self.start)

    @property
    def was_edited(self) -> bool:
        """Whether something before these items was left out or changed."""
        return self.view is not None and (self.start > 0 or self.view.was_edited)

    def counted(self, counter: Counter) -> int:
        """The sum of the counts of all items."""
        counted = sum(map(counter.count, (*self.before, *self.after)))
        if self.view is None:
            return counted
        if isinstance(counter, AsSent):
            counted += sum(map(counter.late.count, self.view.late_among(self.before)))
        return counted + self.view.counted(counter) - self.view.counted_before(self.start, counter)

    def added_since(self, earlier: "Scroll") -> list[Item] | None:
        """The items after those of an earlier scroll; `None` if more differs than new items at the end."""
        if self.view is None or earlier.view is None or self.start != earlier.start:
            return None
        return None if self.before != earlier.before else self.view.added_since(earlier.view)

    def _slice(self, start: int, stop: int) -> list[Item]:
        before, stable = len(self.before), self.stable_length
        items = list(self.before[start:stop])
        if self.view is not None and stop > before:
            offset = self.start - before
            items += self.view[max(start, before) + offset : min(stop, stable) + offset]
        if stop > stable:
            items += self.after[max(start - stable, 0) : stop - stable]
        return items
