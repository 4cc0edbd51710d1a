"""Edits: what each one does to a view, and the rules by which one is refused.

A plain edit costs what it touches. An `Undo` applies all edits that stay in force anew, because what is under
the one that goes may be under another.
"""

from collections.abc import Iterable, Mapping, Sequence

from quire.errors import CallPending, DuplicateId, EditRefused, LastUserMessage, SplitsGroup, cut
from quire.items import Edit, Hide, Mask, Pin, Summary, Undo
from quire.state.log import EDIT, masked
from quire.state.shape import Interval, Run, Shape, contains, singles, united, without
from quire.state.view import EditsInForce, View


def view_after(view: View, edits: Iterable[Edit]) -> View:
    """What would be shown once some edits were recorded after all that a view knows.

    An edit that would be refused is refused. The log stays as it is.
    """
    for edit in edits:
        if view.log.find(edit.id, view.end) is not None:
            raise DuplicateId(f"item {cut(edit.id)!r} is in the transcript already")
        shape, log = edited(view, edit), view.log.forked_at(view.end)
        log.segments[-1].record(edit, EDIT)
        view = View(log, shape, view.end + 1, view.open_calls())
    return view


def edited(view: View, edit: Edit) -> Shape:
    """The shape of a view once an edit is recorded after it; an error changes nothing."""
    if isinstance(edit, Undo):
        return _undone(view, edit)
    _check(view, edit)
    return _masked(view, {view.end: edit}) if isinstance(edit, Mask) else _applied(view, edit, view.end)


def _applied(view: View, edit: Hide | Pin | Summary, at: int) -> Shape:
    """The shape with an edit, which is or will be at a position of the log."""
    if isinstance(edit, Pin):
        area = _group_area(view, [view.log.head(view.log.locate(edit.target, view.end))])
        return _changed(view, area, [Run(start, stop, pinned=True) for start, stop in area])
    area = view.log.area(edit, view.end)
    pinned = _group_area(view, (head for head in view.pins() if contains(area, head)))
    summary = [Run(area[0][0], area[0][0], at)] if isinstance(edit, Summary) else []
    return _changed(view, without(area, pinned), summary, _folded(view, edit, area))


def _masked(view: View, masks: Mapping[int, Mask]) -> Shape:
    """The shape with stubs; the stub of an item that is hidden or pinned is shown once it is not.

    Masks are given by their positions. Of several of one item the last counts.
    """
    stubs: dict[int, Run] = {}
    for at, mask in masks.items():
        position = view.log.locate(mask.target, view.end)
        shown = view.run_at(view.log.head(position))
        if shown is not None and not shown.pinned:
            stubs[position] = Run(position, position + 1, at)
    return _changed(view, singles(stubs), list(stubs.values()))


def _folded(view: View, edit: Hide | Summary, area: Sequence[Interval]) -> list[Run]:
    """The summaries that go because an edit takes all that they cover; a new summary takes all or nothing.

    If several summaries could cover another together, undoing one would show the other beside the rest.
    """
    runs = ((view.run_at(start), stop) for start, stop in area)
    if all(run is not None and not run.pinned and stop <= run.stop for run, stop in runs):
        return []  # content that is shown without a pin is under no summary
    folded: list[Run] = []
    for run in view.shape.summaries():
        summary = view.log.item(run.by)
        assert isinstance(summary, Summary)
        covered = view.log.area(summary, view.end)
        left = without(covered, area)
        if not left:
            folded.append(run)
        elif left != covered and isinstance(edit, Summary):
            raise EditRefused(f"the summary must cover all that {cut(summary.id)!r} covers, or nothing of it")
    return folded


def _undone(view: View, edit: Undo) -> Shape:
    """Apply all edits that stay in force to the content of the log."""
    log, end, target = view.log, view.end, view.log.locate(edit.target, view.end)
    if log.head(target) != EDIT:
        raise EditRefused(f"{cut(edit.target)!r} is not an edit")
    if target in EditsInForce(log, end).undone:
        raise EditRefused(f"{cut(edit.target)!r} is undone already")
    kept = EditsInForce(log, end, undoing=target)
    content = without([(0, end)], singles(log.positions("edits", 0, end)))
    shape = Shape(tail=end + 1).spliced([], [Run(start, stop) for start, stop in content], [])
    after = View(log, shape, end, view.open_calls())
    for at, other in kept.edits.items():
        if isinstance(other, Hide | Pin | Summary):
            after = View(log, _applied(after, other, at), end, view.open_calls())
    # A group may have grown while a pin, or the undo of another edit, kept it shown.
    covered = united(interval for _, area in kept.covers for interval in area)
    _check_area(view, without(covered, _group_area(view, after.pins())))
    return _masked(after, {at: edit for at, edit in kept.edits.items() if isinstance(edit, Mask)})


def _changed(view: View, area: list[Interval], runs: Sequence[Run], gone: Sequence[Run] = ()) -> Shape:
    """The shape with other runs in an area and without the summaries `gone`."""
    return view.shape.closed(view.end).spliced(area, runs, gone)


def _group_area(view: View, heads: Iterable[int]) -> list[Interval]:
    return singles(position for head in heads for position in view.log.group(head, view.end))


def _check(view: View, edit: Hide | Mask | Pin | Summary) -> None:
    log, end = view.log, view.end
    if isinstance(edit, Hide | Summary):
        _check_area(view, log.area(edit, end))
        return
    position = log.locate(edit.target, end)
    if isinstance(edit, Mask):
        masked(log.item(position), edit)
        if position == log.last_user(end):
            raise LastUserMessage(f"{cut(edit.target)!r} is the message to be answered")
        if (run := view.run_at(log.head(position))) is not None and run.pinned:
            raise EditRefused(f"{cut(edit.target)!r} is pinned")
    elif log.head(position) == EDIT:
        raise EditRefused(f"{cut(edit.target)!r} is an edit and cannot be pinned")


def _check_area(view: View, area: Sequence[Interval]) -> None:
    """Refuse to take away a group with an open call, part of a group, or the last message of the user."""
    log, end = view.log, view.end
    open_groups = {log.head(position): position for position in view.open_calls()}
    for head, position in open_groups.items():
        if any(contains(area, member) for member in log.group(head, end)):
            raise CallPending(f"call {cut(log.item(position).id)!r} still waits for its result")
    last = log.last_user(end)
    if last is not None and contains(area, last):
        raise LastUserMessage(f"{cut(log.item(last).id)!r} is the message to be answered")
    # A group may be partly in the area if it is at an edge, or in several pieces.
    edges = {log.head(p) for start, stop in area for p in (start, stop - 1)} - {EDIT}
    members = log.scattered(0, end) | {head: log.group(head, end) for head in edges}
    for head, positions in members.items():
        if any(contains(area, position) != contains(area, head) for position in positions):
            raise SplitsGroup(f"the edit takes part of the group of {cut(log.item(head).id)!r}")
