"""Edits: what each one does to a view, and the rules by which one is refused.

A plain edit costs what it touches. An `Undo` applies all remaining edits again, because the items that it
uncovers may be covered by another.
"""

from collections.abc import Iterable, Mapping, Sequence

from quire.errors import CallPending, DuplicateId, EditRefused, LastUserMessage, SplitsGroup, cut
from quire.items import (
    ConfigChange,
    Distrust,
    Edit,
    Hide,
    Mask,
    Message,
    Pin,
    Summary,
    Undo,
    is_below,
    own_origin,
)
from quire.state.log import EDIT, changed_by
from quire.state.shape import Interval, Run, Shape, contains, singles, united, without
from quire.state.view import EditsInForce, View


def view_after(view: View, edits: Iterable[Edit]) -> View:
    """The view as it would be after some edits; the log is not changed.

    Raises what recording the edits would raise.
    """
    for edit in edits:
        if view.log.find(edit.id, view.end) is not None:
            raise DuplicateId(f"item {cut(edit.id)!r} is in the transcript already")
        shape, log = edited(view, edit), view.log.forked_at(view.end)
        log.segments[-1].record(edit, EDIT)
        view = View(log, shape, view.end + 1, view.open_calls())
    return view


def edited(view: View, edit: Edit) -> Shape:
    """The shape of a view after an edit is recorded; an error changes nothing."""
    _check_author(view, edit)
    if isinstance(edit, Undo):
        return _undone(view, edit)
    _check(view, edit)
    if isinstance(edit, Mask | Distrust):
        return _restated(view, {view.end: edit})
    shape = _applied(view, edit, view.end)
    if not isinstance(edit, Pin):
        return shape
    in_force = view.edits_in_force.edits.items()
    distrusts = {at: other for at, other in in_force if isinstance(other, Distrust)}
    return _restated(View(view.log, shape, view.end, view.open_calls()), distrusts)


def _applied(view: View, edit: Hide | Pin | Summary, at: int) -> Shape:
    """The shape after an edit, which is or will be at the position `at` of the log."""
    if isinstance(edit, Pin):
        area = _group_area(view, [view.log.head(view.log.locate(edit.target, view.end))])
        return _changed(view, area, [Run(start, stop, pinned=True) for start, stop in area])
    area = view.log.area(edit, view.end)
    pinned = _group_area(view, (head for head in view.pins() if contains(area, head)))
    summary = [Run(area[0][0], area[0][0], at)] if isinstance(edit, Summary) else []
    return _changed(view, without(area, pinned), summary, _replaced_summaries(view, edit, area))


def _restated(view: View, edits: Mapping[int, Mask | Distrust]) -> Shape:
    """The shape with stubs for masked items, and quotations for distrusted messages.

    `edits` are by position. The stub of a hidden or pinned item is shown once the item is no longer hidden or
    pinned. Of several masks of an item the last applies, and a mask applies instead of a `Distrust`.
    """
    runs: dict[int, Run] = {}
    log = view.log
    for at, edit in sorted(edits.items(), key=lambda pair: isinstance(pair[1], Mask)):
        position = log.locate(edit.target, view.end)
        shown = view.run_at(log.head(position))
        if shown is None or (isinstance(edit, Mask) and shown.pinned):
            continue
        if isinstance(edit, Distrust):
            before = view.run_at(position)
            is_masked = before is not None and before.by >= 0 and isinstance(log.item(before.by), Mask)
            if is_masked or not isinstance(log.item(position), Message | ConfigChange):
                continue  # a result is shown as a quotation already
        runs[position] = Run(position, position + 1, at, shown.pinned)
    return _changed(view, singles(runs), list(runs.values()))


def _replaced_summaries(view: View, edit: Hide | Summary, area: Sequence[Interval]) -> list[Run]:
    """The runs of the summaries that an edit covers wholly. A new summary must not cover a part of another.

    If two summaries together could replace a third, undoing one would show the third beside the other.
    """
    runs = ((view.run_at(start), stop) for start, stop in area)
    if all(run is not None and not run.pinned and stop <= run.stop for run, stop in runs):
        return []  # shown content is under no summary, unless it is pinned
    replaced: list[Run] = []
    for run in view.shape.summaries():
        summary = view.log.item(run.by)
        assert isinstance(summary, Summary)
        covered = view.log.area(summary, view.end)
        rest = without(covered, area)
        if not rest:
            replaced.append(run)
        elif rest != covered and isinstance(edit, Summary):
            raise EditRefused(f"the summary must cover all that {cut(summary.id)!r} covers, or nothing of it")
    return replaced


def _undone(view: View, edit: Undo) -> Shape:
    """The shape with all edits but the undone one, built anew from the content of the log."""
    log, end, target = view.log, view.end, view.log.locate(edit.target, view.end)
    if log.head(target) != EDIT:
        raise EditRefused(f"{cut(edit.target)!r} is not an edit")
    if target in EditsInForce(log, end).undone:
        raise EditRefused(f"{cut(edit.target)!r} is undone already")
    remaining = EditsInForce(log, end, undoing=target)
    content = without([(0, end)], singles(log.positions("edits", 0, end)))
    shape = Shape(tail=end + 1).spliced([], [Run(start, stop) for start, stop in content], [])
    after = View(log, shape, end, view.open_calls())
    for at, other in remaining.edits.items():
        if isinstance(other, Hide | Pin | Summary):
            after = View(log, _applied(after, other, at), end, view.open_calls())
    # A group may have grown while a pin, or the undo of another edit, kept it shown.
    covered = united(interval for _, area in remaining.covers for interval in area)
    _check_area(view, without(covered, _group_area(view, after.pins())))
    edits = remaining.edits.items()
    return _restated(after, {at: other for at, other in edits if isinstance(other, Mask | Distrust)})


def _changed(view: View, area: list[Interval], runs: Sequence[Run], removed: Sequence[Run] = ()) -> Shape:
    """The shape with other runs in an area, and without the summaries `removed`."""
    return view.shape.closed(view.end).spliced(area, runs, removed)


def _group_area(view: View, heads: Iterable[int]) -> list[Interval]:
    return singles(position for head in heads for position in view.log.group(head, view.end))


def _check_author(view: View, edit: Edit) -> None:
    """Refuse an edit of an origin below a user's if it undoes a person's edit or changes a system item."""
    author, log, end = own_origin(edit), view.log, view.end
    if not is_below(author, "user") or isinstance(edit, Pin):
        return
    if isinstance(edit, Hide | Summary):
        marks = (p for area in log.area(edit, end) for p in log.positions("marks", *area))
        touched = next((log.item(p) for p in marks if own_origin(log.item(p)) == "system"), None)
    else:
        target = log.item(log.locate(edit.target, end))
        is_higher = isinstance(edit, Undo) and is_below(author, own_origin(target))
        touched = target if is_higher or own_origin(target) == "system" else None
    if touched is not None:
        raise EditRefused(f"an edit of origin {author!r} must not change {cut(touched.id)!r}")


def _check(view: View, edit: Hide | Mask | Distrust | Pin | Summary) -> None:
    log, end = view.log, view.end
    if isinstance(edit, Hide | Summary):
        _check_area(view, log.area(edit, end))
        return
    position = log.locate(edit.target, end)
    if isinstance(edit, Mask):
        changed_by(edit, log.item(position))
        if position == log.last_user(end):
            raise LastUserMessage(
                f"{cut(edit.target)!r} is the last message of the user: edit it after the next one"
            )
        if (run := view.run_at(log.head(position))) is not None and run.pinned:
            raise EditRefused(f"{cut(edit.target)!r} is pinned")
    elif log.head(position) == EDIT and (
        isinstance(edit, Pin) or not isinstance(log.item(position), Summary)
    ):
        raise EditRefused(f"{cut(edit.target)!r} is an edit: it cannot be pinned or distrusted")


def _check_area(view: View, area: Sequence[Interval]) -> None:
    """Refuse an area with part of a group, a group with an open call, or the last user message."""
    log, end = view.log, view.end
    open_groups = {log.head(position): position for position in view.open_calls()}
    for head, position in open_groups.items():
        if any(contains(area, member) for member in log.group(head, end)):
            raise CallPending(f"call {cut(log.item(position).id)!r} still waits for its result")
    last = log.last_user(end)
    if last is not None and contains(area, last):
        raise LastUserMessage(
            f"{cut(log.item(last).id)!r} is the last message of the user: edit it after the next one"
        )
    # A group may be partly in the area if it is at an edge, or not contiguous.
    edges = {log.head(p) for start, stop in area for p in (start, stop - 1)} - {EDIT}
    members = log.detached_members(0, end) | {head: log.group(head, end) for head in edges}
    for head, positions in members.items():
        if any(contains(area, position) != contains(area, head) for position in positions):
            raise SplitsGroup(f"the edit takes part of the group of {cut(log.item(head).id)!r}")
