"""The four tiers of memory, and knowledge."""

from pathlib import Path
from string import ascii_lowercase
from typing import Any

from quire.bridges.loom import InMemoryVectorStore, KnowledgeItem, LoomMemory, Task, VectorKnowledgeBase
from quire.items import use_clock
from tests.bridges.loom.test_tasks import contents, letter


def job(content: str, importance: float | None = None, **fields: Any) -> Task:
    metadata = {} if importance is None else {"importance": importance}
    return Task(parameters={"content": content}, metadata=metadata, **fields)


def memory_of(*tasks: Task, **options: Any) -> LoomMemory:
    memory = LoomMemory("butler", **options)
    for task in tasks:
        memory.add_task(task)
    return memory


def test_the_first_tier_has_the_newest_oldest_first() -> None:
    memory = memory_of(*(job(str(n)) for n in range(12)), max_l1_size=11)
    assert contents(memory.get_l1_tasks()) == [str(n) for n in range(2, 12)]
    assert contents(memory.get_l1_tasks(limit=2)) == ["10", "11"]
    assert len(memory.get_l1_tasks(limit=50)) == 11


def test_the_second_tier_has_what_is_above_the_threshold_the_most_important_first() -> None:
    tasks = [job(f"at {weight}", weight) for weight in (0.6, 0.61, 0.9, 0.2, 0.7)]
    assert contents(memory_of(*tasks).get_l2_tasks()) == ["at 0.9", "at 0.7", "at 0.61"]
    assert contents(memory_of(*tasks, max_l2_size=2).get_l2_tasks(50)) == ["at 0.9", "at 0.7"]
    assert len(memory_of(*tasks, importance_threshold=0.1).get_l2_tasks()) == 5


def test_without_an_importance_the_action_says_how_much_a_task_matters() -> None:
    told = ["node.thinking", "execute", "node.tool_call", "node.tool_result", "node.planning", "node.error"]
    memory = memory_of(*(Task(action=one, parameters={"content": one}) for one in (*told, "other")))
    assert [task.action for task in memory.get_l2_tasks()] == told[:0:-1]


async def test_a_task_that_is_added_again_is_there_once_as_it_is_now() -> None:
    task = job("count the lamps")
    memory = memory_of(task, job("two rooms"))
    for result in ("three chandeliers", "four lanterns"):
        task.result, task.metadata["importance"] = result, 0.7
        memory.add_task(task)
    assert contents(memory.get_l1_tasks()) == ["count the lamps", "two rooms"]
    assert memory.get_l2_tasks()[0] == task == memory.get_task(task.task_id)
    assert (await memory.search_tasks("lanterns"))[0] == task
    assert memory.get_task("nothing") is None
    task.metadata["importance"] = 0.1
    memory.add_task(task)
    assert task not in memory.get_l2_tasks()


def test_the_third_tier_says_in_short_what_was_done() -> None:
    tasks = [job("Count the lamps in the hall"), job("There are four lamps")]
    (summary,) = memory_of(*tasks).get_l3_summaries()
    assert "Count the lamps" in summary.summary
    assert summary.task_ids == tuple(task.task_id for task in tasks)


def test_an_expired_message_is_in_no_tier() -> None:
    with use_clock(lambda: 1_000.0):
        memory = memory_of(letter("soon stale", ttl_seconds=60), letter("lasting"))
    with use_clock(lambda: 1_061.0):
        assert contents(memory.get_l1_tasks()) == ["lasting"]


def test_tasks_are_kept_in_a_store_apart_by_node(tmp_path: Path) -> None:
    path = f"sqlite:///{tmp_path / 'loom.db'}"
    task = job("count", 0.9, task_id="job/1#2", session_id="s", parent_task_id="t", error="e")
    memory_of(task, store=path)
    task.result = "four"
    LoomMemory("butler", store=path).add_task(task)
    again = LoomMemory("butler", store=path)
    assert again.get_l1_tasks(session_id="s") == [task] == again.get_l2_tasks()
    assert LoomMemory("cook", store=path).get_l1_tasks() == []


# Knowledge


class Letters:
    """Embeds a text by how often each letter occurs, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def embed(self, text: str) -> list[float]:
        self.asked.append(text)
        return [float(text.lower().count(letter)) for letter in ascii_lowercase]


async def knowledge_of(**contents: str) -> VectorKnowledgeBase:
    base = VectorKnowledgeBase(embedding_provider=Letters(), vector_store=InMemoryVectorStore())
    for name, content in contents.items():
        await base.add_item(KnowledgeItem(name, content, source="plan", metadata={"floor": len(name)}))
    return base


async def test_filters_apply_to_metadata_and_source() -> None:
    base = await knowledge_of(attic="the attic has a skylight", hall="no window", den="a window")
    assert [item.id for item in await base.query("window", limit=1, filters={"floor": 5})] == ["attic"]
    assert len(await base.query("window", filters={"source": "plan"})) == 3
    assert await base.query("window", filters={"colour": "red"}) == [] == await base.query("zzz")
    kept = await base.get_by_id("attic")
    assert kept is not None and kept.relevance == 0 and await base.get_by_id("cellar") is None
