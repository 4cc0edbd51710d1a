"""Several memories of one node: what one keeps the others have, in this process and in another."""

import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import given, strategies as st

from quire.bridges.loom import LoomMemory, Task
from quire.session import Session, remove_conversation
from quire.stores import MemoryStore, Store
from tests.bridges.loom.tasks import contents, said
from tests.bridges.pygents.writing import in_a_loop

_ELSEWHERE = """
import sys
from quire.bridges.loom import LoomMemory, Task
memory = LoomMemory("keeper", store=sys.argv[1])
told = {"content": "The key is under the heliotrope"}
memory.add_task(Task(task_id="b", parameters=told, session_id="mon"))
task = memory.get_task("a")
task.result = "done elsewhere"
memory.add_task(task)
"""


def both(task: Task) -> tuple[str, object]:
    return task.task_id, task.result


@in_a_loop
async def test_what_one_keeps_and_changes_the_other_has() -> None:
    store = MemoryStore()
    one, two = LoomMemory("keeper", store=store), LoomMemory("keeper", store=store)
    one.add_task(said("Water the fern", task_id="a", session_id="mon"))
    assert contents(two.get_l1_tasks()) == ["Water the fern"]
    found = two.get_task("a")
    assert found is not None
    found.result = "watered"
    two.add_task(found)
    assert one.get_l1_tasks(session_id="mon") == one.get_l2_tasks() == [found] == [one.get_task("a")]
    assert await one.search_tasks("fern") == [found]


@in_a_loop
async def test_what_another_process_keeps_and_changes_is_seen(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'loom.db'}"
    memory = LoomMemory("keeper", store=url)
    memory.add_task(said("Water the fern", task_id="a", session_id="mon"))
    assert contents(memory.get_l1_tasks()) == ["Water the fern"]
    subprocess.run([sys.executable, "-c", _ELSEWHERE, url], check=True)
    assert [*map(both, memory.get_l1_tasks(10, "mon"))] == [("a", "done elsewhere"), ("b", None)]
    assert [task.task_id for task in await memory.search_tasks("Where is the key?", limit=1)] == ["b"]
    task = memory.get_task("a")
    assert task is not None and task.result == "done elsewhere"
    task.result = "done here"
    memory.add_task(task)
    assert [*map(both, memory.get_l1_tasks(10, "mon"))] == [("a", "done here"), ("b", None)]


def test_a_task_that_another_moved_to_a_session_is_there_alone() -> None:
    store = MemoryStore()
    one, two = LoomMemory("keeper", store=store), LoomMemory("keeper", store=store)
    one.add_task(said("count", task_id="a", session_id="mon"))
    two.add_task(said("count", task_id="a", session_id="tue"))
    assert one.get_l1_tasks(session_id="mon") == []
    assert len(one.get_l1_tasks(session_id="tue")) == len(one.get_l1_tasks()) == 1


def test_a_session_that_was_taken_away_and_begun_again(tmp_path: Path) -> None:
    with Store.open(tmp_path / "loom.db") as store:
        memory = LoomMemory("keeper", store=store)
        for name in ("a", "b"):
            memory.add_task(said(f"old {name}", task_id=name, session_id="mon"))
        assert len(memory.get_l1_tasks()) == 2
        remove_conversation(store, Session.open("keeper/mon", store=store).place)
        assert memory.get_l1_tasks() == [] and memory.get_task("a") is None
        memory.add_task(said("new a", task_id="a", session_id="mon"))
        assert contents(memory.get_l1_tasks()) == ["new a"] and memory.get_task("b") is None


def test_what_was_forgotten_may_be_kept_again() -> None:
    store = MemoryStore()
    LoomMemory("keeper", store=store).add_task(said("secret", task_id="a", session_id="mon"))
    Session.open("keeper/mon", store=store).forget("a")
    memory = LoomMemory("keeper", store=store)
    memory.add_task(said("harmless", task_id="a", session_id="mon"))
    assert contents(memory.get_l1_tasks()) == ["harmless"]


def test_threads_that_keep_the_same_task_at_once_leave_one() -> None:
    store = MemoryStore()
    memories = [LoomMemory("keeper", store=store) for _ in range(4)]

    def work(memory: LoomMemory) -> None:
        for number in range(10):
            memory.add_task(said(f"count {number}", task_id="a", session_id="mon"))

    threads = [Thread(target=work, args=(memory,)) for memory in memories]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = [memory.get_l1_tasks() for memory in memories]
    assert all(len(tasks) == 1 and tasks == found[0] for tasks in found)
    assert [memory.get_task("a") for memory in memories] == [tasks[0] for tasks in found]


@pytest.mark.parametrize("tier", ["recent", "working"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_task_that_changes_while_somebody_looks_is_there(
    tier: str, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another changes it before or after leaves are fetched, and all in the process know of it at once."""
    memory = LoomMemory("keeper")
    memory.add_task(said("Water the fern", task_id="a", session_id="mon", metadata={"importance": 0.9}))
    fetch = getattr(memory._memory, tier)  # pyright: ignore[reportPrivateUsage]
    steps = ["step 1", "step 2", "step 3"]

    def change() -> None:
        task = memory.get_task("a")
        assert task is not None
        task.result = steps.pop()
        memory.add_task(task)
        assert memory.get_task("a") == task  # who looks has taken it in, for all of them

    def changing(*given: object) -> object:
        if when == "before" and steps:
            change()
        found = fetch(*given)
        if when == "after" and steps:
            change()
        return found

    monkeypatch.setattr(memory._memory, tier, changing)  # pyright: ignore[reportPrivateUsage]
    look = memory.get_l1_tasks if tier == "recent" else memory.get_l2_tasks
    assert [task.result for task in look(10, "mon")] == ["step 1"]


STEPS = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from("abc"), st.sampled_from(["mon", "tue"])), max_size=12
)


@pytest.mark.laws
@given(STEPS)
def test_all_have_the_same_after_whatever_each_does(steps: list[tuple[int, str, str]]) -> None:
    """Three memories, one of them made anew for each step, against a dictionary."""
    store, known = MemoryStore(), dict[str, tuple[str, str]]()
    one, two = LoomMemory("keeper", store=store), LoomMemory("keeper", store=store)
    for number, (who, task_id, session) in enumerate(steps):
        memory = (one, two, LoomMemory("keeper", store=store))[who]
        memory.add_task(said(f"step {number}", task_id=task_id, session_id=session))
        known[task_id] = session, f"step {number}"
        for reader in (one, two, LoomMemory("keeper", store=store)):
            for each in ("mon", "tue"):
                there = {task.task_id: contents([task])[0] for task in reader.get_l1_tasks(50, each)}
                assert there == {name: words for name, (where, words) in known.items() if where == each}
