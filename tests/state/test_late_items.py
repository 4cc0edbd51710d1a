"""A late item costs the same however many came late before it, and finds its neighbours past all of them."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given

from quire.items import Mask, Message, Note
from quire.state import Transcript, merge_all
from quire.state.log import EDIT, Log
from quire.state.positions import natural_before, natural_from
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
