"""Truncation: what goes, what stays, and what happens when that is too much."""

import pytest

from quire.bridges.videosdk import ChatContext, ChatMessage, ChatRole
from quire.errors import InvalidValue, WrongType
from quire.items import Hide, Undo
from tests.bridges.videosdk.talks import calls, outputs, talk, told


def test_without_limits_nothing_goes() -> None:
    context = talk()
    assert context.truncate() is context and len(context.items) == 25


def test_within_the_limits_nothing_goes() -> None:
    context = talk()
    context.truncate(max_items=25, max_tokens=context.estimated_tokens())
    assert len(context.items) == 25


def test_the_oldest_go_until_so_many_items_are_left() -> None:
    context = talk()
    assert context.truncate(max_items=9) is context
    assert len(context.items) == 9 and told(context)[:2] == ["Be brief.", "question 4"]
    assert calls(context) == outputs(context) == ["c4", "c5"]


def test_the_oldest_go_until_so_many_tokens_are_left() -> None:
    context = talk()
    context.truncate(max_tokens=60)
    assert context.estimated_tokens() <= 60 and told(context)[0] == "Be brief."
    assert "question 5" in told(context) and calls(context) == outputs(context)


def test_both_limits_hold() -> None:
    for max_items, max_tokens in ((9, 1000), (25, 60), (9, 60)):
        context = talk()
        context.truncate(max_items=max_items, max_tokens=max_tokens)
        assert len(context.items) <= max_items and context.estimated_tokens() <= max_tokens


def test_truncating_twice_changes_nothing() -> None:
    context = talk()
    context.truncate(max_items=9)
    before = context.to_dict()
    context.truncate(max_items=9)
    assert context.to_dict() == before


def test_a_call_in_flight_stays() -> None:
    context = talk(1)
    context.add_function_call("slow", "{}", call_id="open")
    for n in range(6):
        context.add_message(ChatRole.USER, f"still there? {n}")
        context.add_message(ChatRole.ASSISTANT, f"yes {n}")
    context.truncate(max_items=5)
    assert calls(context) == ["open"] and len(context.items) <= 5
    context.add_function_output("slow", "done", call_id="open")
    assert outputs(context) == ["open"]


def test_parallel_calls_go_together_or_stay_together() -> None:
    context = talk(1)
    for n in range(3):
        context.add_function_call("search", "{}", call_id=f"p{n}")
    for n in (2, 0):
        context.add_function_output("search", f"found {n}", call_id=f"p{n}")
    context.add_message(ChatRole.USER, "and?")
    context.truncate(max_items=8)
    assert calls(context) == ["p0", "p1", "p2"] and sorted(outputs(context)) == ["p0", "p2"]
    context.add_function_output("search", "found 1", call_id="p1")
    context.add_message(ChatRole.USER, "well?")
    context.truncate(max_items=6)
    assert calls(context) == outputs(context) == []


def test_every_instruction_update_and_handoff_stays() -> None:
    context = talk(2)
    context.add_message(ChatRole.DEVELOPER, "Be exact.")
    context.add_handoff("b")
    context.add_config_update(tools=["x"])
    context.add_message(ChatRole.SYSTEM, "Be kind.")
    for n in range(4):
        context.add_message(ChatRole.USER, f"more {n}")
    context.truncate(max_items=6)
    assert told(context) == ["Be brief.", "Be exact.", "Be kind.", "more 3"] and len(context.items) == 6


def test_every_summary_stays() -> None:
    gists = [
        ChatMessage(role=ChatRole.ASSISTANT, content=[text], extra={"summary": True})
        for text in ("one", "two")
    ]
    context = ChatContext([gists[0], *talk().items, gists[1]])
    context.add_message(ChatRole.USER, "last")
    context.truncate(max_items=4)
    assert told(context) == ["one", "Be brief.", "two", "last"]


def test_inside_a_turn_that_is_too_long_the_oldest_calls_go() -> None:
    context = talk(0)
    context.add_message(ChatRole.USER, "find all")
    for n in range(10):
        context.add_function_call("search", "{}", call_id=f"c{n}")
        context.add_function_output("search", f"found {n}", call_id=f"c{n}")
    context.truncate(max_items=6)
    assert told(context) == ["Be brief.", "find all"] and calls(context) == outputs(context) == ["c8", "c9"]


def test_where_only_what_must_stay_is_left_it_is_left_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    context = talk()
    context.truncate(max_items=1)
    assert told(context) == ["Be brief.", "question 5"] and len(context.items) == 2
    assert "must stay" in caplog.text and "question" not in caplog.text
    caplog.clear()
    context.truncate(max_tokens=1)
    assert len(context.items) == 2 and "must stay" in caplog.text


def test_a_conversation_without_a_user_can_shrink() -> None:
    context = ChatContext()
    for n in range(5):
        context.add_message(ChatRole.ASSISTANT, f"{n}")
    context.truncate(max_items=2)
    assert told(context) == ["3", "4"]
    context.truncate(max_items=0)
    assert context.items == []


def test_an_empty_context_is_short_enough() -> None:
    assert ChatContext().truncate(max_items=0, max_tokens=0).items == []


def test_what_was_left_out_can_be_brought_back() -> None:
    context = talk()
    context.truncate(max_items=9)
    hide = context.transcript.recorded()[-1]
    assert isinstance(hide, Hide)
    context.transcript.append(Undo(hide.id))
    assert len(context.items) == 25


def test_limits_are_whole_numbers_from_zero() -> None:
    with pytest.raises(InvalidValue):
        talk().truncate(max_items=-1)
    with pytest.raises(InvalidValue):
        talk().truncate(max_tokens=-1)
    with pytest.raises(WrongType):
        talk().truncate(max_items="9")  # type: ignore[arg-type]  # pyright: ignore
