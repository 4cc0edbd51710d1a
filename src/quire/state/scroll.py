"""Items to be read in one go: a few, then a view from some place on, then a few more.

What a model is told is nearly always that: instructions, a history that grows at its end, and what changes
from call to call. As a scroll the history is not copied, and who read one can go on where it has grown.
"""

from collections.abc import Iterator, Sequence
from itertools import chain

from quire.errors import OutOfRange
from quire.items import Item
from quire.state.growing import added_since, was_edited
from quire.state.row import ItemRow
from quire.state.shape import Branch, Interval, Run, contains, subtracted
from quire.state.view import View, checked_view
from quire.state.weighing import branch_sums, leaf_sums
from quire.tokens import Counter, digits, whole


class Scroll(ItemRow):
    """`before`, all that `view` shows from the index `start` on, and `after`, which nothing is built on."""

    __slots__ = ("after", "before", "start", "view")

    def __init__(
        self,
        before: tuple[Item, ...] = (),
        view: View | None = None,
        start: int = 0,
        after: tuple[Item, ...] = (),
    ) -> None:
        if view is not None and not 0 <= whole(start, "the start of a scroll") <= len(checked_view(view)):
            raise OutOfRange(f"the view has {len(view)} items; a scroll cannot start at {digits(start)}")
        self.before = before
        self.view = view
        self.start = start
        self.after = after

    def __len__(self) -> int:
        return self.settled + len(self.after)

    def __iter__(self) -> Iterator[Item]:
        middle = () if self.view is None else self.view[self.start :] if self.start else self.view
        return chain(self.before, middle, self.after)

    def __repr__(self) -> str:
        return f"<Scroll of {len(self)} items, {len(self.after)} of them volatile>"

    @property
    def settled(self) -> int:
        """How many items come before what nothing is built on."""
        return len(self.before) + self._shown

    @property
    def was_edited(self) -> bool:
        """Whether something that came before what is here was left out or changed."""
        return self.view is not None and (self.start > 0 or was_edited(self.view))

    def counted(self, counter: Counter) -> int:
        """The counts of all that is here, added up; those of the view are known."""
        counted = sum(map(counter.count, (*self.before, *self.after)))
        if self.view is None:
            return counted
        return counted + self.view.counted(counter) - _counted_before(self.view, self.start, counter)

    def added_since(self, earlier: "Scroll") -> list[Item] | None:
        """What stands here after all that was settled in an earlier one; none if it is not just longer."""
        if self.view is None or earlier.view is None or self.start != earlier.start:
            return None
        return None if self.before != earlier.before else added_since(self.view, earlier.view)

    @property
    def _shown(self) -> int:
        return 0 if self.view is None else len(self.view) - self.start

    def _slice(self, start: int, stop: int) -> list[Item]:
        before, settled = len(self.before), self.settled
        found = list(self.before[start:stop])
        if self.view is not None and stop > before:
            offset = self.start - before
            found += self.view[max(start, before) + offset : min(stop, settled) + offset]
        if stop > settled:
            found += self.after[max(start - settled, 0) : stop - settled]
        return found


def without(view: View, area: Sequence[Interval]) -> Scroll:
    """What a view shows without an area of the log; where nothing goes any more, the view itself goes on."""
    before: list[Item] = []
    since: list[Run] = []  # runs of which nothing went, since something did
    start = index = 0
    for run in view.runs():
        parts = _parts(run, area)
        if parts == [run]:
            since.append(run)
        else:
            before += (item for kept in since for item in _items(view, kept))
            # The last part of a run may go on into what stays for good.
            rest = parts.pop() if parts and parts[-1].stop == run.stop else None
            before += (item for kept in parts for item in _items(view, kept))
            since = [] if rest is None else [rest]
            start = index + (run.width if rest is None else rest.start - run.start)
        index += run.width
    return Scroll(tuple(before), view, start)


def _parts(run: Run, area: Sequence[Interval]) -> list[Run]:
    """What is left of a run."""
    if run.start == run.stop:
        return [run]
    if run.stand_in is not None:
        return [] if contains(area, run.start) else [run]
    return [Run(start, stop) for start, stop in subtracted((run.start, run.stop), area)]


def _items(view: View, run: Run) -> Sequence[Item]:
    return (run.stand_in,) if run.stand_in is not None else view.log.items(run.start, run.stop)


def _counted_before(view: View, index: int, counter: Counter) -> int:
    """The counts of what is shown before an index, added up."""
    counted = at = 0
    for branch in view.shape.branches:
        sums = branch_sums(view.log, branch, counter)
        if at + branch.count > index:
            return counted + _counted_within(view, branch, index - at, counter)
        counted += sums[-1]
        at += branch.count
    return counted + view.log.tokens(view.shape.tail, view.shape.tail + index - at, counter)


def _counted_within(view: View, branch: Branch, index: int, counter: Counter) -> int:
    counted = 0
    for leaf in branch.leaves:
        sums = leaf_sums(view.log, leaf, counter)
        if leaf.count > index:
            for before, run in zip(sums, leaf.runs, strict=False):
                if run.width > index:
                    return counted + before + view.log.tokens(run.start, run.start + index, counter)
                index -= run.width
        counted += sums[-1]
        index -= leaf.count
    return counted
