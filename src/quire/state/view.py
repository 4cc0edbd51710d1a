"""The view: what is shown of a log at one revision.

It never changes; a transcript makes a new one when asked.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Literal, NamedTuple

from quire.errors import OutOfRange, UnknownId, WrongType, cut
from quire.items import Item, ToolCall
from quire.state.active import ActiveEdits
from quire.state.groups import Group
from quire.state.log import EDIT, Log
from quire.state.row import ItemRow, place_of
from quire.state.shape import Run, Shape, contains, find_run
from quire.state.waiting import waiting_at
from quire.state.weighing import branch_sums, run_tokens
from quire.tokens import Counter, checked_counter, count_of, digits, total_by, whole


class Fate(NamedTuple):
    """What became of an item, and the id of the edit that did it."""

    state: Literal["shown", "pinned", "masked", "covered", "hidden", "edit"]
    by: str | None = None


def checked_view(view: object) -> "View":
    """The view, if it is one: a transcript, say, has one and is none."""
    if not isinstance(view, View):
        raise WrongType(f"expected a view, such as transcript.view, not {type(view).__name__}")
    return view


class View(ItemRow):
    """Items as they are shown, oldest first. `log`, `shape` and `end` are for the rest of this room."""

    __slots__ = ("_active", "_offsets", "_open_calls", "end", "log", "shape")

    def __init__(self, log: Log, shape: Shape, end: int, open_calls: tuple[int, ...] | None = None) -> None:
        self.log = log
        self.shape = shape
        self.end = end
        self._open_calls = open_calls  # unknown for a revision of the past, until somebody asks
        self._offsets: list[int] | None = None
        self._active: ActiveEdits | None = None

    @property
    def revision(self) -> int:
        """How many items, edits included, had been recorded."""
        return self.end

    def __len__(self) -> int:
        return self.shape.size + max(self.end - self.shape.tail, 0)

    def __iter__(self) -> Iterator[Item]:
        for run in self.runs():
            yield from self._shown(run)

    def __reversed__(self) -> Iterator[Item]:
        for run in self.runs(backwards=True):
            yield from reversed(self._shown(run))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, View):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<View of {len(self)} items at revision {self.end}>"

    def runs(self, backwards: bool = False) -> Iterator[Run]:
        """The runs that are shown, the tail included."""
        tail = Run(self.shape.tail, self.end)
        if backwards:
            if tail.stop > tail.start:
                yield tail
            for branch in reversed(self.shape.branches):
                for leaf in reversed(branch.leaves):
                    yield from reversed(leaf.runs)
        else:
            for branch in self.shape.branches:
                for leaf in branch.leaves:
                    yield from leaf.runs
            if tail.stop > tail.start:
                yield tail

    def get(self, item_id: str) -> Item:
        """The item with this id as it was recorded, shown or not."""
        return self.log.item(self.position(item_id))

    def position(self, item_id: str) -> int:
        """Where in the log an item is."""
        if not isinstance(item_id, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"an id is a text, not {type(item_id).__name__}")
        position = self.log.find(item_id, self.end)
        if position is None:
            raise UnknownId(f"no item {cut(item_id)!r} at revision {self.end}")
        return position

    def place_at(self, index: int) -> tuple[float, int]:
        """The time and position by which the item at an index is shown."""
        index = place_of(index, len(self))
        at, run = next((at, run) for at, run in self._runs_from(index) if at + run.width > index)
        position = run.start + (index - at if run.stop > run.start else 0)
        return (self.log.time(position), position - (run.stop == run.start))

    def tokens(self, counter: Counter) -> int:
        """The tokens of all that is shown, each item counted once in its life."""
        return total_by(counter, self.counted(counter))

    def counted(self, counter: Counter) -> int:
        """The counts of all that is shown, added up."""
        checked_counter(counter)
        counted = sum(branch_sums(self.log, branch, counter)[-1] for branch in self.shape.branches)
        if self.end > self.shape.tail:
            counted += self.log.tokens(self.shape.tail, self.end, counter)
        return count_of(counted, "what all that is shown counts")

    def run_tokens(self, run: Run, counter: Counter) -> int:
        """The counted tokens of one run."""
        if not isinstance(run, Run):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"expected a run, as view.runs gives, not {type(run).__name__}")
        return run_tokens(self.log, run, counter)

    def groups(self) -> list[Group]:
        """What is shown, in the smallest pieces that may be dropped or moved."""
        members: dict[int, list[Item]] = {}
        for run in self.runs():
            for offset, item in enumerate(self._shown(run)):
                standing = run.stand_in is not None and run.start == run.stop
                head = -1 - run.start if standing else self.log.head(run.start + offset)
                members.setdefault(head, []).append(item)
        return [Group(tuple(items)) for items in members.values()]

    def pending(self) -> list[ToolCall]:
        """Calls that still wait for their result, in the order they were made."""
        if self._open_calls is None:
            self._open_calls = waiting_at(self.log, self.end)
        calls = (self.log.item(position) for position in self._open_calls)
        return [call for call in calls if isinstance(call, ToolCall)]

    def fate(self, item_id: str) -> Fate:
        """What became of an item, and by which edit."""
        position = self.position(item_id)
        if self.log.head(position) == EDIT:
            return Fate("shown" if position in self.shape.summaries else "edit")
        run = self.run_at(position)
        if run is not None:
            if self.log.head(position) in self.shape.pins:
                return Fate("pinned")
            return Fate("shown") if run.stand_in is None else Fate("masked", self._edits().mask_of(position))
        return self._absent(position)

    def run_at(self, position: int) -> Run | None:
        """The run that shows a position, if one does."""
        if not 0 <= whole(position, "a position") < self.end:
            raise OutOfRange(f"there are positions 0 to {self.end - 1}; there is none {digits(position)}")
        if position >= self.shape.tail:
            return Run(self.shape.tail, self.end)
        return find_run(self.shape.branches, (self.log.time(position), position, 1))

    def _absent(self, position: int) -> Fate:
        covers = self._edits().covers
        edit, cover = next((e, c) for e, c in reversed(covers.items()) if contains(c.area, position))
        return Fate("covered" if cover.is_summary else "hidden", self.log.item(edit).id)

    def _edits(self) -> ActiveEdits:
        if self._active is None:
            self._active = ActiveEdits(self.log, self.end)
        return self._active

    def _shown(self, run: Run) -> Sequence[Item]:
        return (run.stand_in,) if run.stand_in is not None else self.log.items(run.start, run.stop)

    def _slice(self, start: int, stop: int) -> list[Item]:
        found: list[Item] = []
        if stop <= start:
            return found
        for at, run in self._runs_from(start):
            if at >= stop:
                break
            if at + run.width > start:
                found.extend(self._part(run, max(start - at, 0), min(stop - at, run.width)))
        return found

    def _runs_from(self, start: int) -> Iterator[tuple[int, Run]]:
        """The runs from the leaf on that holds an index, each with its own."""
        offsets = self._branch_offsets()
        index = bisect_right(offsets, start) - 1
        at = offsets[index]
        for branch in self.shape.branches[index:]:
            for leaf in branch.leaves:
                if at + leaf.count > start:
                    for run in leaf.runs:
                        yield at, run
                        at += run.width
                else:
                    at += leaf.count
        yield at, Run(self.shape.tail, max(self.end, self.shape.tail))

    def _part(self, run: Run, start: int, stop: int) -> Sequence[Item]:
        if run.stand_in is not None:
            return (run.stand_in,)
        return self.log.items(run.start + start, run.start + stop)

    def _branch_offsets(self) -> list[int]:
        if self._offsets is None:
            counts = [branch.count for branch in self.shape.branches]
            self._offsets = list(accumulate(counts, initial=0))
        return self._offsets
