"""The four tiers: what is promoted, what gives way, and that a task is there once."""

from pathlib import Path

import pytest

from quire.bridges.loom import LoomMemory, Task
from quire.errors import InvalidLimit, InvalidValue, Unencodable, WrongType
from quire.session import Session
from quire.stores import MemoryStore
from tests.bridges.loom.tasks import contents, said, thought
from tests.bridges.pygents.writing import in_a_loop


def weighed(content: str, importance: float, **fields: object) -> Task:
    return said(content, metadata={"importance": importance}, **fields)


def test_the_first_tier_has_the_newest_the_oldest_first() -> None:
    memory = LoomMemory("agent")
    for number in range(12):
        memory.add_task(said(f"job {number}"))
    assert contents(memory.get_l1_tasks()) == [f"job {n}" for n in range(2, 12)]
    assert contents(memory.get_l1_tasks(limit=2)) == ["job 10", "job 11"]


def test_the_first_tier_is_bounded() -> None:
    memory = LoomMemory("agent", max_l1_size=3)
    for number in range(5):
        memory.add_task(said(f"job {number}"))
    assert contents(memory.get_l1_tasks(limit=50)) == ["job 2", "job 3", "job 4"]


def test_a_task_is_promoted_at_once_if_it_matters_more_than_the_threshold() -> None:
    memory = LoomMemory("agent")
    for importance in (0.6, 0.61, 0.9, 0.2):
        memory.add_task(weighed(f"at {importance}", importance))
    assert contents(memory.get_l2_tasks()) == ["at 0.9", "at 0.61"]
    eager = LoomMemory("agent", importance_threshold=0.1)
    eager.add_task(weighed("at 0.2", 0.2))
    assert contents(eager.get_l2_tasks()) == ["at 0.2"]


def test_where_nothing_is_said_the_action_tells_how_much_a_task_matters() -> None:
    memory = LoomMemory("agent")
    for action in (
        *("node.complete", "node.thinking", "node.message.seen", "execute", "node.tool_call"),
        *("node.tool_result", "node.planning", "node.error"),
    ):
        memory.add_task(Task(action=action, parameters={"content": action}))
    promoted = ["node.error", "node.planning", "node.tool_result", "node.tool_call", "execute"]
    assert [task.action for task in memory.get_l2_tasks()] == promoted


def test_the_second_tier_is_bounded_and_the_least_important_gives_way() -> None:
    memory = LoomMemory("agent", max_l2_size=2)
    for importance in (0.7, 0.9, 0.8):
        memory.add_task(weighed(f"at {importance}", importance))
    assert contents(memory.get_l2_tasks(limit=10)) == ["at 0.9", "at 0.8"]


def test_a_task_that_is_added_again_is_there_once_as_it_is_now() -> None:
    memory, task = LoomMemory("agent"), said("count the lamps")
    memory.add_task(task)
    memory.add_task(thought("there are two rooms"))
    task.result, task.metadata["importance"] = "four lamps", 0.7
    memory.add_task(task)
    assert contents(memory.get_l1_tasks()) == ["count the lamps", "there are two rooms"]
    (found,) = memory.get_l2_tasks()
    assert found == task == memory.get_task(task.task_id)


def test_many_changes_of_one_task_crowd_nothing_out() -> None:
    memory, first, task = LoomMemory("agent"), said("first"), said("count")
    memory.add_task(first)
    for number in range(40):
        task.result = number
        memory.add_task(task)
    assert contents(memory.get_l1_tasks(limit=5)) == ["first", "count"]
    assert contents(memory.get_l2_tasks(limit=5)) == ["count", "first"]
    assert memory.get_l1_tasks()[-1].result == 39


def test_a_task_that_matters_no_more_leaves_the_second_tier() -> None:
    memory, task = LoomMemory("agent"), weighed("count", 0.9)
    memory.add_task(task)
    task.metadata["importance"] = 0.1
    memory.add_task(task)
    assert memory.get_l2_tasks() == [] and memory.get_l1_tasks() == [task]


def test_a_task_that_changes_its_session_is_in_the_new_one_alone() -> None:
    store = MemoryStore()
    memory, task = LoomMemory("agent", store=store), said("count", session_id="two")
    memory.add_task(task)
    task.session_id = "one"
    memory.add_task(task)
    for found in (memory, LoomMemory("agent", store=store)):
        assert found.get_l1_tasks(session_id="two") == []
        assert found.get_l1_tasks(session_id="one") == found.get_l1_tasks() == [task]


def test_what_was_changed_after_it_was_added_is_kept_when_it_is_added_again() -> None:
    memory, task = LoomMemory("agent"), said("count")
    memory.add_task(task)
    task.parameters["content"] = "changed"
    assert contents(memory.get_l1_tasks()) == ["count"]


def test_the_third_tier_tells_in_short_what_was_done() -> None:
    memory = LoomMemory("agent")
    tasks = [said("Count the lamps in the hall"), thought("There are four lamps")]
    for task in tasks:
        memory.add_task(task)
    (summary,) = memory.get_l3_summaries()
    assert "Count the lamps" in summary.summary and summary.task_ids == tuple(t.task_id for t in tasks)


@in_a_loop
async def test_the_fourth_tier_finds_by_words_and_by_results() -> None:
    memory = LoomMemory("agent")
    for number in range(30):
        memory.add_task(said(f"sweep floor {number}", session_id=f"s{number % 3}"))
    job = said("count what hangs in the hall", session_id="s1")
    memory.add_task(job)
    job.result = "seven chandeliers"
    memory.add_task(job)
    assert (await memory.search_tasks("what hangs in the hall?", limit=1)) == [job]
    assert (await memory.search_tasks("chandeliers", limit=3))[0] == job
    outside = await memory.search_tasks("what hangs in the hall?", limit=3, session_id="s2")
    assert job not in outside and all(task.session_id == "s2" for task in outside)


@in_a_loop
async def test_what_the_engine_forgets_is_in_no_tier() -> None:
    store = MemoryStore()
    memory, task = LoomMemory("agent", store=store), said("count the chandeliers", session_id="s")
    memory.add_task(said("sweep", session_id="s"))
    memory.add_task(task)
    task.result = "seven"
    memory.add_task(task)
    session = Session.open(scope="agent", conversation="s", store=store)
    session.forget(*(item.id for item in session.view().recorded() if item.id.startswith(task.task_id)))
    assert contents(memory.get_l1_tasks()) == contents(memory.get_l2_tasks()) == ["sweep"]
    assert memory.get_task(task.task_id) is None
    assert task not in await memory.search_tasks("chandeliers seven")
    assert "chandeliers" not in str(memory.get_l3_summaries())


def test_nodes_do_not_see_each_other() -> None:
    store = MemoryStore()
    LoomMemory("one", store=store).add_task(said("mine"))
    assert LoomMemory("two", store=store).get_l1_tasks() == []


def test_what_was_kept_is_there_when_it_is_opened_again(tmp_path: Path) -> None:
    path, task = f"sqlite:///{tmp_path / 'loom.db'}", said("count", task_id="job/result", session_id="s")
    memory = LoomMemory("agent", store=path)
    memory.add_task(task)
    task.result = "four"
    memory.add_task(task)
    again = LoomMemory("agent", store=path)
    assert again.get_l1_tasks(session_id="s") == [task] == again.get_l2_tasks()
    task.result = "five"
    again.add_task(task)
    assert [one.result for one in again.get_l1_tasks()] == ["five"]
    assert again.get_task("nothing") is None


def test_what_no_memory_can_hold_is_refused() -> None:
    memory = LoomMemory("agent")
    with pytest.raises(WrongType):
        memory.add_task("count")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(Unencodable, match="result"):
        memory.add_task(said("x", result=object()))
    with pytest.raises(InvalidLimit):
        memory.get_l1_tasks(limit=0)
    with pytest.raises(InvalidValue, match="kept for documents"):
        memory.add_task(said("x", session_id="~knowledge"))
    assert memory.get_l1_tasks() == []


def test_a_summary_tells_of_tasks_as_they_are_now() -> None:
    memory = LoomMemory("node")
    for nth in range(3):
        task = Task(action="execute", parameters={"content": f"Deploy build {nth}"}, session_id="s")
        memory.add_task(task)
        task.parameters["content"] = f"Build {nth} is cancelled"
        memory.add_task(task)
    told = "\n".join(one.summary for one in memory.get_l3_summaries())
    assert told.count("is cancelled") == 3 and "Deploy" not in told
