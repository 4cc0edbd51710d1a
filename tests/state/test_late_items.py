"""A late item costs the same however many came late before it, and finds its neighbours past all of them."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.errors import QuireError
from quire.items import Hide, Item, Mask, Message, Note, Span, ToolCall, ToolResult
from quire.state import EDIT, Log, Transcript, merge_all
from quire.state.positions import natural_before, natural_from
from tests.counting import Items
from tests.histories import OPS, Author, Op
from tests.oracle import PlainTranscript
from tests.state.chains import play


def said(item_id: str, at: float) -> Message:
    return Message("user", "x", id=item_id, created_at=at)


def idle_parent(late: int, edits: bool = False) -> Transcript:
    """A parent that waited while a child did much, and that went on after the merge."""
    parent = Transcript([said("0", 0.0)])
    child = parent.fork()
    parent.append(said("1", 10.0))
    child.extend(said(f"c{number:05d}", 1.0 + number / late) for number in range(late))
    merge_all(parent, child)
    if edits:
        parent.extend(Mask(f"c{number:05d}", "[cleared]") for number in range(0, late, 2))
    parent.extend([said("y", 20.0), said("z", 21.0)])
    return parent


def steps(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> int:
    """How often a log is asked about one of its positions while one acts."""
    asked: list[int] = []
    plain: Callable[..., Any] = Log.segment

    def counting(log: Log, position: int) -> Any:
        asked.append(position)
        return plain(log, position)

    with monkeypatch.context() as patch:
        patch.setattr(Log, "segment", counting)
        act()
    return len(asked)


@pytest.mark.parametrize("edits", [False, True], ids=["late items alone", "late items and edits"])
@pytest.mark.parametrize("forked", [False, True], ids=["whole", "forked"])
def test_a_late_item_does_not_walk_past_the_others(
    monkeypatch: pytest.MonkeyPatch, edits: bool, forked: bool
) -> None:
    def cost(late: int) -> int:
        transcript = idle_parent(late, edits)
        transcript = transcript.fork() if forked else transcript
        transcript.append(Note("late", id="l1", created_at=15.0))
        return steps(monkeypatch, lambda: transcript.append(Note("late", id="l2", created_at=15.0)))

    assert cost(4_000) < cost(500) + 60, "four thousand late items, and a few more bisections"


@pytest.mark.laws
@pytest.mark.usefixtures("lineage")
@given(OPS)
def test_neighbours_are_those_that_a_walk_finds(ops: list[Op]) -> None:
    transcript = play(ops, Transcript(), PlainTranscript(), Author())
    log, end = transcript.view.log, len(transcript)
    natural = [p for p in range(end) if log.head(p) != EDIT and p not in log.segment(p).placed]
    for position in range(end + 1):
        assert natural_before(log, position) == max((p for p in natural if p < position), default=None)
        assert natural_from(log, position, end) == min((p for p in natural if p >= position), default=None)


def test_what_another_placed_in_a_shared_segment_is_not_in_the_way() -> None:
    parent = idle_parent(400)
    child = parent.fork()
    child.append(Note("late", id="l1", created_at=15.0))
    parent.extend(said(f"p{number:05d}", 15.0) for number in range(50))
    child.append(Note("late", id="l2", created_at=15.0))
    assert child.view.log.segments[0] is parent.view.log.segments[0]
    assert [item.id for item in child.view][-4:] == ["l1", "l2", "y", "z"]
    assert [item.id for item in Transcript(child.recorded()).view] == [item.id for item in child.view]


def test_what_comes_after_an_item_ahead_of_the_clock_is_found_a_place_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    transcript = Transcript([said("ahead", 1e9), *(said(f"i{number:05d}", number) for number in range(500))])
    assert steps(monkeypatch, lambda: transcript.append(said("j", 500.0))) < 10, "no search, no new shape"
    assert [item.id for item in transcript.view][-3:] == ["i00499", "j", "ahead"]


TIMES = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 9)), max_size=25)


@pytest.mark.laws
@given(TIMES)
def test_items_ahead_of_the_clock_are_shown_as_the_plain_transcript_shows_them(
    times: list[tuple[int, int]],
) -> None:
    """Late ones in a row, with calls, results and edits among them, at every revision and in copies."""
    transcript, plain = Transcript(), PlainTranscript()
    seen: list[list[str]] = [[]]
    for number, (what, time) in enumerate(times):
        item = _odd_one(what, number, float(number if time < 7 else time * 100), transcript)
        try:
            transcript.append(item)
        except QuireError:
            continue
        plain.append(item)
        if time % 3 == 0:
            transcript = transcript.copy()
        if time % 2:
            assert list(transcript.view) == plain.shown()
        seen.append([shown.id for shown in plain.shown()])
    assert list(transcript.view) == plain.shown()
    assert [[item.id for item in transcript.at(n)] for n in range(len(transcript) + 1)] == seen
    assert all(transcript.at(n).counted(Items()) == len(ids) for n, ids in enumerate(seen))


def _odd_one(what: int, number: int, at: float, transcript: Transcript) -> Item:
    item_id = f"{number:03d}"
    if what == 4:
        return ToolCall("c", "look", id=item_id, created_at=at)
    if what == 5:
        return ToolResult("c", "look", "x", id=item_id, created_at=at)
    if what == 6 and len(transcript):
        return Hide((Span(transcript.recorded()[0].id, transcript.recorded()[0].id),), id=item_id)
    return Message("user" if what % 2 else "assistant", "x", id=item_id, created_at=at)
