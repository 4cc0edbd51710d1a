"""Promises of Loom's page on context: sources, order, direct messages, budget, sessions and knowledge."""

from collections.abc import Iterable, Mapping
from typing import Any

from quire.bridges.loom import (
    EventBus,
    EventBusContextSource,
    LoomMemory,
    MemoryContextSource,
    Task,
    TaskContextManager,
)
from tests.bridges.loom.test_memory import job, memory_of
from tests.bridges.loom.test_tasks import contents, letter, thought


def texts(messages: Iterable[Mapping[str, Any]]) -> list[str]:
    return [message["content"] for message in messages]


async def bus_with(*tasks: Task) -> EventBus:
    bus = EventBus()
    for task in tasks:
        await bus.publish(task)
    return bus


# Building a context


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


# Direct messages


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
