"""The event bus: who handles what, what becomes of errors, and what can be asked for."""

import asyncio
import logging

import pytest

from quire.bridges.loom import EventBus, Task, TaskStatus
from quire.errors import InvalidLimit, WrongType
from tests.bridges.loom.tasks import contents, said, thought
from tests.bridges.pygents.writing import in_a_loop


@in_a_loop
async def test_what_nobody_handles_is_news_and_has_not_failed() -> None:
    bus = EventBus()
    task = await bus.publish(said("hello"))
    assert task.status == TaskStatus.PENDING and task.error is None
    assert contents(bus.query_recent()) == ["hello"]


@in_a_loop
async def test_all_handlers_run_in_order_and_the_task_has_the_result() -> None:
    bus, ran = EventBus(), list[str]()

    async def first(task: Task) -> str:
        ran.append("first")
        return "one"

    def second(task: Task) -> None:
        ran.append("second")

    bus.register_handler("execute", first)
    bus.register_handler("execute", second)
    task = await bus.publish(said("count"))
    assert ran == ["first", "second"]
    assert (task.status, task.result, task.error) == (TaskStatus.COMPLETED, "one", None)
    assert bus.query_by_task(task.task_id)[0].result == "one"


@in_a_loop
async def test_a_handler_may_give_the_task_back() -> None:
    async def done(task: Task) -> Task:
        task.result = {"lamps": 4}
        return task

    bus = EventBus()
    bus.register_handler("execute", done)
    assert (await bus.publish(said("count"))).result == {"lamps": 4}


@in_a_loop
async def test_an_error_is_told_by_the_task_and_the_others_run_all_the_same() -> None:
    bus, ran = EventBus(), list[str]()

    async def fails(task: Task) -> None:
        raise RuntimeError("no lamps")

    bus.register_handler("execute", fails)
    bus.register_handler("execute", lambda task: ran.append("other"))
    task = await bus.publish(said("count"))
    assert task.status == TaskStatus.FAILED and task.error == "RuntimeError: no lamps" and ran == ["other"]
    assert bus.query_by_task(task.task_id)[0].status == TaskStatus.FAILED


@in_a_loop
async def test_without_waiting_it_is_done_beside() -> None:
    bus, go = EventBus(), asyncio.Event()

    async def slow(task: Task) -> str:
        await go.wait()
        return "done"

    bus.register_handler("execute", slow)
    task = await bus.publish(said("count"), wait_result=False)
    assert str(task.status) == "running" and task.result is None
    go.set()
    await bus.join()
    assert task.status == TaskStatus.COMPLETED and task.result == "done"


@in_a_loop
async def test_who_is_cancelled_leaves_a_task_that_says_so() -> None:
    async def endless(task: Task) -> None:
        await asyncio.Event().wait()

    bus, task = EventBus(), said("count")
    bus.register_handler("execute", endless)
    publishing = asyncio.create_task(bus.publish(task))
    await asyncio.sleep(0)
    publishing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await publishing
    assert task.status == bus.query_by_task(task.task_id)[0].status == TaskStatus.CANCELLED


@in_a_loop
async def test_errors_beside_are_logged_without_what_they_say(caplog: pytest.LogCaptureFixture) -> None:
    async def fails(task: Task) -> None:
        raise RuntimeError("a secret")

    bus = EventBus()
    bus.register_handler("execute", fails)
    with caplog.at_level(logging.WARNING):
        task = await bus.publish(said("count"), wait_result=False)
        await bus.join()
    assert task.status == TaskStatus.FAILED and "RuntimeError" in caplog.text and "secret" not in caplog.text


@in_a_loop
async def test_a_handler_can_be_taken_away() -> None:
    bus, ran = EventBus(), list[Task]()
    bus.register_handler("execute", ran.append)
    bus.unregister_handler("execute", ran.append)
    await bus.publish(said("count"))
    assert ran == []


@in_a_loop
async def test_events_are_found_by_node_action_and_task() -> None:
    bus = EventBus()
    whole = await bus.publish(said("whole", source_agent="lead"))
    part = await bus.publish(said("part", parent_task_id=whole.task_id))
    mine = await bus.publish(Task(action="node.thinking", parameters={"content": "hm", "node_id": "n1"}))
    told = await bus.publish(thought("so", parent_task_id=part.task_id))
    assert contents(bus.query_by_task(whole.task_id)) == ["whole", "part"]
    assert bus.query_by_task(part.task_id) == [part, told]
    assert bus.query_by_node("n1") == [mine] and bus.query_by_node("lead") == [whole]
    assert bus.query_by_node("n1", action_filter="execute") == []
    assert bus.query_by_action("node.thinking") == [mine, told]
    assert bus.query_by_action("node.thinking", limit=1) == [told]
    assert bus.query_by_action("node.thinking", node_filter="n1") == [mine]


@in_a_loop
async def test_thoughts_are_given_in_words() -> None:
    bus = EventBus()
    for number, node in enumerate(("n1", "n2", "n1")):
        await bus.publish(
            Task(
                action="node.thinking",
                parameters={"content": f"thought {number}", "node_id": node, "parent_task_id": "t"},
            )
        )
    assert bus.query_thinking_process() == ["thought 0", "thought 1", "thought 2"]
    assert bus.query_thinking_process(node_id="n1") == ["thought 0", "thought 2"]
    assert bus.query_thinking_process(task_id="t", limit=1) == ["thought 2"]
    assert bus.query_thinking_process(node_id="n2", task_id="t") == ["thought 1"]


@in_a_loop
async def test_recent_gives_as_many_as_asked_whatever_the_filter() -> None:
    bus = EventBus()
    for number in range(6):
        await bus.publish(said(f"s{number}") if number % 2 else thought(f"t{number}"))
    assert contents(bus.query_recent(2, action_filter="execute")) == ["s3", "s5"]


@in_a_loop
async def test_a_task_that_is_published_again_is_there_once() -> None:
    bus, task = EventBus(), said("count")
    await bus.publish(task)
    task.result = 4
    await bus.publish(task)
    assert [one.result for one in bus.query_by_task(task.task_id)] == [4]


@in_a_loop
async def test_the_history_is_bounded() -> None:
    bus = EventBus(max_history=3)
    for number in range(5):
        await bus.publish(said(f"s{number}"))
    assert contents(bus.query_recent(10)) == ["s2", "s3", "s4"]


@in_a_loop
async def test_what_is_no_task_and_no_limit_is_refused() -> None:
    with pytest.raises(WrongType):
        await EventBus().publish({"action": "execute"})  # type: ignore[arg-type]  # pyright: ignore
    with pytest.raises(InvalidLimit):
        EventBus().query_recent(0)
