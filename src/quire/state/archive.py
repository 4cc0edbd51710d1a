"""Archives: transcripts of any length, of which only the parts in use are in memory.

An archive is a segment of a log. It has an outline, which grows by a few bytes for each page of 1,024 items,
and a loader from the caller, which returns pages and items. A page has facts about each of its items.
Outlines and pages hold ids, positions and numbers, and no content.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, islice, pairwise
from operator import itemgetter
from typing import Generic, Protocol, TypeVar, overload

import msgspec

from quire.items import Item
from quire.state.edits import edited
from quire.state.groups import Grouping, PackedGrouping, is_edit
from quire.state.log import EDIT, PAGE, IndexKind, Log, Segment
from quire.state.shape import Run, Shape, rooted
from quire.state.transcript import Tip, Transcript
from quire.state.view import View
from quire.tokens import Counter, Late

T = TypeVar("T")
V = TypeVar("V")

_MAX_RUNS = 2048
"""The most runs of a shape that a page stores. A larger shape is computed from that of an earlier page."""

_ZERO = array("q", (0,)).tobytes()
"""The totals of a counter that has counted no page: 0 tokens before the first."""

MAX_ITEMS, MAX_PAGES = 4 * PAGE, 8
"""The sizes of the caches of items and of pages, see `RecentCache`. A read of more items is not cached."""


class RecentCache(Generic[V]):
    """A cache of the most recently used values, by number. It keeps `size` of them, or up to twice as many.

    It has two generations: when `new` is full it becomes `old`, and what was `old` is dropped.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self.new: dict[int, V] = {}
        self.old: dict[int, V] = {}

    def get(self, number: int) -> V | None:
        """The value of a number, if it is in the cache."""
        value = self.new.get(number)
        if value is None and (value := self.old.get(number)) is not None:
            self.put(number, value)
        return value

    def put(self, number: int, value: V) -> V:
        """Keep a value."""
        self.update({number: value})
        return value

    def update(self, values: Mapping[int, V]) -> None:
        """Keep some values."""
        if len(self.new) + len(values) > self._size:
            self.old, self.new = self.new, {}
        self.new.update(values)


class PackedShape(msgspec.Struct, array_like=True, frozen=True):
    """A shape as numbers: the four fields of each run, and the tokens of each run by counter."""

    tail: int = 0
    runs: bytes = b""
    counts: dict[str, bytes] = {}


class Page(msgspec.Struct, array_like=True, frozen=True):
    """Facts about up to 1,024 consecutive items: ids, heads of groups, user messages, tokens by counter.

    `shape` and `grouping` are those before the first item; `shape` is None if it has too many runs.
    """

    ids: list[str]
    heads: bytes
    users: bytes
    counts: dict[str, bytes]
    shape: PackedShape | None
    grouping: PackedGrouping


class Outline(msgspec.Struct, array_like=True, frozen=True):
    """What an archive knows from `start` to `end` without loading pages.

    By page: the lowest and highest id (`lows`, `highs`), one more than the position of the last user message
    before the page (`users_before`; 0 if there is none), and by counter the tokens before the page, as far as
    they were counted (`totals`). `marks` (structural items), `edits` and `late` (late results) are positions;
    `highest`, `detached_members` and `late_sums` are as in `Segment`. `sizes` are the tokens of the items
    that every request shows. `shape` and `grouping` are those at `end`.
    """

    start: int
    end: int
    highest: str
    lows: list[str]
    highs: list[str]
    users_before: bytes
    marks: bytes
    edits: bytes
    detached_members: dict[int, list[int]]
    late: bytes
    late_sums: dict[str, bytes]
    totals: dict[str, bytes]
    sizes: dict[str, dict[int, int]]
    shape: PackedShape
    grouping: PackedGrouping

    @property
    def first_page(self) -> int:
        """The number of the first page; pages count from the beginning of the whole log."""
        return self.start // PAGE


class Loader(Protocol):
    """Returns the pages and items of an archive."""

    def page(self, number: int) -> Page:
        """The page of a number."""
        ...

    def items(self, positions: Sequence[int]) -> list[Item]:
        """The items at some positions, in rising order."""
        ...


class Archive(Segment):
    """A segment whose items and pages are loaded when they are read. Any thread may read."""

    is_lazy = True

    def __init__(self, outline: Outline, loader: Loader) -> None:
        super().__init__(outline.start, outline.highest)
        self.outline = outline
        self.items, self.heads = _ByOffset(outline, self.read), _ByOffset(outline, self._read_heads)
        self.indexes["marks"], self.indexes["edits"] = _numbers(outline.marks), _numbers(outline.edits)
        self.indexes["late"] = _numbers(outline.late)
        self.detached_members = outline.detached_members
        members = self.detached_members.items()
        self.detached = sorted((position, head) for head, positions in members for position in positions)
        self.late_sums = {key: array("q", sums) for key, sums in outline.late_sums.items()}
        self.totals = {key: array("q", total) for key, total in outline.totals.items()}
        self._loader = loader
        self._users_before = _numbers(outline.users_before)
        self._pages = RecentCache[_Opened](MAX_PAGES)
        self._recent_items = RecentCache[Item](MAX_ITEMS)  # by position
        self._shapes_of = RecentCache[list[tuple[int, Shape]]](MAX_PAGES)
        self._counts: dict[tuple[str, int], array[int]] = {}  # of pages that were counted here

    def copy_until(self, end: int) -> None:
        """An archive is not copied: a fork continues after it."""

    def page(self, number: int) -> Page:
        """The page of a number."""
        return self._opened(number).page

    def _opened(self, number: int) -> "_Opened":
        return self._pages.get(number) or self._pages.put(number, _Opened(self._loader.page(number)))

    def read(self, positions: Sequence[int]) -> list[Item]:
        """The items at some positions; those that are not cached are loaded in one call."""
        new, old = self._recent_items.new, self._recent_items.old
        items = {p: item for p in positions if (item := new.get(p) or old.get(p)) is not None}
        missing = [position for position in positions if position not in items]
        if missing:
            items.update(zip(missing, self._loader.items(missing), strict=True))
        if len(items) <= MAX_ITEMS and not items.keys() <= new.keys():
            self._recent_items.update(items)
        return [items[position] for position in positions]

    def load(self, positions: Sequence[int]) -> None:
        if len(positions) <= MAX_ITEMS:
            self.read(positions)

    def _read_heads(self, positions: Sequence[int]) -> list[int]:
        return [self._opened(p // PAGE).heads[p - self._start_of(p // PAGE)] for p in positions]

    def ids(self, start: int, stop: int) -> list[str]:
        return [self.id_at(offset) for offset in range(start, stop)]

    def counts_between(self, key: str, start: int, stop: int) -> Sequence[int]:
        tokens: list[int] = []
        for offset in range(start, stop):
            number = (self.start + offset) // PAGE
            counts, within = self.counts(key, number), self.start + offset - self._start_of(number)
            if within >= len(counts):
                break
            tokens.append(counts[within])
        return tokens

    def cached_counts(self) -> int:
        first, last = self.outline.first_page, (self.outline.end - 1) // PAGE
        first_uncounted = {key: first + len(totals) - 1 for key, totals in self.totals.items()}
        in_last = sum(
            len(self.counts(key, number)) for key, number in first_uncounted.items() if number == last
        )
        return PAGE * sum(number - first for number in first_uncounted.values()) + in_last

    def find(self, item_id: str, end: int) -> int | None:
        lows, highs = self.outline.lows, self.outline.highs
        for index in reversed(range(len(lows))):
            if lows[index] <= item_id <= highs[index]:
                number = self.outline.first_page + index
                ids = self.page(number).ids
                if item_id in ids:
                    position = self._start_of(number) + ids.index(item_id)
                    return position if position < min(end, self.outline.end) else None
        return None

    def id_at(self, offset: int) -> str:
        number = (self.start + offset) // PAGE
        return self.page(number).ids[self.start + offset - self._start_of(number)]

    def tokens(self, counter: Counter, start: int, stop: int) -> int:
        if stop == start + 1:
            size = self.outline.sizes.get(counter.key, {}).get(self.start + start)
            if size is not None:
                return size
        return self._before(counter, self.start + stop) - self._before(counter, self.start + start)

    def _before(self, counter: Counter, position: int) -> int:
        """The tokens of the items of this archive before a position."""
        number, key = position // PAGE, counter.key
        index, within = number - self.outline.first_page, position - self._start_of(number)
        if len(self.totals.get(key, ())) <= index or (within and len(self.counts(key, number)) < within):
            self._count_until(counter, index, within)
        return self.totals[key][index] + (self._sums(key, number)[within] if within else 0)

    def _count_until(self, counter: Counter, index: int, within: int) -> None:
        """Count the pages that this counter has not counted yet."""
        totals = array("q", self.totals.get(counter.key, (0,)))
        while len(totals) <= index:
            totals.append(totals[-1] + sum(self._count_page(counter, len(totals) - 1)))
        if within:
            self._count_page(counter, index)
        self.totals[counter.key], self.counters[counter.key] = totals, counter

    def _count_page(self, counter: Counter, index: int) -> "array[int]":
        number = self.outline.first_page + index
        counts = self.counts(counter.key, number)
        missing = range(self._start_of(number) + len(counts), self._start_of(number + 1))
        if missing:
            # A new array, because another thread may count the same page.
            counts = counts + array("I", map(counter.count, self._loader.items(missing)))
            self._counts[counter.key, number] = counts
        return counts

    def counts(self, key: str, number: int) -> "array[int]":
        """The tokens of the items of a page, as far as they were counted."""
        if (key, number) in self._counts:
            return self._counts[key, number]
        start, stop = self._start_of(number), self._start_of(number + 1)
        if start == stop:
            return array("I")
        opened = self._opened(number)
        if key not in opened.counts:
            opened.counts[key] = _numbers(opened.page.counts.get(key, b""))[: stop - start]
        return opened.counts[key]

    def _sums(self, key: str, number: int) -> "array[int]":
        """The running sums within a page."""
        sums, counts = self._opened(number).sums, self.counts(key, number)
        if len(sums.get(key, ())) <= len(counts):
            sums[key] = array("q", accumulate(counts, initial=0))
        return sums[key]

    def _start_of(self, number: int) -> int:
        """The first position of a page, within this archive."""
        return min(max(number * PAGE, self.start), self.outline.end)

    def positions(self, kind: IndexKind, start: int, stop: int) -> Sequence[int]:
        if kind != "users":
            return super().positions(kind, start, stop)
        numbers = range(start // PAGE, -(-min(stop, self.outline.end) // PAGE))
        users = (position for number in numbers for position in _numbers(self.page(number).users))
        return [position for position in users if start <= position < stop]

    def last_user(self, end: int) -> int | None:
        number = (end - 1) // PAGE
        users = _numbers(self.page(number).users)
        index = bisect_left(users, end)
        if index:
            return users[index - 1]
        before = self._users_before[number - self.outline.first_page]
        return before - 1 if before else None

    def shape_at(self, revision: int, log: Log) -> Shape | None:
        if revision == self.outline.end:
            return unpacked_shape(self.outline.shape)
        shapes = self._page_shapes(revision // PAGE, log)
        return shapes[bisect_right(shapes, revision, key=itemgetter(0)) - 1][1]

    def _page_shapes(self, number: int, log: Log) -> list[tuple[int, Shape]]:
        """The shape where a page begins, and that after each edit in the page."""
        first, shapes = number, self._shapes_of.get(number)
        while shapes is None:  # go back to the last page with a known shape
            packed = self.page(first).shape
            if packed is None:
                first -= 1
                shapes = self._shapes_of.get(first)
            else:
                shapes = self._shapes_from(unpacked_shape(packed), first, log)
        for later in range(first + 1, number + 1):
            shapes = self._shapes_from(shapes[-1][1], later, log)
        return self._shapes_of.put(number, shapes)

    def _shapes_from(self, shape: Shape, number: int, log: Log) -> list[tuple[int, Shape]]:
        start, shapes = self._start_of(number), list[tuple[int, Shape]]()
        shapes.append((start, shape))
        edits = self.positions("edits", start, self._start_of(number + 1))
        self.load(edits)
        for position in edits:
            edit = log.item(position)
            assert is_edit(edit)
            shape = edited(View(log, shape, position, ()), edit)
            shapes.append((position + 1, shape))
        return shapes

    def grouping_before(self, end: int, log: Log) -> tuple[int, Grouping]:
        is_end = end == self.outline.end
        packed = self.outline.grouping if is_end else self.page(end // PAGE).grouping
        return end if is_end else self._start_of(end // PAGE), Grouping.unpacked(packed, log.item)


class _Opened:
    """A page, and values computed from it."""

    __slots__ = ("counts", "heads", "page", "sums")

    def __init__(self, page: Page) -> None:
        self.page, self.heads = page, _numbers(page.heads)
        self.counts: dict[str, array[int]] = {}  # by counter
        self.sums: dict[str, array[int]] = {}


class _ByOffset(Sequence[T]):
    """A value of an archive for each of its items, by offset."""

    def __init__(self, outline: Outline, read: Callable[[Sequence[int]], list[T]]) -> None:
        """`read` returns the values for some positions."""
        self._start, self._length, self._read = outline.start, outline.end - outline.start, read

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            first, last, _ = index.indices(self._length)
            return self._read(range(self._start + first, self._start + last))
        return self._read((self._start + index,))[0]


# Making an archive, and reopening one


def archived(
    transcript: Transcript, start: int = 0, previous: Outline | None = None
) -> tuple[Outline, dict[int, Page]]:
    """The outline of a transcript from a position on, and the pages that the outline `previous` lacks."""
    view, tip = transcript.view, transcript.tip
    log, end = view.log, view.end
    pieces = log.pieces(start, end)
    counters = {key: counter for segment, _, _ in pieces for key, counter in segment.counters.items()}
    for counter in counters.values():
        view.counted(counter)
        log.tokens(start, end, counter)
    first = start // PAGE
    if previous is not None:  # pages that some counter in use has not counted are made again
        counted_pages = (len(array("q", previous.totals.get(key, _ZERO))) - 1 for key in counters)
        first = min([previous.end // PAGE, *(previous.first_page + pages for pages in counted_pages)])
    numbers = range(first, -(-end // PAGE) if end > start else first)
    keys = {*counters, *(previous.totals if previous else ())}
    pages = {number: _page_of(log, number, start, end, keys) for number in numbers}
    reused = 0 if previous is None else first - previous.first_page  # pages of the outline `previous`
    users = (log.last_user(max(number * PAGE, start)) for number in numbers)
    users_before = array("I", [] if previous is None else _numbers(previous.users_before)[:reused])
    users_before.extend(0 if user is None or user < start else user + 1 for user in users)
    late = log.positions("late", start, end)
    late_sums = dict(previous.late_sums) if previous is not None and late else {}
    for counter in (Late(f"{key}/late", counter.count) for key, counter in counters.items() if late):
        sizes = (log.tokens(position, position + 1, counter) for position in late)
        late_sums[counter.key] = array("q", accumulate(sizes, initial=0)).tobytes()
    outline = Outline(
        start=start,
        end=end,
        highest=log.segments[-1].highest,
        lows=[*(previous.lows[:reused] if previous else ()), *(min(page.ids) for page in pages.values())],
        highs=[*(previous.highs[:reused] if previous else ()), *(max(page.ids) for page in pages.values())],
        users_before=users_before.tobytes(),
        marks=array("I", log.positions("marks", start, end)).tobytes(),
        edits=array("I", log.positions("edits", start, end)).tobytes(),
        detached_members=log.detached_members(start, end),
        late=array("I", late).tobytes(),
        late_sums=late_sums,
        totals={key: _totals(key, previous, reused, pages, end) for key in keys},
        sizes={key: _sizes(view, start, counter) for key, counter in counters.items()},
        shape=packed_shape(tip.shape),
        grouping=tip.grouping.packed(),
    )
    return outline, pages


def _page_of(log: Log, number: int, start: int, end: int, keys: Iterable[str]) -> Page:
    first, stop = max(number * PAGE, start), min((number + 1) * PAGE, end)
    pieces = list(log.pieces(first, stop))
    heads = array("I", [head for segment, a, b in pieces for head in segment.heads[a:b]])
    shape = log.shape_at(first)
    is_small = next(islice(shape.runs(), _MAX_RUNS, None), None) is None
    return Page(
        ids=[item_id for segment, a, b in pieces for item_id in segment.ids(a, b)],
        heads=heads.tobytes(),
        users=array("I", log.positions("users", first, stop)).tobytes(),
        counts={key: _counts(pieces, key).tobytes() for key in keys},
        shape=packed_shape(shape) if is_small or first == start else None,
        grouping=log.grouping_at(first).packed(),
    )


def _counts(pieces: Iterable[tuple[Segment, int, int]], key: str) -> "array[int]":
    """The tokens of each item, up to the first that was not counted."""
    counts = array("I")
    for segment, a, b in pieces:
        counted = segment.counts_between(key, a, b)
        counts.extend(counted)
        if len(counted) < b - a:
            break
    return counts


def _totals(key: str, previous: Outline | None, reused: int, pages: Mapping[int, Page], end: int) -> bytes:
    """The tokens before each page, up to the first page that is not full or not counted to its end."""
    totals = array("q", _ZERO if previous is None else previous.totals.get(key, _ZERO))
    if len(totals) > reused:  # otherwise an earlier page is not counted to its end
        del totals[reused + 1 :]
        for number, page in pages.items():
            counts = _numbers(page.counts[key])
            if len(counts) < len(page.ids) or (number + 1) * PAGE > end:
                break
            totals.append(totals[-1] + sum(counts))
    return totals.tobytes()


def _sizes(view: View, start: int, counter: Counter) -> dict[int, int]:
    """The tokens of the items that every request shows."""
    always = [p for p in needed_positions(view) if p >= start and view.log.head(p) != EDIT]
    return {position: view.log.tokens(position, position + 1, counter) for position in always}


def needed_positions(view: View) -> list[int]:
    """The positions that every request reads: the items that it always shows, and open calls."""
    log, end = view.log, view.end
    held = (member for head in view.held_groups() for member in log.group(head, end))
    summaries = (run.by for run in view.shape.summaries())
    return sorted({*log.positions("marks", 0, end), *held, *summaries})


def reopened(outline: Outline, loader: Loader, before: Transcript | None = None) -> Transcript:
    """The transcript of an outline, as the continuation of `before`."""
    log = Log((Segment(0),)) if before is None else before.view.log
    if outline.end > outline.start:
        log = log.followed_by(Archive(outline, loader))
    grouping = Grouping.unpacked(outline.grouping, log.item)
    return Transcript.resume(log, Tip(outline.end, unpacked_shape(outline.shape), grouping))


def packed_shape(shape: Shape) -> PackedShape:
    """A shape as numbers."""
    runs = [run for _, run in shape.runs()]
    leaves = shape.leaves()
    counts = {
        key: [after - before for leaf in leaves for before, after in pairwise(leaf.sums[key])]
        for key in shape.root.sums  # if the root was counted, all nodes below it were
    }
    return PackedShape(
        shape.tail,
        array("q", [number for run in runs for number in run]).tobytes(),
        {key: array("q", numbers).tobytes() for key, numbers in counts.items()},
    )


def unpacked_shape(packed: PackedShape) -> Shape:
    """The shape that was packed."""
    numbers = array("q", packed.runs)
    runs = [
        Run(start, stop, by, bool(pinned))
        for start, stop, by, pinned in zip(*(numbers[at::4] for at in range(4)), strict=True)
    ]
    shape = Shape(rooted(runs), packed.tail)
    for key, counted in packed.counts.items():
        counts = iter(array("q", counted))
        for leaf in shape.leaves():
            leaf.sums[key] = list(accumulate(islice(counts, len(leaf.parts)), initial=0))
    return shape


def _numbers(packed: bytes) -> "array[int]":
    return array("I", packed)
