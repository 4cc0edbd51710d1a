"""Promises of Loom's page on context: sources, order, direct messages, budget, sessions and knowledge."""

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from quire.bridges.loom import (
    ContextToolExecutor,
    EventBus,
    EventBusContextSource,
    LoomMemory,
    MemoryContextSource,
    MessageConverter,
    Task,
    TaskContextManager,
)
from quire.errors import OverBudget
from tests.bridges.loom.test_contexts import over
from tests.bridges.loom.test_memory import job, knowledge_of, memory_of
from tests.bridges.loom.test_tasks import contents, letter, thought


def texts(messages: Iterable[Mapping[str, Any]]) -> list[str]:
    return [message["content"] for message in messages]


async def bus_with(*tasks: Task) -> EventBus:
    bus = EventBus()
    for task in tasks:
        await bus.publish(task)
    return bus


# Building a context


async def test_the_current_task_appears_once_and_last() -> None:
    current = job("boil water")
    memory = memory_of(job("peel onions"), current, thought("the pot is full"))
    messages = await over(memory).build_context(current)
    assert texts(messages) == ["peel onions", "the pot is full", "boil water"]


async def test_a_memory_source_gives_recent_and_important_tasks() -> None:
    important = job("the oven is broken", 0.95)
    chatter = [thought(f"chatter {n}", metadata={"importance": 0.1}) for n in range(12)]
    source = MemoryContextSource(memory=memory_of(important, *chatter))
    found = await source.get_context(job("now"), max_items=6)
    assert contents(found) == ["the oven is broken", "chatter 9", "chatter 10", "chatter 11"]


async def test_an_event_source_gives_thoughts_and_tool_calls_of_the_task() -> None:
    thinking = thought("flour is low", parent_task_id="t")
    call = Task(action="node.tool_call", parent_task_id="t", parameters={"tool_name": "weigh"})
    result = Task(action="node.tool_result", parent_task_id="t", parameters={"result": "12 kg"})
    bus = await bus_with(thinking, call, result, thought("unrelated"))
    manager = TaskContextManager(sources=[EventBusContextSource(event_bus=bus)])
    messages = await manager.build_context(job("bake bread", task_id="t"))
    assert texts(messages) == ["flour is low", "[Calling weigh(...)]", "bake bread"]


@pytest.mark.parametrize(
    ("action", "parameters", "message"),
    [
        ("node.thinking", {"content": "salt?"}, {"role": "assistant", "content": "salt?"}),
        ("execute", {"content": "add salt"}, {"role": "user", "content": "add salt"}),
        ("node.tool_call", {"tool_name": "weigh"}, {"role": "assistant", "content": "[Calling weigh(...)]"}),
        ("node.tool_result", {"result": "3 g"}, None),
    ],
)
def test_tasks_are_converted_by_their_action(action: str, parameters: dict[str, Any], message: Any) -> None:
    assert MessageConverter().convert_task_to_message(Task(action=action, parameters=parameters)) == message


# Direct messages


async def test_direct_messages_are_found_by_target_agent_and_target_node() -> None:
    bus = await bus_with(letter("to the cook"), letter("to the oven", target_node_id="oven"))
    assert set(contents(bus.query_by_target("butler"))) == {"to the cook", "to the oven"}
    assert contents(bus.query_by_target(target_node_id="oven")) == ["to the oven"]
    assert bus.query_by_target("gunner") == []


async def test_a_direct_message_can_be_traced_to_its_parent_task_and_keeps_its_metadata() -> None:
    bus = await bus_with(letter("fire!", parent_task_id="watch-4", metadata={"reason": "smoke"}))
    (found,) = bus.query_by_task("watch-4")
    assert found.parameters["metadata"] == {"reason": "smoke"}


async def test_direct_messages_are_part_of_the_context_of_their_target() -> None:
    bus = await bus_with(letter("later", priority=0.1), letter("first", priority=0.9))
    request = {"subtask": "between", "target_node_id": "butler"}
    await bus.publish(Task(action="node.delegation_request", source_agent="cook", parameters=request))
    memory = memory_of(job("peel onions"))
    manager = TaskContextManager(sources=[MemoryContextSource(memory), EventBusContextSource(bus)])
    first, *rest = texts(await manager.build_context(job("boil water")))
    assert first == "peel onions" and rest[-1] == "boil water"
    assert [text.rpartition(" ")[2] for text in rest[:-1]] == ["first", "between", "later"]


# Tokens


async def test_a_context_that_cannot_hold_the_task_is_an_error() -> None:
    with pytest.raises(OverBudget):
        await over(memory_of(), max_tokens=100).build_context(job("stir " * 500))


# Sessions


def voyages() -> LoomMemory:
    tasks = [job(f"{voyage} {n}", session_id=voyage) for voyage in ("north", "south") for n in range(3)]
    return memory_of(*tasks)


def test_the_first_three_tiers_can_be_limited_to_a_session() -> None:
    memory = voyages()
    assert contents(memory.get_l1_tasks(session_id="north")) == ["north 0", "north 1", "north 2"]
    assert {task.session_id for task in memory.get_l2_tasks(session_id="south")} == {"south"}
    assert {one.session_id for one in memory.get_l3_summaries(session_id="north")} == {"north"}
    assert len(memory.get_l1_tasks()) == len(memory.get_l2_tasks()) == 6


async def test_a_context_has_only_tasks_and_messages_of_its_session() -> None:
    bus = await bus_with(letter("sail north", session_id="north"), letter("sail south", session_id="south"))
    manager = TaskContextManager(sources=[MemoryContextSource(voyages()), EventBusContextSource(bus)])
    *past, message, _ = texts(await manager.build_context(job("now", session_id="north")))
    assert past == ["north 0", "north 1", "north 2"] and message.endswith("sail north")
    assert contents(bus.query_by_target("butler", session_id="north")) == ["sail north"]
    assert len(await manager.build_context(job("now"))) == 9, "without a session nothing is filtered"


async def test_the_fourth_tier_is_searched_across_sessions() -> None:
    executor = ContextToolExecutor(voyages(), session_id="north")
    found = await executor.execute("query_l4_memory", {"query": "north south", "limit": 10})
    assert {task["session_id"] for task in found["statements"]} == {"north", "south"}


async def test_query_tools_default_to_the_session_of_the_current_task() -> None:
    memory = voyages()
    executor = ContextToolExecutor(memory)
    await over(memory).build_context(job("now", session_id="south"))
    for tool in ("query_l1_memory", "query_l2_memory", "query_l3_memory"):
        found = await executor.execute(tool, {})
        assert found["count"] and "north" not in str(found)


# Knowledge


async def test_a_knowledge_base_finds_the_nearest_items_first() -> None:
    facts = await knowledge_of(harbour="the harbour is shallow", zoo="zebras puzzle zoos")
    found = await facts.query("shallow harbour", limit=2)
    assert found[0].id == "harbour" and found[0].relevance > found[-1].relevance >= 0
