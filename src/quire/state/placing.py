"""Where an item that comes late is shown.

By its time, after what was said at the same time, and never inside a group.
"""

from bisect import bisect_right
from collections.abc import Iterator

from quire.state.log import Log
from quire.state.shape import Change, Key, Leaf, Run, Shape, first_after, spliced


class Places:
    """The places in what is shown before the item at `end` of the log; the tail is in the leaves already."""

    __slots__ = ("_end", "_log", "_shape")

    def __init__(self, log: Log, closed: Shape, end: int) -> None:
        self._log = log
        self._shape = closed
        self._end = end

    def settled(self, time: float, head: int | None) -> float:
        """A time that does not fall into a group other than that of `head`.

        The time itself, or the group's end.
        """
        before, after = self.around(time)
        while before is not None and after is not None and self._breaks(before, after, head):
            time = max(time, self._log.time(after))
            before, after = self.around(time)
        return time

    def _breaks(self, before: int, after: int, head: int | None) -> bool:
        return self._log.head(before) == self._log.head(after) != head

    def around(self, time: float) -> tuple[int | None, int | None]:
        """The positions shown just before and just after a new item of this time."""
        key = (time, self._end, 1)
        earlier, later = self._runs_around(key)
        before = next((run for run in earlier if run.stop > run.start), None)
        after = next((run.start for run in later if run.stop > run.start), None)
        if before is None:
            return None, after
        cut = first_after(before.start, before.stop, key[:2], self._log.time)
        return (cut - 1, cut) if cut < before.stop else (before.stop - 1, after)

    def inserted(self) -> Shape:
        """What is shown with the item at `end`, whose time the log knows by now, in its place."""
        return spliced(self._shape, Change([], (), [Run(self._end, self._end + 1)]), (), self._log.time)

    def _runs_around(self, key: Key) -> tuple[Iterator[Run], Iterator[Run]]:
        """The runs that begin before a key, from the nearest back, and those after it."""
        leaves = self._shape.leaves
        index = bisect_right(leaves, key, key=_leaf_key)
        here = leaves[index - 1].runs if index else ()
        split = sum(run.key(self._log.time) <= key for run in here)
        earlier = (*_runs(leaves[: max(index - 1, 0)][-1:]), *here[:split])
        return reversed(earlier), iter((*here[split:], *_runs(leaves[index : index + 1])))


def _leaf_key(leaf: Leaf) -> Key:
    return leaf.key


def _runs(leaves: tuple[Leaf, ...]) -> Iterator[Run]:
    for leaf in leaves:
        yield from leaf.runs
