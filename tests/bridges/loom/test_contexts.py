"""Contexts: the page's order, within the budget, the newest kept, and the task last and once."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.bridges.loom import (
    EventBus,
    EventBusContextSource,
    InMemoryVectorStore,
    KnowledgeItem,
    LoomMemory,
    MemoryContextSource,
    Task,
    TaskContextManager,
    TokenCounter,
    VectorKnowledgeBase,
)
from quire.bridges.loom.sources import ContextSource
from quire.errors import InvalidValue, OverBudget, WrongType
from tests.bridges.loom.tasks import Letters, letter, said, thought, words
from tests.bridges.pygents.writing import in_a_loop


def over(memory: LoomMemory, **options: Any) -> TaskContextManager:
    return TaskContextManager(TokenCounter(), [MemoryContextSource(memory)], **options)


async def with_everything() -> tuple[TaskContextManager, LoomMemory, Letters]:
    memory, bus, embedding = LoomMemory("agent-b"), EventBus(), Letters()
    kb = VectorKnowledgeBase(embedding, InMemoryVectorStore())
    await kb.add_item(KnowledgeItem("z", "zebras have stripes", "zoo"))
    memory.add_task(said("earlier"))
    memory.add_task(thought("an answer"))
    await bus.publish(Task(action="node.thinking", parent_task_id="t", parameters={"content": "a thought"}))
    await bus.publish(Task(action="node.tool_call", parent_task_id="t", parameters={"tool_name": "look"}))
    await bus.publish(Task(action="node.tool_result", parent_task_id="t", parameters={"result": "secret"}))
    await bus.publish(letter("less", priority=0.1))
    await bus.publish(letter("more", priority=0.9))
    sources: list[ContextSource] = [MemoryContextSource(memory), EventBusContextSource(bus)]
    context = TaskContextManager(TokenCounter(), sources, system_prompt="You see stripes.", knowledge_base=kb)
    return context, memory, embedding


@in_a_loop
async def test_the_order_is_prompt_past_knowledge_news_letters_task() -> None:
    context, _, embedding = await with_everything()
    messages = await context.build_context(said("why do zebras have stripes?", task_id="t"))
    assert [(message["role"], message["content"]) for message in messages] == [
        ("system", "You see stripes."),
        ("user", "earlier"),
        ("assistant", "an answer"),
        ("system", "[Knowledge from zoo] zebras have stripes"),
        ("assistant", "a thought"),
        ("assistant", "[Calling look(...)]"),
        ("user", "[Direct message from agent-a] more"),
        ("user", "[Direct message from agent-a] less"),
        ("user", "why do zebras have stripes?"),
    ]
    assert embedding.asked[-1] == "why do zebras have stripes?"


@in_a_loop
async def test_the_task_is_there_once_though_memory_and_bus_have_it() -> None:
    memory, bus = LoomMemory("agent"), EventBus()
    current = said("now", source_agent="agent")
    for task in (said("before"), current, thought("while at it")):
        memory.add_task(task)
        await bus.publish(task)
    sources: list[ContextSource] = [MemoryContextSource(memory), EventBusContextSource(bus)]
    messages = await TaskContextManager(sources=sources).build_context(current)
    assert words(messages) == ["before", "while at it", "now"]
    current.result = "done"
    memory.add_task(current)
    assert words(await TaskContextManager(sources=sources).build_context(current))[-1] == "now"


@in_a_loop
async def test_what_two_sources_have_is_told_once() -> None:
    memory, bus = LoomMemory("agent-b"), EventBus()
    direct = letter("hello")
    memory.add_task(direct)
    await bus.publish(direct)
    sources: list[ContextSource] = [
        MemoryContextSource(memory),
        EventBusContextSource(bus),
        MemoryContextSource(memory),
    ]
    messages = await TaskContextManager(sources=sources).build_context(said("now"))
    assert words(messages) == ["[Direct message from agent-a] hello", "now"]


@given(
    st.lists(st.tuples(st.booleans(), st.integers(1, 200)), max_size=20), st.integers(40, 900), st.booleans()
)
@in_a_loop
async def test_the_budget_holds_and_the_newest_are_kept(
    sizes: list[tuple[bool, int]], most: int, prompted: bool
) -> None:
    memory = LoomMemory("agent")
    for number, (is_users, size) in enumerate(sizes):
        told = f"m{number} " + "word " * size
        memory.add_task(said(told) if is_users else thought(told))
    prompt = "Be brief." if prompted else ""
    messages = await over(memory, max_tokens=most, system_prompt=prompt).build_context(said("now"))
    assert TokenCounter().count_messages(messages) <= most
    kept = [text.split()[0] for text in words(messages)]
    assert kept[-1] == "now" and (kept[0] == "Be") is prompted
    past = kept[prompted:-1]
    assert past == [f"m{n}" for n in range(len(sizes) - len(past), len(sizes))]
    if len(past) < len(sizes):
        number = len(sizes) - len(past) - 1
        told = f"m{number} " + "word " * sizes[number][1]
        assert TokenCounter().count_messages([{"role": "user", "content": told}, *messages]) > most


@pytest.mark.parametrize("most", [600, 2_000, 4_000])
@in_a_loop
async def test_the_newest_that_have_room_are_told_however_many_there_were(most: int) -> None:
    memory = LoomMemory("agent")
    context = over(memory, max_tokens=most)
    told = "some words of a usual answer " * 40
    one = TokenCounter().count_messages([{"role": "user", "content": told}])
    for number in range(60):
        memory.add_task(said(told) if number % 2 else thought(told))
        messages = await context.build_context(said("now"))
        assert len(messages) - 1 >= min(number + 1, (most - 20) // one)


@in_a_loop
async def test_a_huge_task_of_the_past_is_left_out_and_not_an_error() -> None:
    memory = LoomMemory("agent")
    memory.add_task(said("huge " * 2000))
    messages = await over(memory, max_tokens=200, system_prompt="Be brief.").build_context(said("now"))
    assert words(messages) == ["Be brief.", "now"]


@in_a_loop
async def test_a_task_that_does_not_fit_is_an_error_and_never_left_out() -> None:
    with pytest.raises(OverBudget):
        await over(LoomMemory("agent"), max_tokens=100).build_context(said("huge " * 2000))
    with pytest.raises(OverBudget):
        await over(LoomMemory("agent"), max_tokens=100, system_prompt="huge " * 2000).build_context(
            said("now")
        )


@in_a_loop
async def test_much_of_everything_stays_within_the_budget() -> None:
    context, memory, _ = await with_everything()
    for number in range(40):
        memory.add_task(said(f"m{number} " + "word " * 100))
    messages = await context.build_context(said("why do zebras have stripes?", task_id="t"))
    assert TokenCounter().count_messages(messages) <= 4000
    told = words(messages)
    assert told[0] == "You see stripes." and told[-1].startswith("why") and "m39" in " ".join(told)
    assert any("zebras have" in one for one in told) and any("more" in one for one in told)


@in_a_loop
async def test_the_receipt_says_why() -> None:
    memory = LoomMemory("agent")
    old = said("old " * 300)
    memory.add_task(old)
    context = await over(memory, max_tokens=100).build(said("now"))
    assert "oldest" in str(context.explain(old.task_id))


@in_a_loop
async def test_knowledge_that_fails_is_left_out() -> None:
    class Broken:
        async def query(
            self, query: str, limit: int = 5, filters: Mapping[str, Any] | None = None
        ) -> Sequence[KnowledgeItem]:
            raise RuntimeError("down")

    messages = await TaskContextManager(knowledge_base=Broken()).build_context(said("now"))
    assert words(messages) == ["now"]


@in_a_loop
async def test_a_source_of_ones_own_is_part_of_the_past() -> None:
    class Mine:
        async def get_context(self, current_task: Task, max_items: int = 20) -> list[Task]:
            return [said("from elsewhere"), Task(action="node.tool_result", parameters={"result": "x"})]

    assert words(await TaskContextManager(sources=[Mine()]).build_context(said("now"))) == [
        "from elsewhere",
        "now",
    ]


@in_a_loop
async def test_a_counter_of_ones_own_is_asked() -> None:
    class Letterwise:
        def count_messages(self, messages: Sequence[Mapping[str, Any]]) -> int:
            return sum(len(message["content"]) for message in messages)

    memory = LoomMemory("agent")
    for number in range(10):
        memory.add_task(said(f"{number}" * 10))
    context = TaskContextManager(Letterwise(), [MemoryContextSource(memory)], max_tokens=45)
    messages = await context.build_context(said("now"))
    assert Letterwise().count_messages(messages) <= 45 and words(messages)[-2:] == ["9" * 10, "now"]
    with pytest.raises(WrongType, match="count_messages"):
        TaskContextManager(len)


@in_a_loop
async def test_a_task_of_another_action_is_said_by_the_user_all_the_same() -> None:
    context = TaskContextManager()
    assert await context.build_context(Task(action="node.planning", parameters={"content": "plan it"})) == [
        {"role": "user", "content": "plan it"}
    ]
    with pytest.raises(InvalidValue, match=r"parameters\.content"):
        await context.build_context(Task(parameters={"content": " "}))
    with pytest.raises(WrongType):
        await context.build_context("now")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@in_a_loop
async def test_sources_give_tasks_in_the_order_of_time() -> None:
    memory, bus = LoomMemory("agent"), EventBus()
    for number in range(30):
        memory.add_task(said(f"m{number}", metadata={"importance": 0.9 if number in (2, 5) else 0.3}))
    current = said("now")
    memory.add_task(current)
    found = await MemoryContextSource(memory).get_context(current, max_items=6)
    assert [task.parameters["content"] for task in found] == ["m2", "m5", "m27", "m28", "m29"]
    for number in range(5):
        await bus.publish(thought(f"t{number}", parent_task_id="t"))
    events = await EventBusContextSource(bus).get_context(said("now", task_id="t"), max_items=3)
    assert [task.parameters["content"] for task in events] == ["t2", "t3", "t4"]
