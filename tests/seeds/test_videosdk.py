"""Promises of VideoSDK's page on `ChatContext`: adding, reading, forking, merging, shrinking, converting."""

import json
from itertools import pairwise
from typing import Any

import pytest

from quire.bridges.videosdk import (
    AgentConfigUpdate,
    AgentHandoff,
    ChatContext,
    ChatRole,
    ImageContent,
)
from tests.bridges.videosdk.shop import Streaming, at, calls, outputs, talk, told, words

RULE = "Sell lamps."


def kinds(context: ChatContext) -> set[type[Any]]:
    return {type(item) for item in context.items}


# Reading


def test_estimated_tokens_grow_with_texts_calls_and_images() -> None:
    context = talk(1)
    sizes = [context.estimated_tokens()]
    for content in ("one more cup of tea please " * 20, [ImageContent(image="https://tea.example/cup.png")]):
        context.add_message(ChatRole.USER, content)
        sizes.append(context.estimated_tokens())
    context.add_function_call("brew", json.dumps({"wish": "strong " * 20}))
    sizes.append(context.estimated_tokens())
    assert all(later > earlier + 20 for earlier, later in pairwise(sizes))


def test_items_messages_and_turns_are_counted_and_items_found_by_id() -> None:
    context = talk(2)
    assert (len(context.items), len(context.messages()), context.turn_count()) == (9, 5, 2)
    assert ChatContext().items == [] and ChatContext(context.items).items == context.items
    assert all(context.get_by_id(item.id) == item for item in context.items)
    assert context.get_by_id("missing") is None


# Adding


def test_a_message_is_added_with_the_values_that_are_given() -> None:
    context = ChatContext()
    added = context.add_message(ChatRole.USER, "tea?", message_id="m-1", created_at=50.0, agent_id="waiter")
    assert (added.role, added.content, added.id) == (ChatRole.USER, ["tea?"], "m-1")
    assert (added.created_at, added.agent_id) == (50.0, "waiter") and context.items == [added]


def test_replace_removes_earlier_system_messages_and_nothing_else() -> None:
    context = talk(1)
    context.add_message(ChatRole.USER, "another", replace=True)
    assert told(context) == [RULE, "lamp 0?", "yes, 0", "another"]
    context.add_message(ChatRole.SYSTEM, "Serve coffee.", replace=True)
    assert [words(m) for m in context.messages() if m.role == ChatRole.SYSTEM] == ["Serve coffee."]
    assert len(context.messages()) == 4


def test_calls_outputs_handoffs_and_updates_are_added_with_their_fields() -> None:
    context = ChatContext()
    made = context.add_function_call("brew", '{"cups": 2}', metadata={"trace": 7}, agent_id="waiter")
    assert (made.name, made.arguments, made.agent_id) == ("brew", '{"cups": 2}', "waiter")
    assert made.metadata == {"trace": 7} and made.call_id
    assert context.add_function_call("brew", "{}", call_id="c-1").call_id == "c-1"
    output = context.add_function_output("brew", "no water", call_id="c-1", is_error=True, agent_id="kitchen")
    assert (output.name, output.output, output.call_id) == ("brew", "no water", "c-1")
    assert output.is_error and output.agent_id == "kitchen"
    handoff = context.add_handoff("cook", from_agent="waiter", reason="hungry guest")
    update = context.add_config_update(instructions="Cook.", tools=["fry"], agent_id="cook")
    assert (handoff.to_agent, handoff.from_agent, handoff.reason) == ("cook", "waiter", "hungry guest")
    assert (update.instructions, update.tools, update.agent_id) == ("Cook.", ["fry"], "cook")
    assert context.items[-3:] == [output, handoff, update]


def test_items_are_inserted_where_their_times_put_them() -> None:
    context = ChatContext([at(10.0, "ten"), at(30.0, "thirty")])
    assert words(context.insert(at(20.0, "twenty"))) == "twenty"
    context.insert_many([at(40.0, "forty"), at(10.0, "also ten")])
    assert told(context) == ["ten", "also ten", "twenty", "thirty", "forty"]


# Copies and forks


def test_a_copy_can_exclude_instructions_empty_messages_handoffs_and_updates() -> None:
    context = talk(0)
    context.add_message(ChatRole.DEVELOPER, "Weigh the leaves.")
    for content in ("", [" ", ""], ["cup", " "], [ImageContent(image="https://tea.example/cup.png")]):
        context.add_message(ChatRole.USER, content)
    assert told(context.copy(exclude_system_messages=True))[0] == "Weigh the leaves."
    assert told(context.copy(exclude_instructions=True, exclude_empty_messages=True)) == ["cup  ", ""]
    context.add_handoff("cook")
    context.add_config_update(tools=["fry"])
    assert AgentHandoff not in kinds(context.copy(exclude_handoffs=True))
    assert AgentConfigUpdate not in kinds(context.copy(exclude_config_updates=True))
    assert context.copy().items == context.items


def test_a_copy_keeps_the_items_of_an_agent_and_calls_of_all_no_or_given_tools() -> None:
    def fry() -> None: ...

    context = talk(1)
    context.add_function_call("fry", "{}", call_id="f-1")
    context.add_function_output("fry", "done", call_id="f-1")
    assert calls(context.copy(tools=None)) == outputs(context.copy(tools=None)) == ["c0", "f-1"]
    assert calls(context.copy(tools=[])) == outputs(context.copy(tools=[])) == []
    assert calls(context.copy(tools=[fry])) == outputs(context.copy(tools=[fry])) == ["f-1"]
    own = context.copy(filter_agent_id="b")
    assert told(own) == [RULE, "yes, 0"] and outputs(own) == ["c0"] and calls(own) == []


def test_a_fork_is_complete_and_independent() -> None:
    context = talk(1)
    child = context.fork()
    assert child.items == context.items
    child.add_message(ChatRole.USER, "in the child")
    context.add_message(ChatRole.USER, "in the parent")
    assert told(child)[-1] == "in the child" and told(context)[-1] == "in the parent"
    assert len(child.items) == len(context.items) == 6


def test_a_filtered_fork_has_all_instructions_and_the_recent_turns() -> None:
    context = talk(5)
    context.add_message(ChatRole.DEVELOPER, "Weigh the leaves.")
    fork = context.fork_filtered(recent_turns=2)
    assert told(fork) == [RULE, "Weigh the leaves.", "lamp 3?", "yes, 3", "lamp 4?", "yes, 4"]
    assert calls(fork) == outputs(fork) == ["c3", "c4"]
    assert context.fork_filtered().turn_count() == 3
    assert context.fork_filtered(recent_turns=9, tools=[]).turn_count() == 5
    assert calls(context.fork_filtered(tools=[])) == []
    fork.add_message(ChatRole.USER, "in the child")
    assert len(context.items) == 22
    with pytest.raises(ValueError, match="recent_turns"):
        context.fork_filtered(recent_turns=0)


def test_a_brief_fork_has_instructions_a_task_and_no_history() -> None:
    fork = talk(5).fork_brief("Bake.", "A cake for six.", agent_id="cook")
    assert [(m.role, words(m), m.agent_id) for m in fork.messages()] == [
        (ChatRole.SYSTEM, "Bake.", "cook"),
        (ChatRole.USER, "A cake for six.", "cook"),
    ]
    assert told(talk(5).fork_brief("Bake.")) == ["Bake."]
    with pytest.raises(ValueError, match="instructions"):
        talk(5).fork_brief("")


# Merging


async def test_merge_takes_all_items_once_and_in_the_order_of_time() -> None:
    context = ChatContext([at(1.0, "one"), at(4.0, "four")])
    child = context.fork()
    child.insert_many([at(2.0, "two"), at(3.0, "three"), at(5.0, "five")])
    assert await context.merge(child) is context
    await context.merge(child)
    assert told(context) == ["one", "two", "three", "four", "five"]


# Shrinking


def test_truncation_removes_the_oldest_items_down_to_a_number() -> None:
    context = talk(5)
    assert context.truncate() is context and len(context.items) == 21
    assert context.truncate(max_items=9) is context
    assert told(context) == [RULE, "lamp 3?", "yes, 3", "lamp 4?", "yes, 4"]


@pytest.mark.parametrize(("max_items", "max_tokens"), [(9, 10_000), (40, 70), (9, 70), (3, 70)])
def test_truncation_satisfies_both_limits_and_splits_no_pair(max_items: int, max_tokens: int) -> None:
    context = talk(8).truncate(max_items=max_items, max_tokens=max_tokens)
    assert len(context.items) <= max_items and context.estimated_tokens() <= max_tokens
    assert calls(context) == outputs(context) and words(context.messages()[0]) == RULE


async def test_summarize_replaces_old_turns_by_one_summary_after_the_instructions() -> None:
    context, model = talk(5), Streaming()
    assert await context.summarize(model, keep_recent_turns=2) is context
    assert told(context)[:3] == [RULE, "[Conversation Summary]\nTHE GIST", "lamp 3?"]
    summary = context.messages()[1]
    assert summary.role == ChatRole.ASSISTANT and summary.extra["summary"] is True
    assert context.turn_count() == 2 and calls(context) == outputs(context) == ["c3", "c4"]
    assert "lamp 2?" in model.asked[0] and "lamp 3?" not in model.asked[0]


async def test_summarize_keeps_three_turns_by_default_and_does_nothing_with_fewer() -> None:
    context, short, model = talk(5), talk(3), Streaming()
    await context.summarize(model)
    await short.summarize(model)
    assert context.turn_count() == 3 and len(short.items) == 13 and len(model.asked) == 1


async def test_summarize_keeps_structural_items() -> None:
    context = talk(1)
    context.add_handoff("cook")
    context.add_config_update(tools=["fry"])
    context.add_message(ChatRole.DEVELOPER, "Weigh the leaves.")
    for n in range(3):
        context.add_message(ChatRole.USER, f"more {n}")
    await context.summarize(Streaming(), keep_recent_turns=1)
    assert {AgentHandoff, AgentConfigUpdate} <= kinds(context)
    assert {RULE, "Weigh the leaves.", "more 2"} < set(told(context)) and len(context.items) == 6


# Provider formats


def test_openai_messages_have_instructions_calls_and_tool_results() -> None:
    system, user, call, result, answer = talk(1).to_openai_messages()
    assert system == {"role": "system", "content": RULE} and user == {"role": "user", "content": "lamp 0?"}
    assert call["role"] == "assistant" and call["tool_calls"][0]["id"] == "c0"
    assert call["tool_calls"][0]["function"]["name"] == "stock"
    assert result == {"role": "tool", "tool_call_id": "c0", "content": "0 left"}
    assert answer == {"role": "assistant", "content": "yes, 0"}
    assert talk(1).to_openai_messages(reasoning_model=True)[0] == {"role": "developer", "content": RULE}


def test_anthropic_messages_have_cache_marks_only_with_caching() -> None:
    context = talk(5)
    assert 1 <= json.dumps(context.to_anthropic_messages(caching=True)).count("cache_control") <= 4
    assert "cache_control" not in json.dumps(context.to_anthropic_messages())


async def test_google_contents_are_of_user_and_model() -> None:
    context = talk(1)
    context.add_message(ChatRole.USER, "another")
    contents, system = await context.to_google_contents()
    assert (
        system == RULE and " ".join(content["role"] for content in contents) == "user model user model user"
    )
    assert contents[1]["parts"][0]["functionCall"]["name"] == "stock"


async def test_the_last_instructions_in_force_go_to_every_provider() -> None:
    context = talk(1)
    context.add_config_update(instructions="Serve cake.")
    context.add_message(ChatRole.USER, "cake")
    system = [m["content"] for m in context.to_openai_messages() if m["role"] == "system"]
    assert system == ["Serve cake."] and context.to_anthropic_messages()[1] == "Serve cake."
    assert (await context.to_google_contents())[1] == "Serve cake."


# Serialization


def test_cleanup_removes_everything() -> None:
    context = talk(5)
    context.cleanup()
    assert context.items == [] and context.turn_count() == 0
