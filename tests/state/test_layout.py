"""Layouts: all that was recorded is in one row each, and two views side by side are both views, in order."""

import pytest
from hypothesis import given, strategies as st

from quire.items import Distrust, Hide, Mask, Pin, Summary
from quire.state import Transcript, is_edit, laid_out, side_by_side, subject
from quire.testing.histories import OPS, Author, Op
from quire.testing.plain import PlainTranscript
from tests.state.chains import plain_of, play

pytestmark = [pytest.mark.laws, pytest.mark.usefixtures("short_segments")]


@given(OPS)
def test_everything_recorded_is_in_one_row_and_what_is_shown_in_the_order_of_the_view(ops: list[Op]) -> None:
    transcript = play(ops, Transcript(), PlainTranscript(), Author())
    view, recorded, rows = transcript.view, transcript.recorded(), list(laid_out(transcript.view))
    positions = [p for row in rows if row.sort != "summary" for p in range(row.start, row.stop)]
    assert positions == list(range(view.end))
    shown = [recorded[row.start].id for row in rows if row.sort in ("item", "summary")]
    assert shown == [item.id for item in view]
    for row in rows:
        content = [item for item in recorded[row.start : row.stop] if not is_edit(item)]
        assert (not content) if row.sort in ("edit", "summary") else (content or row.sort == "fold")
        assert len({view.fate(item.id) for item in content}) <= 1, "one edit covers a fold"


@given(OPS)
def test_an_edit_is_about_all_that_is_not_shown_because_of_it_and_covers_no_edit(ops: list[Op]) -> None:
    view = play(ops, Transcript(), PlainTranscript(), Author()).view
    about = {
        edit.id: {view.log.id_at(p) for start, stop in subject(view, edit) for p in range(start, stop)}
        for edit in view.edits_in_force.edits.values()
        if isinstance(edit, Summary | Mask | Hide | Pin | Distrust)
    }
    recorded = view.recorded()
    for item in recorded:
        by = view.fate(item.id).by if not is_edit(item) else None
        assert by is None or item.id in about[by]
    edits = {item.id: item for item in recorded if is_edit(item)}
    for name, ids in about.items():  # a summary can be distrusted
        assert ids.isdisjoint(edits) or isinstance(edits[name], Distrust)


@given(OPS, OPS, st.integers(0, 30))
def test_two_views_side_by_side_are_both_of_them_in_order(past: list[Op], more: list[Op], back: int) -> None:
    one = play(past, Transcript(), PlainTranscript(), Author())
    other = one.fork()
    other = play(more, other, plain_of(other), Author("q"))
    left, right = one.at(max(one.revision - back, 0)), other.view
    pairs = list(side_by_side(left, right))
    assert [left[pair.left] for pair in pairs if pair.left is not None] == list(left)
    assert [right[pair.right] for pair in pairs if pair.right is not None] == list(right)
    both = {item.id for item in left} & {item.id for item in right}
    for state, mine, yours in pairs:
        sides = [view[at] for view, at in ((left, mine), (right, yours)) if at is not None]
        assert (state == "apart") == both.isdisjoint(item.id for item in sides)
        assert state != "same" or sides[0] == sides[1]
