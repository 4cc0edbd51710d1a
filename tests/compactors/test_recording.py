"""Plans made real: all of it or nothing, and no words that make a conversation larger."""

from typing import Any, cast

import pytest

from quire.compactors import (
    Cascade,
    Offload,
    Plan,
    Planner,
    Room,
    Summarize,
    TruncateOldest,
    old_turns,
    record,
)
from quire.errors import WrongType
from quire.items import Mask, Message, Note, Summary
from quire.state import Pool, Transcript, View
from tests.compactors.test_results import BULK, calls
from tests.compactors.test_truncating import turns
from tests.counting import FourCharacters

TOKENS = FourCharacters()
WRONG = cast(Any, 5)


class Refusing(Pool):
    """A pool that takes so many notes and no more."""

    def __init__(self, most: int, *notes: Note, limit: int | None = None) -> None:
        super().__init__(limit=limit)
        self._most = most
        for note in notes:
            Pool.add(self, note)

    def add(self, note: Note) -> Note | None:
        if self._most < 1:
            raise RuntimeError("no more")
        self._most -= 1
        return super().add(note)


@pytest.mark.parametrize("most", [0, 1])
@pytest.mark.parametrize("limit", [None, 2])
def test_a_pool_that_refuses_leaves_all_as_it_was(most: int, limit: int | None) -> None:
    transcript, before = calls(BULK, BULK, "short"), [Note("a", key="a"), Note("b", key="b")]
    pool = Refusing(most, *before, limit=limit)
    plan = Offload(larger_than=10, keep=1).plan(transcript.view, Room(100, TOKENS))
    assert plan is not None and len(plan.notes) == 2
    log = transcript.recorded()
    with pytest.raises(RuntimeError):
        record(transcript, plan, pool=pool)
    assert transcript.recorded() == log and list(pool) == before


def test_edits_that_are_refused_leave_the_pool_as_it_was() -> None:
    transcript, pool = calls(BULK, "short"), Pool([Note("a", key="a")], limit=1)
    plan = Offload(larger_than=10).plan(transcript.view, Room(100, TOKENS))
    assert plan is not None
    transcript.append(Mask("r1", "-"))
    assert record(transcript, plan._replace(edits=(Mask("nobody", "-"),)), pool=pool).fate == "discarded"
    assert [note.key for note in pool] == ["a"]


def test_what_is_no_pool_and_no_transcript_is_refused() -> None:
    transcript = calls(BULK, "short")
    plan = Offload(larger_than=10).plan(transcript.view, Room(100, TOKENS))
    assert plan is not None
    with pytest.raises(WrongType, match="a Pool"):
        record(transcript, plan, pool=cast(Any, []))
    with pytest.raises(WrongType, match="a Transcript"):
        record(WRONG, plan)
    for compactor in (Offload(), Summarize(), TruncateOldest(), Cascade(Offload()), Planner(Offload())):
        with pytest.raises(WrongType):
            compactor.plan(transcript.view, WRONG)
    with pytest.raises(WrongType):
        Room(1, WRONG)
    with pytest.raises(WrongType):
        Room(1, TOKENS, WRONG)


@pytest.mark.parametrize("unit", ["messages", "turns"])
def test_a_summary_by_number_never_ends_a_conversation(unit: Any) -> None:
    """It is asked for in the size there is room for, and not used where it is longer than what it is for."""
    compactor, room = Summarize(unit=unit, floor=5, ceiling=10), Room(400, TOKENS)
    transcript, kept, refused = Transcript(), 0, 0
    for turn in range(60):
        transcript.extend([Message("user", f"Question {turn}?"), Message("assistant", "So it is. " * 3)])
        plan = compactor.plan(transcript.view, room)
        if plan is None:
            continue
        assert plan.request is not None and plan.after < plan.before and plan.after <= room.tokens
        before = transcript.view.tokens(TOKENS)
        outcome = record(transcript, plan, text="w" * 4 * (2_000 if turn % 3 else plan.request.size))
        kept, refused = kept + (outcome.fate == "kept"), refused + (outcome.fate == "discarded")
        assert transcript.view.tokens(TOKENS) <= before
    assert kept and refused and transcript.view.tokens(TOKENS) <= room.tokens


def test_what_stays_by_number_is_held_against_the_room() -> None:
    view, room = Transcript(turns(20, 400)).view, Room(500, TOKENS, reads=10_000)
    plan = Summarize(floor=10, ceiling=20).plan(view, room)
    assert plan is not None and plan.after <= room.tokens and "tokens are shown" in plan.reason


def test_words_that_somebody_asked_for_may_be_longer_if_they_fit() -> None:
    transcript = Transcript([Message("user", "a", id="a"), Message("user", "b", id="b")])
    stretch = old_turns(transcript.view, 1)
    assert stretch is not None
    plan = Summarize().plan_for(transcript.view, Room(100, TOKENS), stretch)
    assert record(transcript.fork(), plan, text="w" * 500).fate == "discarded"
    assert record(transcript, plan, text="w" * 80).fate == "kept"
    assert isinstance(transcript.view[0], Summary)


class Hopeless:
    """Asks for words that would not fit."""

    name = "hopeless"

    def plan(self, view: View, room: Room) -> Plan:
        plan = Summarize(unit="tokens").plan(view, room)
        assert plan is not None
        return plan._replace(after=plan.before + 1)


def test_a_cascade_goes_on_to_what_helps() -> None:
    view, room = Transcript(turns(20, 400)).view, Room(500, TOKENS)
    plan = Cascade(Hopeless(), TruncateOldest()).plan(view, room)
    assert plan is not None and plan.request is None and plan.after <= room.tokens


def test_a_cascade_leaves_room_for_what_comes_next() -> None:
    items = [*turns(20, 400)[:-1], *calls("x" * 200, "short").recorded()]
    view = Transcript(items).view
    room = Room(view.tokens(TOKENS) - 20, TOKENS)
    alone = Offload(larger_than=20).plan(view, room)
    assert alone is not None and 0.75 * room.tokens < alone.after <= room.tokens
    plan = Cascade(Offload(larger_than=20), TruncateOldest()).plan(view, room)
    assert plan is not None and plan.after <= 0.4 * room.tokens
