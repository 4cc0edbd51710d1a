"""The tokens of what is shown: counted once for each leaf and branch, and kept with it as running sums."""

from collections.abc import Iterable
from itertools import accumulate

from quire.state.log import Log
from quire.state.shape import Branch, Leaf, Run
from quire.tokens import Counter, count_by

Sums = tuple[int, ...]
"""What is shown before each part of a node, and last what all of it shows."""


def branch_sums(log: Log, branch: Branch, counter: Counter) -> Sums:
    """The counted tokens of what a branch shows, leaf by leaf."""
    sums = branch.sums.get(counter.key) if branch.sums else None
    if sums is None:
        sums = _running(leaf_sums(log, leaf, counter)[-1] for leaf in branch.leaves)
        branch.sums = {**(branch.sums or {}), counter.key: sums}  # anew: another thread may be reading
    return sums


def leaf_sums(log: Log, leaf: Leaf, counter: Counter) -> Sums:
    """The counted tokens of what a leaf shows, run by run."""
    sums = leaf.sums.get(counter.key) if leaf.sums else None
    if sums is None:
        sums = _running(run_tokens(log, run, counter) for run in leaf.runs)
        leaf.sums = {**(leaf.sums or {}), counter.key: sums}
    return sums


def _running(parts: Iterable[int]) -> Sums:
    return tuple(accumulate(parts, initial=0))


def run_tokens(log: Log, run: Run, counter: Counter) -> int:
    """The counted tokens of one run."""
    if run.stand_in is not None:
        return count_by(counter, run.stand_in)
    return log.tokens(run.start, run.stop, counter)
