"""Copies with some of the items, and forks: whole, narrow, or fresh."""

import asyncio
from typing import Any

import pytest

from quire.bridges.videosdk import ChatContext, ChatRole, FunctionCall, FunctionCallOutput
from quire.errors import WrongType
from tests.bridges.videosdk.talks import Streaming, calls, outputs, talk, told


def kinds(context: ChatContext) -> set[str]:
    return {type(item).__name__ for item in context.items}


def test_a_copy_holds_the_same_and_goes_its_own_way() -> None:
    context = talk()
    twin = context.copy()
    assert twin.items == context.items
    twin.add_message(ChatRole.USER, "mine")
    assert len(context.items) == 25 and len(twin.items) == 26


def test_a_copy_without_messages_of_the_system_keeps_those_of_the_developer() -> None:
    context = talk(1)
    context.add_message(ChatRole.DEVELOPER, "Be exact.")
    assert "Be brief." not in told(context.copy(exclude_system_messages=True))
    assert "Be exact." in told(context.copy(exclude_system_messages=True))


def test_a_copy_without_instructions_has_neither() -> None:
    context = talk(1)
    context.add_message(ChatRole.DEVELOPER, "Be exact.")
    assert told(context.copy(exclude_instructions=True)) == ["question 0", "answer 0"]


@pytest.mark.parametrize("content", ["  ", "", [], ["", " "]])
def test_a_copy_without_empty_messages(content: Any) -> None:
    context = talk(1)
    context.add_message(ChatRole.USER, content)
    assert len(context.copy(exclude_empty_messages=True).items) == len(context.items) - 1 == 5


def test_a_copy_without_handoffs_or_updates() -> None:
    context = talk(1)
    context.add_handoff("b")
    context.add_config_update(tools=["x"])
    assert "AgentHandoff" not in kinds(context.copy(exclude_handoffs=True))
    assert "AgentConfigUpdate" in kinds(context.copy(exclude_handoffs=True))
    assert "AgentConfigUpdate" not in kinds(context.copy(exclude_config_updates=True))


def test_a_copy_keeps_all_calls_none_or_those_of_some_tools() -> None:
    context = talk(1)
    context.add_function_call("read", "{}", call_id="r")
    context.add_function_output("read", "x", call_id="r")
    assert calls(context.copy(tools=None)) == ["c0", "r"]
    assert calls(context.copy(tools=[])) == outputs(context.copy(tools=[])) == []
    assert calls(context.copy(tools=["read"])) == outputs(context.copy(tools=["read"])) == ["r"]


def test_a_copy_takes_tools_as_objects() -> None:
    class Search:
        name = "search"

    assert calls(talk(1).copy(tools=[Search()])) == ["c0"]


def test_an_output_goes_with_its_call_whatever_its_name() -> None:
    context = talk(0)
    context.add_function_call("search", "{}", call_id="s")
    context.add_function_output("other", "x", call_id="s")
    assert outputs(context.copy(tools=["search"])) == ["s"]
    assert outputs(context.copy(tools=["other"])) == []


def test_of_parallel_calls_a_copy_keeps_those_that_are_wanted() -> None:
    context = talk(0)
    for name in ("search", "read"):
        context.add_function_call(name, "{}", call_id=name)
    for name in ("read", "search"):
        context.add_function_output(name, "x", call_id=name)
    copied = context.copy(tools=["read"])
    assert calls(copied) == outputs(copied) == ["read"]


def test_a_copy_for_an_agent_keeps_its_items_and_the_frame() -> None:
    context = talk(1)
    context.add_handoff("b", from_agent="a")
    context.add_config_update(tools=["x"])
    copied = context.copy(filter_agent_id="a")
    assert {item.agent_id for item in copied.items} == {"a", None}
    assert kinds(copied) == {"ChatMessage", "FunctionCall", "AgentHandoff", "AgentConfigUpdate"}
    assert told(copied) == ["Be brief.", "question 0"]


def test_filters_add_up() -> None:
    copied = talk(2).copy(exclude_instructions=True, tools=[], filter_agent_id="b")
    assert told(copied) == ["answer 0", "answer 1"] and len(copied.items) == 2


def test_a_copy_keeps_calls_in_flight_in_flight() -> None:
    context = talk(1)
    context.add_function_call("slow", "{}", call_id="open")
    copied = context.copy()
    assert calls(copied) == ["c0", "open"] and outputs(copied) == ["c0"]
    copied.add_function_output("slow", "done", call_id="open")
    assert "done" in str(copied.to_openai_messages()) and outputs(context) == ["c0"]


def test_a_copy_of_a_summary_stands_for_itself() -> None:
    context = talk()
    asyncio.run(context.summarize(Streaming(), keep_recent_turns=2))
    copied = context.copy()
    assert copied.items == context.items
    copied.truncate(max_items=3)
    assert told(copied)[:2] == ["Be brief.", "[Conversation Summary]\nTHE GIST"]


def test_a_fork_is_complete_and_neither_sees_the_other_again() -> None:
    context = talk()
    child = context.fork()
    assert child.items == context.items
    child.add_message(ChatRole.USER, "mine")
    context.add_message(ChatRole.USER, "yours")
    assert told(child)[-1] == "mine" and told(context)[-1] == "yours"
    assert len(child.items) == len(context.items) == 26


def test_truncating_or_emptying_a_fork_leaves_the_parent_alone() -> None:
    context = talk()
    child, other = context.fork(), context.fork()
    child.truncate(max_items=5)
    other.cleanup()
    assert len(context.items) == 25 and told(context)[1] == "question 0"


def test_a_call_in_flight_is_closed_in_a_fork_and_waits_on_in_the_parent() -> None:
    context = talk(1)
    context.add_function_call("slow", "{}", call_id="open")
    child = context.fork()
    assert calls(child) == outputs(child) == ["c0", "open"]
    assert outputs(context) == ["c0"]
    context.add_function_output("slow", "done", call_id="open")
    assert "done" in str(context.to_openai_messages()) and "done" not in str(child.to_openai_messages())


def test_a_fork_of_an_empty_context_is_empty() -> None:
    assert ChatContext().fork().items == []


def test_a_narrow_fork_sees_the_instructions_and_the_last_turns() -> None:
    narrow = talk().fork_filtered(recent_turns=2)
    assert told(narrow) == ["Be brief.", "question 4", "answer 4", "question 5", "answer 5"]
    assert calls(narrow) == outputs(narrow) == ["c4", "c5"]


def test_a_narrow_fork_keeps_three_turns_unless_told() -> None:
    assert talk().fork_filtered().turn_count() == 3


def test_a_narrow_fork_keeps_all_where_there_are_no_more_turns() -> None:
    context = talk(2)
    assert context.fork_filtered(recent_turns=5).items == context.items


def test_a_narrow_fork_keeps_what_is_in_force() -> None:
    context = talk(1)
    context.add_config_update(instructions="Be long.", tools=["search"])
    for n in range(3):
        context.add_message(ChatRole.USER, f"more {n}")
    assert context.fork_filtered(recent_turns=1).active_config_at() == ("Be long.", ["search"])


def test_instructions_move_to_the_start_of_a_narrow_fork_with_the_updates_before_them() -> None:
    context = talk(2)
    context.add_config_update(instructions="Be long.", tools=["search"])
    context.add_message(ChatRole.DEVELOPER, "Be kind.")
    context.add_config_update(tools=["read"])
    narrow = context.fork_filtered(recent_turns=1)
    assert told(narrow) == ["Be brief.", "Be kind.", "question 1", "answer 1"]
    assert narrow.active_config_at() == context.active_config_at() == ("Be kind.", ["read"])
    assert narrow.active_config_at(1) == ("Be long.", ["search"])


def test_a_narrow_fork_sees_only_calls_of_its_tools() -> None:
    context = talk(2)
    context.add_message(ChatRole.USER, "read it")
    context.add_message(ChatRole.ASSISTANT, "I will.")
    for name in ("read", "search"):
        context.add_function_call(name, "{}", call_id=name)
        context.add_function_output(name, "x", call_id=name)
    narrow = context.fork_filtered(recent_turns=2, tools=["read"])
    assert calls(narrow) == outputs(narrow) == ["read"] and told(narrow)[-1] == "I will."
    assert not any(
        isinstance(i, FunctionCall | FunctionCallOutput) for i in context.fork_filtered(tools=[]).items
    )


@pytest.mark.parametrize("turns", [0, -1])
def test_a_narrow_fork_has_at_least_one_turn(turns: int) -> None:
    with pytest.raises(ValueError, match="turns"):
        talk().fork_filtered(recent_turns=turns)


def test_a_brief_fork_has_instructions_and_a_task() -> None:
    fresh = talk().fork_brief("Do it.", "The task", agent_id="sub")
    assert [(m.role, m.content, m.agent_id) for m in fresh.messages()] == [
        (ChatRole.SYSTEM, ["Do it."], "sub"),
        (ChatRole.USER, ["The task"], "sub"),
    ]
    assert told(talk().fork_brief("Do it.")) == ["Do it."] == told(talk().fork_brief("Do it.", ""))


def test_a_brief_fork_needs_instructions() -> None:
    for nothing in ("", "  "):
        with pytest.raises(ValueError, match="instructions"):
            talk().fork_brief(nothing)
    with pytest.raises(WrongType):
        talk().fork_brief(None)  # type: ignore[arg-type]  # pyright: ignore


def test_cleanup_empties_a_context_and_spares_what_others_hold() -> None:
    context = talk()
    child, copied, item = context.fork(), context.copy(), context.items[1]
    context.cleanup()
    assert context.items == [] and context.turn_count() == 0
    assert len(child.items) == len(copied.items) == 25 and told(ChatContext([item])) == ["question 0"]
    context.add_message(ChatRole.USER, "again")
    assert told(context) == ["again"]
