"""One view, weighed: how much is shown before any item, and which item so much is shown before.

Sums are kept with the leaves and branches of the shape, so that nothing is counted again, and what lies far
from the place that is asked for is not looked at.
"""

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from quire.state.log import Log
from quire.state.positions import first_position
from quire.state.shape import Run, node_at
from quire.state.view import View
from quire.state.weighing import branch_sums, leaf_sums
from quire.tokens import Counter


class Weighed(NamedTuple):
    """A run with the tokens of all that is shown before it, and its own."""

    before: int
    run: Run
    tokens: int


class Scale:
    """The sums of one view by one counter."""

    def __init__(self, view: View, counter: Counter) -> None:
        self._log = view.log
        self._counter = counter
        self._branches = view.shape.branches
        sums = (branch_sums(view.log, branch, counter)[-1] for branch in self._branches)
        self._starts = list(accumulate(sums, initial=0))
        tail = Run(view.shape.tail, max(view.end, view.shape.tail))
        self._tail = Weighed(self._starts[-1], tail, view.run_tokens(tail, counter))

    def find(self, position: int) -> Weighed | None:
        """The run that shows a position, if one does."""
        if position >= self._tail.run.start:
            return self._tail
        if not self._branches:
            return None
        key = (self._log.time(position), position, 1)
        index = node_at(self._branches, key)
        branch = self._branches[index]
        place = node_at(branch.leaves, key)
        runs = branch.leaves[place].runs
        at = next((n for n, run in enumerate(runs) if run.start <= position < run.stop), None)
        if at is None:
            return None
        sums = leaf_sums(self._log, branch.leaves[place], self._counter)
        before = self._starts[index] + branch_sums(self._log, branch, self._counter)[place]
        return Weighed(before + sums[at], runs[at], sums[at + 1] - sums[at])

    def weight(self, position: int) -> int:
        """The tokens that are shown for a position."""
        found = self.find(position)
        return 0 if found is None else self.weight_in(found, position)

    def weight_in(self, found: Weighed, position: int) -> int:
        """The same, where the run that shows it was found."""
        if found.run.stand_in is not None:
            return found.tokens
        return self._log.tokens(position, position + 1, self._counter)

    def before(self, position: int) -> int:
        """The tokens of all that is shown before an item that is shown."""
        found = self.find(position)
        assert found is not None
        if found.run.stand_in is not None:
            return found.before
        return found.before + self._log.tokens(found.run.start, position, self._counter)

    def index(self, position: int) -> int:
        """The index in the view of an item that is shown."""
        tail = self._tail.run.start
        if position >= tail:
            return sum(branch.count for branch in self._branches) + position - tail
        key = (self._log.time(position), position, 1)
        place = node_at(self._branches, key)
        leaves = self._branches[place].leaves
        last = node_at(leaves, key)
        index = sum(branch.count for branch in self._branches[:place])
        index += sum(leaf.count for leaf in leaves[:last])
        for run in leaves[last].runs:
            if run.start <= position < run.stop:
                return index + position - run.start
            index += run.width
        raise AssertionError("it is not shown")

    def runs_from(self, tokens: int) -> Iterator[Weighed]:
        """The runs from the first on that brings what is shown to so many tokens."""
        first = max(bisect_left(self._starts, tokens) - 1, 0)
        for start, branch in zip(self._starts[first:], self._branches[first:], strict=False):
            branches = branch_sums(self._log, branch, self._counter)
            for index in range(max(bisect_left(branches, tokens - start) - 1, 0), len(branch.leaves)):
                leaf, before = branch.leaves[index], start + branches[index]
                sums = leaf_sums(self._log, leaf, self._counter)
                for at in range(max(bisect_left(sums, tokens - before) - 1, 0), len(leaf.runs)):
                    yield Weighed(before + sums[at], leaf.runs[at], sums[at + 1] - sums[at])
        yield self._tail

    def users_from(self, tokens: int) -> Iterator[int]:
        """Messages of the user that are shown, from the first on that has so many tokens before it."""
        for before, run, _ in self.runs_from(tokens):
            start = run.start
            if before < tokens:
                stands_in = run.stand_in is not None
                start = run.stop if stands_in else _reaching(self._log, run, tokens - before, self._counter)
            while (user := first_position(self._log, "users", start, run.stop)) is not None:
                yield user
                start = user + 1


def _reaching(log: Log, run: Run, tokens: int, counter: Counter) -> int:
    """The first position such that the items of a run before it have this many tokens."""
    for segment, a, b in log.pieces(run.start, run.stop):
        sums = segment.count(counter, b)
        if sums[b] - sums[a] >= tokens:
            return segment.start + bisect_left(sums, sums[a] + tokens, a, b)
        tokens -= sums[b] - sums[a]
    return run.stop
