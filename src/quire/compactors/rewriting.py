"""What a plan leaves as it is, so that a provider need not read it anew."""

from collections.abc import Iterator

from quire.compactors.plan import Plan
from quire.items import Mask, Pin, Undo
from quire.state import Run, View
from quire.tokens import Counter


def unchanged_tokens(view: View, plan: Plan, counter: Counter) -> int:
    """The counts of what is shown before the first thing that a plan changes, added up."""
    first = min(map(view.position, _touched(plan)), default=view.end)
    counted = 0
    for run in view.runs():
        if run.start >= first:
            break
        whole = run.stop <= first or run.stand_in is not None
        counted += view.run_tokens(run if whole else Run(run.start, first), counter)
    return counted


def _touched(plan: Plan) -> Iterator[str]:
    """Ids of what a plan begins to change at."""
    for edit in plan.edits:
        if isinstance(edit, Mask | Pin | Undo):
            yield edit.target
        else:
            yield from (span.first for span in edit.spans)
    if plan.request is not None:
        yield from (span.first for span in plan.request.spans)
