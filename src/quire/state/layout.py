"""Layouts for people: a transcript with its edits in place, and two views side by side.

They read positions and ids alone, so they are cheap for a transcript that is not in memory.
"""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Literal, NamedTuple

from quire.items import Edit, Hide, Summary
from quire.state.shape import Interval, Run, contains, singles, united, without
from quire.state.view import View


class Stretch(NamedTuple):
    """The positions of one row: a shown item, an edit, a summary, or a fold of items that are not shown.

    A summary comes before the fold of what it covers, with the position at which it was recorded.
    """

    sort: Literal["item", "edit", "summary", "fold"]
    start: int
    stop: int


def laid_out(view: View) -> Iterator[Stretch]:
    """All recorded items in order. What one edit covers is one fold, with the edits recorded within it."""
    covers = [area for _, area in view.edits_in_force.covers]
    covered = united(interval for area in covers for interval in area)
    borders = {position for area in covers for interval in area for position in interval}
    uncovered_edits = {p for p in view.log.positions("edits", 0, view.end) if not contains(covered, p)}
    at = 0
    for run in [*view.runs(), Run(view.end, view.end)]:
        while at < run.start:
            start, at = at, at + 1
            is_single = start in uncovered_edits
            while at < run.start and not is_single and at not in uncovered_edits and at not in borders:
                at += 1
            yield Stretch("edit" if is_single else "fold", start, at)
        if run.by >= 0 and run.start == run.stop:
            yield Stretch("summary", run.by, run.by + 1)
        yield from (Stretch("item", position, position + 1) for position in range(run.start, run.stop))
        at = run.stop


def subject(view: View, edit: Edit) -> list[Interval]:
    """The positions that an edit is about: its target, or what it covers except other edits."""
    if not isinstance(edit, Hide | Summary):
        return singles([view.position(edit.target)])
    return without(view.log.area(edit, view.end), singles(view.log.positions("edits", 0, view.end)))


class Pair(NamedTuple):
    """The indexes of one row in two views; `None` where a view has nothing.

    An item in both views is the "same", or "changed" by a mask. Items that are in one view only are "apart".
    """

    state: Literal["same", "changed", "apart"]
    left: int | None
    right: int | None


def side_by_side(left: View, right: View) -> Iterator[Pair]:
    """Compare two views row by row. Items in both share a row; items of one view only come in between."""
    left_keys, right_keys = _keys(left), _keys(right)
    right_indexes = {item_id: index for index, (item_id, _) in enumerate(right_keys)}
    next_left = next_right = 0
    for index, (item_id, mask) in enumerate(left_keys):
        other = right_indexes.get(item_id, -1)
        if other >= next_right:
            yield from _apart(range(next_left, index), range(next_right, other))
            yield Pair("same" if right_keys[other][1] == mask else "changed", index, other)
            next_left, next_right = index + 1, other + 1
    yield from _apart(range(next_left, len(left_keys)), range(next_right, len(right_keys)))


def _apart(left: Sequence[int], right: Sequence[int]) -> Iterator[Pair]:
    return (Pair("apart", *indexes) for indexes in zip_longest(left, right))


def _keys(view: View) -> list[tuple[str, str]]:
    """The ids of the items that a view shows, in order, each with the id of its mask."""
    log, keys = view.log, list[tuple[str, str]]()
    for run in view.runs():
        if run.start == run.stop:
            keys.append((log.id_at(run.by), ""))
        else:
            mask = log.id_at(run.by) if run.by >= 0 else ""
            keys += [(log.id_at(position), mask) for position in range(run.start, run.stop)]
    return keys
