"""Laws 1, 2, 3, 5, 6 and 8 of the design, on random histories, against a transcript made of plain lists."""

import copy
from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st

from quire.items import Item, Message, Summary, ToolCall, ToolResult, Undo
from quire.state import Transcript
from tests.histories import OPS, Author, Op
from tests.oracle import PlainTranscript, is_edit
from tests.state.chains import play

pytestmark = [pytest.mark.laws, pytest.mark.usefixtures("lineage")]


def check(transcript: Transcript, plain: PlainTranscript) -> None:
    view = transcript.view
    assert list(view) == plain.shown()
    assert len(view) == len(plain.shown())
    assert list(reversed(view)) == plain.shown()[::-1]
    assert transcript.recorded() == plain.log
    hold_shrinking_laws(plain)


def hold_shrinking_laws(plain: PlainTranscript) -> None:
    shown = {p for p in plain.shown_positions() if p is not None}
    for position in shown:
        assert plain.group(position) <= shown, "a group is shown in part"
    for position in plain.open_calls():
        assert plain.group(position) <= shown, "a call that waits is not shown"
    assert plain.pinned() <= shown
    users = [p for p, item in enumerate(plain.log) if isinstance(item, Message) and item.role == "user"]
    if users:
        assert users[-1] in shown


@given(OPS)
def test_the_view_is_the_log_with_its_edits_applied(ops: list[Op]) -> None:
    transcript, plain = Transcript(), PlainTranscript()
    transcript = play(ops, transcript, plain, Author())
    check(transcript, plain)


@given(OPS)
def test_shown_and_covered_and_hidden_are_all(ops: list[Op]) -> None:
    transcript, plain = Transcript(), PlainTranscript()
    transcript = play(ops, transcript, plain, Author())
    view = transcript.view
    shown = {item.id for item in view}
    for item in transcript.recorded():
        state = view.fate(item.id).state
        if is_edit(item):
            assert (state == "shown") == (item.id in shown)
        else:
            assert (state in ("shown", "pinned", "masked")) == (item.id in shown)
            assert state in ("shown", "pinned", "masked", "covered", "hidden")


@given(OPS)
def test_append_never_changes_what_was(ops: list[Op]) -> None:
    transcript, plain, author = Transcript(), PlainTranscript(), Author()
    snapshots: dict[int, list[Item]] = {0: []}
    for op in ops:
        transcript = play([op], transcript, plain, author)
        snapshots[transcript.revision] = plain.shown()
    assert transcript.recorded() == plain.log
    for revision, snapshot in snapshots.items():
        assert list(transcript.at(revision)) == snapshot
        assert transcript.at(revision).revision == revision


@given(OPS)
def test_undoing_every_edit_gives_the_log_back(ops: list[Op]) -> None:
    transcript, plain = Transcript(), PlainTranscript()
    transcript = play(ops, transcript, plain, Author())
    for position in reversed(plain.active()):
        if not isinstance(plain.log[position], Undo):
            undo = Undo(plain.log[position].id, id=f"z{len(plain.log):05d}")
            transcript.append(undo)
            plain.append(undo)
    check(transcript, plain)
    content = [item for item in plain.log if not is_edit(item)]
    assert sorted(item.id for item in transcript.view) == sorted(item.id for item in content)


@given(OPS, OPS, OPS)
def test_parent_and_child_never_see_each_other(past: list[Op], ours: list[Op], theirs: list[Op]) -> None:
    parent, plain = Transcript(), PlainTranscript()
    parent = play(past, parent, plain, Author())
    child, plain_child = parent.fork(), plain.copy()
    for closing in child.recorded(since=len(plain.log)):
        plain_child.append(closing)
    check(child, plain_child)
    assert not child.view.pending()
    for mine, yours in zip(ours, theirs, strict=False):
        parent = play([mine], parent, plain, Author(f"p{len(plain.log)}"))
        child = play([yours], child, plain_child, Author(f"q{len(plain_child.log)}"))
    check(parent, plain)
    check(child, plain_child)


@pytest.mark.parametrize("copied", [Transcript.copy, copy.copy, copy.deepcopy])
@given(OPS, OPS, OPS)
def test_neither_do_a_transcript_and_its_copy(
    copied: Callable[[Transcript], Transcript], past: list[Op], ours: list[Op], theirs: list[Op]
) -> None:
    first, plain = Transcript(), PlainTranscript()
    first = play(past, first, plain, Author())
    second, plain_second = copied(first), plain.copy()
    check(second, plain_second)
    assert second.view.pending() == first.view.pending(), "a copy closes no calls"
    for mine, yours in zip(ours, theirs, strict=False):
        first = play([mine], first, plain, Author(f"p{len(plain.log)}"))
        second = play([yours], second, plain_second, Author(f"q{len(plain_second.log)}"))
    check(first, plain)
    check(second, plain_second)


@given(OPS, st.integers(0, 40))
def test_deep_chains_of_forks_behave(ops: list[Op], seed: int) -> None:
    transcript, plain, author = Transcript(), PlainTranscript(), Author()
    older: list[tuple[Transcript, PlainTranscript]] = []
    for index, op in enumerate(ops):
        transcript = play([op], transcript, plain, author)
        if (index + seed) % 3 == 0 and not transcript.view.pending():
            older.append((transcript, plain.copy()))
            transcript = transcript.fork()
    check(transcript, plain)
    for ancestor, snapshot in older:
        check(ancestor, snapshot)


@given(OPS)
def test_summaries_never_pile_up(ops: list[Op]) -> None:
    transcript, plain = Transcript(), PlainTranscript()
    transcript = play(ops, transcript, plain, Author())
    shown = [item for item in transcript.view if isinstance(item, Summary) and item.spans]
    areas = [plain.covered_by(plain.find(item.id)) for item in shown]
    for index, area in enumerate(areas):
        for other in areas[index + 1 :]:
            assert not area & other


@given(OPS)
def test_groups_keep_calls_and_results_together(ops: list[Op]) -> None:
    transcript, plain = Transcript(), PlainTranscript()
    transcript = play(ops, transcript, plain, Author())
    found = transcript.view.groups()
    assert sorted(item.id for group in found for item in group.items) == sorted(i.id for i in transcript.view)
    for group in found:
        calls = [item.call_id for item in group.items if isinstance(item, ToolCall)]
        for item in group.items:
            if isinstance(item, ToolResult) and len(group.items) > 1:
                assert item.call_id in calls
