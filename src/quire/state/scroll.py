"""A scroll: a few items, then a view from an index on, then a few more.

A request to a model is nearly always that: instructions, a history that grows at its end, and what changes
from call to call. The history is not copied, and a reader of one scroll can continue where the next has grown.
"""

from collections.abc import Iterator, Sequence
from itertools import chain

from quire.errors import OutOfRange
from quire.items import Item
from quire.state.shape import Interval, Run, contains, subtracted
from quire.state.view import ItemRow, View, added_since, checked_view, was_edited
from quire.tokens import Counter, whole


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
            raise OutOfRange(f"the view has {len(view)} items; a scroll cannot start at {start}")
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
        """How many items come before `after`."""
        return len(self.before) + (0 if self.view is None else len(self.view) - self.start)

    @property
    def was_edited(self) -> bool:
        """Whether something that preceded these items was left out or changed."""
        return self.view is not None and (self.start > 0 or was_edited(self.view))

    def counted(self, counter: Counter) -> int:
        """The counts of all items, added up; those of the view are known."""
        counted = sum(map(counter.count, (*self.before, *self.after)))
        if self.view is None:
            return counted
        return counted + self.view.counted(counter) - self.view.counted_before(self.start, counter)

    def added_since(self, earlier: "Scroll") -> list[Item] | None:
        """What the view shows after all that was settled in an earlier scroll; `None` if it is not just longer."""
        if self.view is None or earlier.view is None or self.start != earlier.start:
            return None
        return None if self.before != earlier.before else added_since(self.view, earlier.view)

    def _slice(self, start: int, stop: int) -> list[Item]:
        before, settled = len(self.before), self.settled
        found = list(self.before[start:stop])
        if self.view is not None and stop > before:
            offset = self.start - before
            found += self.view[max(start, before) + offset : min(stop, settled) + offset]
        if stop > settled:
            found += self.after[max(start - settled, 0) : stop - settled]
        return found


def without_area(view: View, area: Sequence[Interval]) -> Scroll:
    """What a view shows without an area of the log: a scroll over the view from where nothing is left out."""
    before: list[Item] = []
    since: list[Run] = []  # the runs since the last one of which something was left out
    start = index = 0
    for run in view.runs():
        parts = _parts(run, area)
        if parts == [run]:
            since.append(run)
        else:
            before += (item for kept in since for item in view.shown_by(kept))
            rest = parts.pop() if parts and parts[-1].stop == run.stop else None
            before += (item for kept in parts for item in view.shown_by(kept))
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
