"""What no cut takes away, and no choice of the newest leaves out: the rule for it is here alone."""

from collections.abc import Iterable, Iterator

from quire.items import ToolResult
from quire.state.judging import last_user, one_per_group
from quire.state.positions import positions
from quire.state.view import View


def must_stay(view: View) -> Iterator[int]:
    """The positions of the frame, of pins and calls that wait in whole groups, and of what is to be answered.

    The frame is instructions, configuration, handoffs and summaries. To be answered are the last message of
    the user and, where a tool gave something since, that with its calls.
    """
    log, end = view.log, view.end
    yield from positions(log, "marks", 0, end)
    for head in view.shape.pins:
        yield from log.group(head, end)
    for head in one_per_group(log, (view.position(call.id) for call in view.pending())):
        yield from log.group(head, end)
    last = last_user(log, end)
    if last is not None:
        yield last
    yield from _just_given(view)


def _just_given(view: View) -> Iterable[int]:
    newest = next((run.stop - 1 for run in view.runs(backwards=True) if run.stop > run.start), None)
    if newest is not None and isinstance(view.log.item(newest), ToolResult):
        return view.log.group(newest, view.end)
    return ()
