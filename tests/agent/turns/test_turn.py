"""A turn: what it is of, what became of it, and how it is written."""

import json
from typing import Any

import pytest

from quire.agent import tool
from quire.agent.builtin import ask_user
from quire.agent.turns import Turn, Turns
from quire.errors import Damaged, InvalidLimit, InvalidValue, TurnBusy, Unencodable, WrongType
from quire.items import Note, use_clock
from tests.agent.turns.playing import TOOLS, in_a_loop, run_all, weigh


def test_a_tool_is_named_or_given() -> None:
    assert Turn("weigh").tool_name == Turn(weigh).tool_name == "weigh"
    assert Turn(weigh, {"parcel": "a"}).arguments == {"parcel": "a"} and Turn("weigh").arguments == {}
    wrong: Any = 3
    with pytest.raises(WrongType):
        Turn(wrong)
    with pytest.raises(WrongType):
        Turn("weigh", wrong)
    for seconds in (0, -1):
        with pytest.raises(InvalidLimit):
            Turn("weigh", timeout=seconds)


def test_arguments_are_the_turns_own() -> None:
    given = {"parcel": "a"}
    turn = Turn("weigh", given)
    given["parcel"] = "b"
    assert turn.arguments == {"parcel": "a"}


@in_a_loop
async def test_times_come_from_the_clock_and_the_outcome_is_on_the_turn() -> None:
    times = iter((100.0, 101.0, 102.0, 103.0, 104.0, 105.0))
    turn = Turn("remark", {"words": "rain"})
    assert (turn.stop_reason, turn.started_at, turn.ended_at, turn.is_running) == (None, None, None, False)
    with use_clock(lambda: next(times)):
        await run_all(Turns(TOOLS), turn)
    assert turn.stop_reason == "completed" and turn.output.content == "rain" and turn.fault is None
    assert turn.started_at == 100.0 and turn.ended_at is not None and turn.ended_at > 101.0
    assert "completed" in repr(turn) and "waiting" in repr(Turn("x"))


@in_a_loop
async def test_what_is_yielded_is_a_list_even_if_it_is_empty() -> None:
    turns, some, none = Turns(TOOLS), Turn("count", {"upto": 2}), Turn("count", {"upto": 0})
    assert len(await run_all(turns, some, none)) == 2
    assert [note.content for note in some.output] == [0, 1] and none.output == []


@in_a_loop
async def test_a_turn_that_is_under_way_is_not_begun_twice() -> None:
    turn = Turn("remark", {"words": "rain"})
    turn.begin()
    with pytest.raises(TurnBusy):
        turn.begin()
    with pytest.raises(TurnBusy):
        await Turns(TOOLS).put(turn)


@in_a_loop
async def test_arguments_that_do_not_fit_are_an_error_of_the_turn() -> None:
    turn = Turn("count", {"upto": "many"})
    with pytest.raises(InvalidValue, match="was not run"):
        await run_all(Turns(TOOLS), turn)
    assert (turn.stop_reason, turn.fault) == ("error", "InvalidValue")


@in_a_loop
async def test_a_turn_is_written_and_read_back() -> None:
    waiting = Turn("weigh", {"parcel": "a", "stamp": b"\x00"}, timeout=3)
    read = Turn.from_dict(json.loads(json.dumps(waiting.to_dict())))
    assert read.arguments == waiting.arguments and (read.tool_name, read.timeout) == ("weigh", 3)
    assert read.started_at is None and not read.is_running
    done = Turn("count", {"upto": 2})
    await run_all(Turns(TOOLS), done)
    read = Turn.from_dict(json.loads(json.dumps(done.to_dict())))
    assert read.output == done.output and isinstance(read.output[0], Note)
    assert (read.stop_reason, read.started_at, read.ended_at) == ("completed", done.started_at, done.ended_at)


def test_an_output_that_looks_like_a_note_is_refused_with_its_path() -> None:
    turn = Turn("x")
    turn.begin()
    turn.give({"$note": {"kind": "note"}}, is_whole=True)
    turn.end("completed")
    with pytest.raises(Unencodable) as refused:
        turn.to_dict()
    assert refused.value.path == "$.output"


def test_what_was_under_way_is_read_as_still_to_be_made() -> None:
    turn = Turn("count")
    turn.begin()
    turn.give(object(), is_whole=False)
    read = Turn.from_dict(turn.to_dict())
    assert read.started_at is None and read.output is None


def test_what_cannot_be_written_is_named_by_its_place() -> None:
    with pytest.raises(Unencodable) as caught:
        Turn("x", {"deep": [object()]}).to_dict()
    assert caught.value.path == "$.arguments.deep[0]"


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ([], "$"),
        ({}, "$.tool"),
        ({"tool": "x", "arguments": 3}, "$.arguments"),
        ({"tool": "x", "timeout": "soon"}, "$.timeout"),
        ({"tool": "x", "stop_reason": "bored"}, "$.stop_reason"),
        ({"tool": "x", "output": {"$note": 3}}, "$[0]"),
        ({"tool": "x", "output": {"$note": {"kind": "pin", "target": "a"}}}, "$.output"),
    ],
)
def test_what_cannot_be_read_is_named_by_its_place(data: object, path: str) -> None:
    with pytest.raises(Damaged) as caught:
        Turn.from_dict(data)
    assert caught.value.path == path


@in_a_loop
async def test_what_a_person_answers_has_no_turns() -> None:
    turns = Turns([*TOOLS, ask_user])
    with pytest.raises(InvalidValue, match="a person answers 'ask_user'"):
        await turns.put(Turn("ask_user", {"question": "Who?"}))
    assert turns.waiting == ()


@in_a_loop
async def test_who_puts_a_turn_has_approved_of_it() -> None:
    @tool(approve=True)
    async def pay() -> str:
        """Pay."""
        return "paid"

    turn = Turn(pay)
    await run_all(Turns([pay]), turn)
    assert turn.output == "paid"
