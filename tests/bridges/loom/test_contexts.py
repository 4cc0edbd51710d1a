"""Contexts built for tasks, the counters they are measured by, and the tools that query them."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.bridges.loom import (
    ContextToolExecutor,
    EstimateCounter,
    EventBus,
    EventBusContextSource,
    LoomMemory,
    MemoryContextSource,
    MessageConverter,
    Task,
    TaskContextManager,
    TiktokenCounter,
    TokenCounter,
    create_all_context_tools,
)
from quire.errors import InvalidValue
from tests.bridges.loom.test_memory import job, knowledge_of, memory_of
from tests.bridges.loom.test_tasks import letter, thought


def over(memory: LoomMemory, **options: Any) -> TaskContextManager:
    return TaskContextManager(TokenCounter(), [MemoryContextSource(memory)], **options)


async def words(manager: TaskContextManager, task: Task | None = None) -> list[str]:
    return [message["content"] for message in await manager.build_context(task or job("now"))]


# Counters


class Letterwise:
    def count_messages(self, messages: Sequence[Mapping[str, Any]]) -> int:
        return sum(len(message["content"]) for message in messages)


@pytest.mark.parametrize(
    "counter", [Letterwise(), EstimateCounter(1.0), TiktokenCounter(), TokenCounter("claude-sonnet-4-5")]
)
async def test_a_context_is_within_the_budget_by_any_counter(counter: Any) -> None:
    memory = memory_of(*(job(str(n) * 10) for n in range(10)))
    manager = TaskContextManager(counter, [MemoryContextSource(memory)], max_tokens=58)
    messages = await manager.build_context(job("now"))
    assert counter.count_messages(messages) <= 58 and manager.token_counter is counter
    assert [message["content"] for message in messages][-2:] == ["9" * 10, "now"]


# Contexts


async def test_a_context_is_prompt_memory_knowledge_events_messages_and_task() -> None:
    bus, current = EventBus(), job("why stripes?", task_id="t", target_agent="gunner")
    for event in (letter("hello"), thought("hm", parent_task_id="t"), thought("unrelated"), current):
        await bus.publish(event)
    manager = TaskContextManager(
        sources=[MemoryContextSource(memory_of(job("before"), current)), EventBusContextSource(bus)],
        system_prompt="You see stripes.",
        knowledge_base=await knowledge_of(zoo="zebras are striped"),
    )
    assert await manager.build_context(current) == [
        {"role": "system", "content": "You see stripes."},
        {"role": "user", "content": "before"},
        {"role": "system", "content": '<knowledge source="plan">\nzebras are striped\n</knowledge>'},
        {"role": "assistant", "content": "hm"},
        {"role": "user", "content": "[Direct message from cook] hello"},
        {"role": "user", "content": "why stripes?"},
    ]


async def test_a_converter_of_your_own_is_used_and_attributes_can_be_changed() -> None:
    class Loud(MessageConverter):
        def convert_task_to_message(self, task: Task) -> Any:
            return {"role": "user", "content": task.content.upper()}

    memory = memory_of(job("before"), Task(action="node.planning", parameters={"content": "plan"}))
    manager = over(memory, max_tokens=100)
    assert await words(manager) == ["before", "now"]
    manager.converter, manager.system_prompt = Loud(), "Be brief."
    assert await words(manager) == ["Be brief.", "BEFORE", "PLAN", "NOW"]


@given(
    st.lists(st.tuples(st.booleans(), st.integers(1, 200)), max_size=12), st.integers(40, 900), st.booleans()
)
def test_the_budget_holds_and_as_many_of_the_newest_as_fit_are_kept(
    sizes: list[tuple[bool, int]], most: int, prompted: bool
) -> None:
    told = [f"m{n} " + "word " * size for n, (_, size) in enumerate(sizes)]
    tasks = [job(one) if is_user else thought(one) for one, (is_user, _) in zip(told, sizes, strict=True)]
    manager = over(memory_of(*tasks), max_tokens=most, system_prompt="Be brief." if prompted else "")
    messages = asyncio.run(manager.build_context(job("now")))
    assert TokenCounter().count_messages(messages) <= most
    past = [message["content"] for message in messages][prompted:-1]
    assert past == told[len(told) - len(past) :] and messages[-1]["content"] == "now"
    if len(past) < len(told):
        another = {"role": "user", "content": told[-len(past) - 1]}
        assert TokenCounter().count_messages([another, *messages]) > most


async def test_a_source_of_your_own_is_part_of_the_past_and_a_task_of_two_sources_is_told_once() -> None:
    class Mine:
        async def get_context(self, current_task: Task, max_items: int = 10) -> list[Task]:
            return [shared, Task(action="node.tool_result", parameters={"result": "x"})]

    shared = job("from elsewhere")
    source = MemoryContextSource(memory_of(shared))
    assert await words(TaskContextManager(sources=[Mine(), source])) == ["from elsewhere", "now"]


async def test_knowledge_is_asked_with_the_content_of_the_task_and_left_out_where_it_fails() -> None:
    asked: list[tuple[str, int]] = []

    class Base:
        async def query(self, query: str, limit: int = 5) -> list[Any]:
            if asked:
                raise RuntimeError("down")
            asked.append((query, limit))
            return [SimpleNamespace(content="four", source=""), SimpleNamespace(content="two", source="log")]

    manager = TaskContextManager(knowledge_base=Base())
    known = ["<knowledge>\nfour\n</knowledge>", '<knowledge source="log">\ntwo\n</knowledge>']
    assert await words(manager, job("how many lamps?")) == [*known, "how many lamps?"]
    assert asked == [("how many lamps?", 3)] and await words(manager) == ["now"]


# Query tools

TOOLS = {tool["function"]["name"]: tool["function"] for tool in create_all_context_tools()}


@pytest.mark.parametrize("layer", ["L1", "L2", "L3", "L4"])
async def test_a_query_of_the_memory_is_answered_by_layer_in_tasks_or_statements(layer: str) -> None:
    tasks = [job("dust", 0.9, session_id="s", result="clean"), job("sweep", 0.8, session_id="s")]
    memory, name = memory_of(*tasks), f"query_{layer.lower()}_memory"
    executor = ContextToolExecutor(memory, EventBus())
    arguments = dict.fromkeys(TOOLS[name]["parameters"]["required"], "dust")
    answer = await executor.execute(name, arguments | {"limit": 1})
    assert (answer["layer"], answer["count"]) == (layer, 1) and json.loads(json.dumps(answer)) == answer
    (found,) = answer["tasks" if layer == "L1" else "statements"]
    ids = found["task_ids"] if layer == "L3" else [found["task_id"]]
    assert set(ids) <= {task.task_id for task in tasks}
    assert layer == "L1" or "dust" in found["statement"]
    assert layer in ("L1", "L3") or found["statement"] == "execute (pending): dust -> clean"
    assert (await executor.execute(name, arguments | {"session_id": "other"}))["count"] == 0
    elsewhere = await ContextToolExecutor(memory, session_id="other").execute(name, arguments)
    assert elsewhere["count"] == (layer == "L4"), "the fourth tier is of all sessions"


@pytest.mark.parametrize(
    ("name", "arguments", "found"),
    [
        ("query_events_by_action", {"action": "node.thinking"}, ["hm", "ah"]),
        ("query_events_by_action", {"action": "node.thinking", "node_filter": "maid"}, ["ah"]),
        ("query_events_by_node", {"node_id": "cook", "limit": 1}, ["tea at four"]),
        ("query_events_by_target", {"target_agent": "butler"}, ["tea at four"]),
        ("query_recent_events", {"limit": 2}, ["ah", "tea at four"]),
        ("query_thinking_process", {"task_id": "t"}, ["hm"]),
        ("query_thinking_process", {"node_id": "maid"}, ["ah"]),
    ],
)
async def test_events_are_found_by_the_tools(name: str, arguments: dict[str, Any], found: list[str]) -> None:
    bus = EventBus()
    for event in (thought("hm", parent_task_id="t"), thought("ah", source_agent="maid"), letter()):
        await bus.publish(event)
    answer = await ContextToolExecutor(LoomMemory("butler"), bus).execute(name, arguments)
    told = answer.get("thoughts") or [one["parameters"]["content"] for one in answer["events"]]
    assert told == found and answer["count"] == len(found) and json.loads(json.dumps(answer)) == answer
    with pytest.raises(InvalidValue, match="bus"):
        await ContextToolExecutor(LoomMemory("butler")).execute(name, arguments)
