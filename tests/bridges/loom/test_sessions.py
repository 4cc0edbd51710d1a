"""Sessions: the first three tiers, the bus and direct messages are of one; the fourth tier is of all."""

import asyncio

from quire.bridges.loom import (
    ContextToolExecutor,
    EventBus,
    EventBusContextSource,
    LoomMemory,
    MemoryContextSource,
    Task,
    TaskContextManager,
)
from tests.bridges.loom.tasks import contents, letter, said, words
from tests.bridges.pygents.writing import in_a_loop


def remembering() -> LoomMemory:
    memory = LoomMemory("agent-b")
    for session in ("red", "blue"):
        for number in range(3):
            memory.add_task(said(f"{session} job {number}", session_id=session))
    memory.add_task(said("job of nobody"))
    return memory


def test_tiers_are_of_one_session_where_one_is_named() -> None:
    memory = remembering()
    assert contents(memory.get_l1_tasks(session_id="red")) == [f"red job {n}" for n in range(3)]
    assert all(task.session_id == "blue" for task in memory.get_l2_tasks(session_id="blue"))
    assert [one.session_id for one in memory.get_l3_summaries(session_id="red")] == ["red"]
    assert not memory.get_l1_tasks(session_id="green") and not memory.get_l3_summaries(session_id="green")


def test_without_a_session_there_is_no_filter() -> None:
    memory = remembering()
    assert len(memory.get_l1_tasks()) == len(memory.get_l2_tasks()) == 7
    assert {one.session_id for one in memory.get_l3_summaries()} == {"red", "blue", None}


@in_a_loop
async def test_the_fourth_tier_is_of_all_sessions() -> None:
    found = await remembering().search_tasks("job", limit=10)
    assert {task.session_id for task in found} == {"red", "blue", None}


@in_a_loop
async def test_events_and_letters_are_of_one_session() -> None:
    bus = EventBus()
    for session in ("red", "blue"):
        await bus.publish(said(f"{session} news", session_id=session))
        direct = letter(f"{session} letter")
        direct.session_id = session
        await bus.publish(direct)
    assert contents(bus.query_recent(session_id="red")) == ["red news", "red letter"]
    assert contents(bus.query_by_action("execute", session_id="blue")) == ["blue news"]
    assert contents(bus.query_by_target("agent-b", session_id="red")) == ["red letter"]
    assert len(bus.query_by_target("agent-b")) == 2


@in_a_loop
async def test_a_context_is_of_the_session_of_its_task() -> None:
    memory, bus = remembering(), EventBus()
    for session in ("red", "blue"):
        direct = letter(f"{session} letter")
        direct.session_id = session
        await bus.publish(direct)
        thinking = Task(
            action="node.thinking", source_agent="agent-b", parameters={"content": f"{session} thought"}
        )
        thinking.session_id = session
        await bus.publish(thinking)
    context = TaskContextManager(sources=[MemoryContextSource(memory), EventBusContextSource(bus)])
    current = said("now", session_id="red", target_agent="agent-b")
    said_all = words(await context.build_context(current))
    assert said_all == [
        *(f"red job {n}" for n in range(3)),
        "red thought",
        "[Direct message from agent-a] red letter",
        "now",
    ]


@in_a_loop
async def test_tools_default_to_the_session_at_hand() -> None:
    memory, bus = remembering(), EventBus()
    await bus.publish(said("red news", session_id="red"))
    await bus.publish(said("blue news", session_id="blue"))
    executor = ContextToolExecutor(memory, bus)
    assert (await executor.execute("query_l1_memory"))["count"] == 7
    await TaskContextManager(sources=[MemoryContextSource(memory)]).build_context(said("x", session_id="red"))
    assert (await executor.execute("query_l1_memory"))["count"] == 3
    assert (await executor.execute("query_l2_memory"))["count"] == 3
    assert (await executor.execute("query_l3_memory"))["count"] == 1
    assert (await executor.execute("query_recent_events"))["count"] == 1
    assert (await executor.execute("query_l1_memory", {"session_id": "blue"}))["count"] == 3
    assert (await executor.execute("query_l1_memory", {"session_id": None}))["count"] == 7
    assert (await executor.execute("query_l4_memory", {"query": "job", "limit": 10}))["count"] == 7
    own = ContextToolExecutor(memory, bus, session_id="blue")
    assert (await own.execute("query_recent_events"))["events"][0]["content"] == "blue news"


@in_a_loop
async def test_agents_that_work_beside_each_other_have_their_own_session_at_hand() -> None:
    memory, both = remembering(), asyncio.Barrier(2)
    executor = ContextToolExecutor(memory)
    context = TaskContextManager(sources=[MemoryContextSource(memory)])

    async def work(session: str) -> list[str]:
        await context.build_context(said("x", session_id=session))
        await both.wait()  # both have begun by now
        answer = await executor.execute("query_l1_memory")
        return [task["parameters"]["content"] for task in answer["tasks"]]

    red, blue = await asyncio.gather(work("red"), work("blue"))
    assert red == [f"red job {n}" for n in range(3)] and blue == [f"blue job {n}" for n in range(3)]
