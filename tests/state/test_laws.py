"""Laws of the transcript and the view on random histories, against a transcript made of plain lists."""

import copy
from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st

from quire.errors import EditRefused
from quire.items import Edit, Item, Message, Note, Summary, ToolCall, ToolResult, Undo
from quire.state import Scroll, Transcript, View, config_at, groups, is_edit, pending_calls, view_after
from quire.testing.histories import CONTENT_OPS, EDIT_OPS, OPS, Author, Op
from quire.testing.plain import FourCharacters, PlainTranscript
from tests.state.chains import check, play

pytestmark = [pytest.mark.laws, pytest.mark.usefixtures("short_segments")]


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
            assert state in ("shown", "pinned", "masked", "summarised", "hidden")


@given(OPS)
def test_the_view_is_the_log_with_its_edits_and_an_append_never_changes_what_was(ops: list[Op]) -> None:
    transcript, plain, author = Transcript(), PlainTranscript(), Author()
    snapshots: dict[int, list[Item]] = {0: []}
    for op in ops:
        transcript = play([op], transcript, plain, author)
        snapshots[transcript.revision] = plain.shown()
    check(transcript, plain)
    assert config_at(transcript.view) == plain.config()
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


@pytest.mark.parametrize("copied", [Transcript.fork, Transcript.copy, copy.copy, copy.deepcopy])
@given(OPS, OPS, OPS)
def test_parent_and_child_never_see_each_other(
    copied: Callable[[Transcript], Transcript], past: list[Op], ours: list[Op], theirs: list[Op]
) -> None:
    first, plain = Transcript(), PlainTranscript()
    first = play(past, first, plain, Author())
    second, plain_second = copied(first), plain.copy()
    for closing in second.recorded(since=len(plain.log)):
        plain_second.append(closing)
    check(second, plain_second)
    assert second.view.pending() == ([] if copied is Transcript.fork else first.view.pending())
    for mine, yours in zip(ours, theirs, strict=False):
        first = play([mine], first, plain, Author(f"p{len(plain.log)}"))
        second = play([yours], second, plain_second, Author(f"q{len(plain_second.log)}"))
    check(first, plain)
    check(second, plain_second)


@given(OPS)
def test_summaries_never_pile_up(ops: list[Op]) -> None:
    transcript, plain = Transcript(), PlainTranscript()
    transcript = play(ops, transcript, plain, Author())
    shown = [item for item in transcript.view if isinstance(item, Summary) and item.spans]
    areas = [plain.covered_by(plain.find(item.id)) for item in shown]
    for index, area in enumerate(areas):
        for other in areas[index + 1 :]:
            assert not area & other


EDITS = st.lists(
    st.tuples(
        st.integers(CONTENT_OPS, CONTENT_OPS + EDIT_OPS - 1),
        st.integers(0, 63),
        st.integers(0, 63),
        st.integers(0, 40),
    ),
    min_size=1,
    max_size=6,
)


def facts(view: View) -> tuple[object, ...]:
    recorded = [item.id for item in view.log.items(0, view.end)]
    fates = [view.fate(item_id) for item_id in recorded]
    return list(view), recorded, fates, view.pending(), view.tokens(FourCharacters())


@given(OPS, EDITS)
def test_what_is_foreseen_is_what_comes(ops: list[Op], more: list[Op]) -> None:
    author = Author()
    transcript = play(ops, Transcript(), PlainTranscript(), author)
    view, before, revision = transcript.view, facts(transcript.view), transcript.revision
    shadow, edits = Transcript(transcript.recorded()), list[Edit]()
    for op in more:
        edit = author.item(shadow, op)
        if edit is not None and is_edit(edit) and _accepted(shadow, edit):
            edits.append(edit)
    seen = view_after(view, edits)
    assert facts(seen) == facts(shadow.view)
    assert (facts(view), transcript.revision, facts(transcript.view)) == (before, revision, before)
    transcript.extend(edits)
    assert facts(seen) == facts(transcript.view)
    transcript.extend([Message("user", "later"), Note("of old", created_at=1.0)])
    assert facts(view_after(transcript.at(revision), edits)) == facts(seen)


def _accepted(transcript: Transcript, edit: Edit) -> bool:
    try:
        transcript.append(edit)
    except EditRefused:
        return False
    return True


@given(OPS, st.integers(0, 5), st.slices(12))
def test_a_scroll_reads_like_a_list(ops: list[Op], start: int, part: slice) -> None:
    view = play(ops, Transcript(), PlainTranscript(), Author()).view
    start = min(start, len(view))
    before, after = (Message("system", "a", id="a"),), (Message("user", "z", id="z"),)
    scroll, listed = Scroll(before, view, start, after), [*before, *view[start:], *after]
    assert list(scroll) == listed and len(scroll) == len(listed)
    assert scroll[part] == listed[part]
    assert [scroll[index] for index in range(-len(listed), len(listed))] == [*listed, *listed]
    assert scroll.counted(FourCharacters()) == sum(map(FourCharacters().count, listed))
    bare = Scroll(before, after=after)
    assert list(bare) == [*before, *after] and bare.added_since(scroll) is None
    assert bare.counted(FourCharacters()) == sum(map(FourCharacters().count, bare))


STEPS = st.lists(
    st.tuples(st.sampled_from("ccrrru"), st.integers(0, 1), st.integers(0, 1), st.integers(0, 2)), max_size=14
)


def replayed(steps: list[tuple[str, int, int, int]]) -> list[Item]:
    """Calls and results under two ids, of two tools, some of them merged at two times."""
    items: list[Item] = [Message("user", "go on", id="u")]
    for at, (kind, number, tool, merge) in enumerate(steps, 1):
        extras = {"quire.merged": f"m{merge}"} if merge else {}
        named = {"id": f"i{at:02d}", "created_at": float(at)}
        if kind == "u":
            items.append(Message("user", "go on", **named))  # type: ignore[arg-type]
        elif kind == "c":
            items.append(ToolCall(f"c{number}", f"tool{tool}", extras=extras, **named))  # type: ignore[arg-type]
        else:
            items.append(ToolResult(f"c{number}", f"tool{tool}", "x", extras=extras, **named))  # type: ignore[arg-type]
    return items


@pytest.mark.laws
@given(STEPS)
def test_the_rule_is_one_in_transcripts_in_sequences_and_in_the_oracle(
    steps: list[tuple[str, int, int, int]],
) -> None:
    items = replayed(steps)
    transcript, plain = Transcript(items), PlainTranscript()
    for item in items:
        plain.append(item)
    waiting = [plain.log[p].id for p in plain.open_calls()]
    assert [waits.id for waits in transcript.view.pending()] == waiting
    assert [waits.id for waits in transcript.at(len(items)).pending()] == waiting
    assert sorted(waits.id for waits in pending_calls(items)) == waiting
    view = transcript.view
    assert [view.log.head(position) for position in range(len(items))] == plain.heads
    assert view.groups() == groups(items)
