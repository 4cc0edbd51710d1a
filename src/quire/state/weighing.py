"""The tokens of what is shown: counted once for each leaf and branch, and kept with it."""

from quire.state.log import Log
from quire.state.shape import Branch, Leaf, Run
from quire.tokens import Counter
from quire.tokens.asking import count_by


def branch_tokens(log: Log, branch: Branch, counter: Counter) -> int:
    """The counted tokens of all that a branch shows."""
    total = branch.sums.get(counter.key) if branch.sums else None
    if total is None:
        total = sum(_leaf_tokens(log, leaf, counter) for leaf in branch.leaves)
        branch.sums = {**(branch.sums or {}), counter.key: total}  # anew: another thread may be reading
    return total


def _leaf_tokens(log: Log, leaf: Leaf, counter: Counter) -> int:
    total = leaf.sums.get(counter.key) if leaf.sums else None
    if total is None:
        total = sum(run_tokens(log, run, counter) for run in leaf.runs)
        leaf.sums = {**(leaf.sums or {}), counter.key: total}
    return total


def run_tokens(log: Log, run: Run, counter: Counter) -> int:
    """The counted tokens of one run."""
    if run.stand_in is not None:
        return count_by(counter, run.stand_in)
    return log.tokens(run.start, run.stop, counter)
