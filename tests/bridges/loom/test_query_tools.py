"""The query tools: each has a count, and a model can be told of each."""

import json

import pytest

from quire.bridges.loom import ContextToolExecutor, EventBus, LoomMemory, Task, create_all_context_tools
from quire.errors import QuireError
from tests.bridges.loom.tasks import letter, said
from tests.bridges.pygents.writing import in_a_loop

ASKED: dict[str, dict[str, object]] = {
    "query_l1_memory": {},
    "query_l2_memory": {},
    "query_l3_memory": {},
    "query_l4_memory": {"query": "lamps"},
    "query_events_by_action": {"action": "execute"},
    "query_events_by_node": {"node_id": "n"},
    "query_events_by_task": {"task_id": "t"},
    "query_events_by_target": {"target_agent": "agent-b"},
    "query_recent_events": {},
    "query_thinking_process": {"node_id": "n"},
}


async def executor() -> ContextToolExecutor:
    memory, bus = LoomMemory("agent"), EventBus()
    memory.add_task(said("count the lamps", result="x" * 1000))
    await bus.publish(said("count the lamps", source_agent="n", parent_task_id="t"))
    await bus.publish(letter("hello"))
    await bus.publish(Task(action="node.thinking", parameters={"content": "hm", "node_id": "n"}))
    return ContextToolExecutor(memory, bus)


@pytest.mark.parametrize("name", ASKED)
@in_a_loop
async def test_every_answer_has_a_count_and_can_be_written_as_json(name: str) -> None:
    answer = await (await executor()).execute(name, ASKED[name])
    (found,) = answer.keys() & {"tasks", "summaries", "events", "thoughts"}
    assert answer["count"] == len(answer[found]) >= 1
    json.dumps(answer)


def test_a_model_is_told_of_every_tool() -> None:
    tools = create_all_context_tools()
    assert {tool["function"]["name"] for tool in tools} == set(ASKED)
    for tool in tools:
        parameters = tool["function"]["parameters"]
        assert tool["type"] == "function" and tool["function"]["description"]
        asked = ASKED[tool["function"]["name"]]
        assert parameters["type"] == "object" and set(parameters["required"]) <= set(asked)
        assert set(asked) | {"limit", "session_id"} <= set(parameters["properties"])


@in_a_loop
async def test_an_unknown_tool_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="query_l1_memory"):
        await (await executor()).execute("query_everything", {})


@in_a_loop
async def test_limits_are_kept_and_checked() -> None:
    memory = LoomMemory("agent")
    for number in range(5):
        memory.add_task(said(f"job {number}"))
    tools = ContextToolExecutor(memory)
    assert (await tools.execute("query_l1_memory", {"limit": 2}))["count"] == 2
    for wrong in (0, -1, "two"):
        with pytest.raises(QuireError):
            await tools.execute("query_l1_memory", {"limit": wrong})


@in_a_loop
async def test_what_a_tool_needs_is_named() -> None:
    tools = await executor()
    for name, missing in (
        ("query_l4_memory", "query"),
        ("query_events_by_action", "action"),
        ("query_events_by_node", "node_id"),
        ("query_events_by_task", "task_id"),
        ("query_events_by_target", "target_agent"),
    ):
        with pytest.raises(QuireError, match=missing):
            await tools.execute(name, {})
    with pytest.raises(QuireError, match="event bus"):
        await ContextToolExecutor(LoomMemory("agent")).execute("query_recent_events")


@in_a_loop
async def test_the_second_tier_is_told_in_short() -> None:
    (task,) = (await (await executor()).execute("query_l2_memory"))["tasks"]
    assert task["importance"] == 0.65 and len(task["result"]) < 300


@pytest.mark.parametrize("limit", ["3", " 3 ", 3.0, 3])
@in_a_loop
async def test_a_limit_may_be_written_as_models_write_it(limit: object) -> None:
    memory = LoomMemory("agent")
    for number in range(5):
        memory.add_task(said(f"job {number}"))
    asked = ContextToolExecutor(memory)
    assert (await asked.execute("query_l1_memory", {"limit": limit}))["count"] == 3
    assert (await asked.execute("query_l1_memory", {"limit": None}))["count"] == 5
    for wrong in ("many", 2.5, True, "-1"):
        with pytest.raises(QuireError):
            await asked.execute("query_l1_memory", {"limit": wrong})
