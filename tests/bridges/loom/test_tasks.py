"""Tasks, messages made of them, and the bus."""

import asyncio
from collections.abc import Iterable
from functools import partial
from typing import Any

import pytest

from quire.bridges.loom import EventBus, MessageConverter, Task, TaskStatus
from quire.items import use_clock


def thought(content: str, **fields: Any) -> Task:
    return Task(action="node.thinking", parameters={"content": content}, **fields)


def letter(content: str = "tea at four", session_id: str | None = None, **parameters: Any) -> Task:
    return Task(
        action="node.message",
        source_agent="cook",
        target_agent="butler",
        parameters={"content": content, **parameters},
        session_id=session_id,
    )


def contents(tasks: Iterable[Task]) -> list[str]:
    return [task.parameters["content"] for task in tasks]


@pytest.mark.parametrize(
    ("action", "parameters", "role", "content"),
    [
        ("node.thinking", {"content": "salt?"}, "assistant", "salt?"),
        ("node.tool_result", {"result": "3 g"}, None, None),
        ("node.tool_call", {"tool_name": "count", "tool_args": {"n": 2, "in": "hall"}}, "assistant",
         "[Calling count(n=2, in='hall')]"),
        ("node.message", {"content": "hello"}, "user", "[Direct message] hello"),
        ("node.delegation_request", {"subtask": "dust"}, "user", "[Delegation request] dust"),
        ("node.delegation_request", {"content": "dust"}, "user", "[Delegation request] dust"),
        ("node.delegation_response", {"result": "clean"}, "user", "[Delegation response] clean"),
        ("execute", {"content": " "}, None, None),
    ],
)  # fmt: skip
def test_tasks_become_messages(action: str, parameters: dict[str, Any], role: str, content: str) -> None:
    messages = MessageConverter().convert_tasks_to_messages([Task(action=action, parameters=parameters)])
    assert messages == ([] if role is None else [{"role": role, "content": content}])


# The bus


async def test_all_functions_for_an_action_run_and_the_task_has_the_last_result_and_an_error() -> None:
    bus = EventBus()

    async def dusts(task: Task) -> str:
        return "dusted"

    def fails(task: Task) -> None:
        raise LookupError("no duster")

    bus.register_handler("execute", lambda task: "first")
    bus.register_handler("execute", dusts)
    task = await bus.publish(Task())
    assert (task.status, task.result) == (TaskStatus.COMPLETED, "dusted")
    bus.register_handler("sweep", fails)
    bus.register_handler("sweep", lambda task: "done")
    task = await bus.publish(Task(action="sweep"))
    assert (task.status, task.error, task.result) == (TaskStatus.FAILED, "LookupError: no duster", "done")


async def test_without_waiting_a_task_is_done_in_the_background() -> None:
    bus, gate = EventBus(), asyncio.Event()

    async def waits(task: Task) -> str:
        await gate.wait()
        return "done"

    bus.register_handler("execute", waits)
    task = await bus.publish(Task(), wait_result=False)
    begun = task.status
    gate.set()
    await bus.join()
    assert (begun, task.status, task.result) == (TaskStatus.RUNNING, TaskStatus.COMPLETED, "done")


async def test_events_are_found_by_node_action_and_task() -> None:
    bus = EventBus()
    maid = Task(task_id="t", parameters={"content": "a", "node_id": "maid"})
    for task in (thought("b", source_agent="maid", parent_task_id="t"), maid):
        await bus.publish(task)
    assert contents(bus.query_by_node("maid")) == contents(bus.query_by_task("t")) == ["b", "a"]
    assert contents(bus.query_by_node("maid", "execute")) == ["a"]
    assert contents(bus.query_by_action("node.thinking", "maid")) == ["b"]


async def test_the_newest_events_are_kept_each_task_once() -> None:
    bus = EventBus(max_history=3)
    for n in range(4):
        await bus.publish(thought(str(n), task_id=str(n)))
    await bus.publish(thought("2 again", task_id="2", session_id="s"))
    assert contents(bus.query_recent()) == ["1", "3", "2 again"]
    assert contents(bus.query_recent(session_id="s")) == ["2 again"]


# Direct messages


async def test_direct_messages_come_by_priority_and_then_the_newest_first() -> None:
    bus = EventBus()
    for n, priority in enumerate((None, 0.9, 0.1, 0.5)):
        with use_clock(partial(float, 1_000 + n)):
            await bus.publish(letter(str(n), priority=priority))
    assert contents(bus.query_by_target("butler")) == ["1", "3", "0", "2"]
    assert contents(bus.query_by_target("butler", limit=2)) == ["1", "3"]
    assert bus.query_by_target() == bus.query_by_target("maid") == []


@pytest.mark.parametrize("action", ["node.message", "execute", "node.planning"])
async def test_a_lifetime_holds_for_every_task_with_a_target(action: str) -> None:
    bus = EventBus()
    with use_clock(lambda: 1_000.0):
        task = letter(ttl_seconds=60, target_node_id="pantry")
        task.action = action
        await bus.publish(task)
        assert bus.query_by_target("butler") == bus.query_by_target(target_node_id="pantry") == [task]
    with use_clock(lambda: 1_060.0):
        assert bus.query_by_target("butler") == bus.query_by_target(target_node_id="pantry") == []
