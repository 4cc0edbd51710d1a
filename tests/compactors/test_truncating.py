"""Leaving out the oldest: numbers, limits, and what is said where the floor is out of reach."""

from typing import Any

import pytest

from quire.compactors import Room, TruncateOldest, record
from quire.errors import InvalidLimit, InvalidValue, Irreducible, QuireError, WrongType
from quire.items import Item, Message, Pin, ToolCall, ToolResult
from quire.state import Transcript
from tests.counting import FourCharacters, Items

TOKENS = FourCharacters()


def turns(count: int, size: int = 36) -> list[Item]:
    """Turns of a question and an answer, each message of `size` characters."""
    return [
        Message(role, "x" * size, id=f"{role[0]}{turn}", created_at=float(turn))
        for turn in range(1, count + 1)
        for role in ("user", "assistant")
    ]


def ids(transcript: Transcript) -> str:
    return " ".join(item.id for item in transcript.view)


def test_nothing_up_to_the_ceiling_and_then_down_to_the_floor() -> None:
    transcript = Transcript(turns(4))
    held = transcript.view.tokens(TOKENS)
    assert TruncateOldest().plan(transcript.view, Room(held, TOKENS)) is None
    plan = TruncateOldest().plan(transcript.view, Room(held - 1, TOKENS))
    assert plan is not None and plan.by == "truncate-oldest"
    assert record(transcript, plan).fate == "kept"
    assert ids(transcript) == "u4 a4"
    assert transcript.view.tokens(TOKENS) == plan.after <= (held - 1) // 2


def test_messages_do_not_count_the_frame() -> None:
    transcript = Transcript([Message("system", "Be brief.", id="s", created_at=0.0), *turns(4)])
    compactor = TruncateOldest(unit="messages", floor=4, ceiling=7)
    plan = compactor.plan(transcript.view, Room(10**6, TOKENS))
    assert plan is not None and "8 messages are shown, and 7 may be" in plan.reason
    record(transcript, plan)
    assert ids(transcript) == "s u3 a3 u4 a4"


def test_turns() -> None:
    transcript = Transcript(turns(4))
    assert TruncateOldest(unit="turns", floor=1, ceiling=4).plan(transcript.view, Room(1, TOKENS)) is None
    plan = TruncateOldest(unit="turns", floor=3, ceiling=3).plan(transcript.view, Room(1, TOKENS))
    assert plan is not None
    record(transcript, plan)
    assert ids(transcript) == "u2 a2 u3 a3 u4 a4"


def test_a_room_of_anything_that_can_be_counted() -> None:
    transcript = Transcript(turns(4))
    plan = TruncateOldest(floor=1.0).plan(transcript.view, Room(5, Items()))
    assert plan is not None
    record(transcript, plan)
    assert ids(transcript) == "u3 a3 u4 a4"


def test_inside_a_long_turn_the_cut_falls_between_groups() -> None:
    items: list[Item] = [Message("user", "do it", id="u", created_at=1.0)]
    for number in range(6):
        call = f"c{number}"
        items.append(ToolCall(call, "look", id=call, created_at=2.0))
        items.append(ToolResult(call, "look", "y" * 80, id=f"r{number}", created_at=2.0))
    transcript = Transcript(items)
    plan = TruncateOldest(floor=0.5).plan(transcript.view, Room(150, TOKENS))
    assert plan is not None
    record(transcript, plan)
    assert ids(transcript) == "u c4 r4 c5 r5"


def test_a_last_turn_above_the_floor_leaves_half_of_the_rest() -> None:
    items = [*turns(1, 400), Message("user", "x" * 400, id="last", created_at=9.0)]
    for number in range(4):
        items.append(Message("assistant", "x" * 36, id=f"t{number}", created_at=9.0))
    transcript = Transcript(items)
    space = Room(170, TOKENS)
    plan = TruncateOldest().plan(transcript.view, space)
    assert plan is not None and plan.after > 85
    record(transcript, plan)
    assert ids(transcript) == "last t2 t3"
    assert TruncateOldest().plan(transcript.view, space) is None


@pytest.mark.parametrize(
    ("items", "parts"),
    [
        ([Message("system", "x" * 4000, id="s", created_at=0.0), *turns(2)], ("s",)),
        ([*turns(1), Message("user", "x" * 4000, id="big", created_at=9.0)], ("big",)),
        ([*turns(2, 400), Pin("u1", id="p"), *turns(3)[4:]], ("u1",)),
    ],
    ids=[
        "a system prompt larger than the window",
        "one message larger than the budget",
        "pins above the floor",
    ],
)
def test_what_cannot_shrink_is_named(items: list[Item], parts: tuple[str, ...]) -> None:
    transcript = Transcript(items)
    with pytest.raises(Irreducible) as caught:
        TruncateOldest(floor=75).plan(transcript.view, Room(150, TOKENS))
    assert caught.value.parts == parts
    assert list(transcript.view) == list(Transcript(items).view)


def test_a_floor_that_is_a_part_of_the_room_gives_way_to_a_long_frame() -> None:
    transcript = Transcript([Message("system", "x" * 400, id="s", created_at=0.0), *turns(6)])
    space = Room(200, TOKENS)
    plan = TruncateOldest().plan(transcript.view, space)
    assert plan is not None and 80 < plan.after <= 160
    record(transcript, plan)
    assert TruncateOldest().plan(transcript.view, space) is None


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"floor": -1}, InvalidLimit),
        ({"floor": 1.5}, InvalidLimit),
        ({"floor": float("nan")}, InvalidLimit),
        ({"floor": True}, WrongType),
        ({"floor": "half"}, WrongType),
        ({"floor": 30, "ceiling": 20}, InvalidLimit),
        ({"floor": 0.9, "ceiling": 0.8}, InvalidLimit),
        ({"unit": "words"}, InvalidValue),
        ({"unit": "messages", "floor": 0.5}, WrongType),
        ({"unit": "turns", "floor": 0}, InvalidLimit),
        ({"unit": "messages", "floor": 30}, InvalidLimit),
    ],
)
def test_limits_that_make_no_sense_are_refused(settings: dict[str, Any], error: type[QuireError]) -> None:
    with pytest.raises(error):
        TruncateOldest(**settings)


def test_wrong_arguments_are_refused() -> None:
    transcript: Any = Transcript(turns(1))
    space: Any = 100
    with pytest.raises(WrongType, match="Room"):
        TruncateOldest().plan(transcript.view, space)
    with pytest.raises(WrongType, match=r"transcript\.view"):
        TruncateOldest().plan(transcript, Room(100, TOKENS))
    with pytest.raises(InvalidLimit):
        Room(-1, TOKENS)


def test_limits_beyond_the_room_are_the_room() -> None:
    extent = TruncateOldest(floor=500, ceiling=900).extent(Room(100, TOKENS))
    assert (extent.floor, extent.ceiling) == (100, 100)
    assert repr(TruncateOldest()) == "TruncateOldest(floor=0.4, ceiling=1.0, unit='tokens')"
