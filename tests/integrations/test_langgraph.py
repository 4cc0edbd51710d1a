"""LangGraph's checkpoints in Quire's stores: the owners' suite, and what it does not ask."""

# pyright: basic

import asyncio
import operator
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any, TypedDict
from zlib import decompress

import pytest
from hypothesis import given, strategies as st
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from quire.integrations.langgraph import QuireSaver
from quire.items import Note
from quire.stores import MemoryStore, Store, items_in
from tests.integrations.chat import ScriptedChat, call
from tests.stores.keeping import kept

THREAD: Any = {"configurable": {"thread_id": "t1"}, "recursion_limit": 1_000}


class Blocking(QuireSaver):
    """The plain verbs, under the names that the owners' suite calls."""

    async def alist(self, *args: Any, **named: Any) -> AsyncIterator[Any]:
        for one in self.list(*args, **named):
            yield one


def awaited(name: str) -> Any:
    async def verb(self: Blocking, *args: Any, **named: Any) -> Any:
        return getattr(self, name)(*args, **named)

    return verb


for name in ("get_tuple", "put", "put_writes", "delete_thread", "delete_for_runs", "prune", "copy_thread"):
    setattr(Blocking, f"a{name}", awaited(name))


SAVED = [(QuireSaver, "sqlite"), (QuireSaver, "postgres"), (Blocking, "memory"), (Blocking, "json lines")]
OTHERS = [(QuireSaver, "memory"), (QuireSaver, "json lines"), (QuireSaver, "sealed sqlite")]
OTHERS += [(Blocking, "sqlite"), (Blocking, "sealed sqlite"), (Blocking, "postgres")]


@pytest.mark.parametrize(
    ("kind", "store"), [*SAVED, *(pytest.param(*row, marks=pytest.mark.fuzz) for row in OTHERS)]
)
def test_the_owners_suite_passes(store: str, kind: type[QuireSaver]) -> None:
    @checkpointer_test(name=f"{kind.__name__} on {store}")
    async def savers() -> AsyncIterator[QuireSaver]:
        with kept(store) as held:
            yield kind(held.store)

    report = asyncio.run(validate(savers))
    assert {name: one.failures for name, one in report.results.items() if not one.passed} == {}
    assert sum(one.tests_passed for one in report.results.values()) == 81


class Counted(TypedDict):
    steps: Annotated[list[int], operator.add]
    said: str


def looping(saver: Any, times: int, steps: Any = Counted) -> Any:
    """A graph that counts its steps, and asks a person in the middle."""

    def step(state: Any) -> Any:
        number = len(state["steps"])
        said = interrupt("Go on?") if number == times // 2 else f"step {number}"
        return {"steps": [number], "said": said}

    graph = StateGraph(steps).add_node(step).add_edge(START, "step")
    graph.add_conditional_edges("step", lambda state: "step" if len(state["steps"]) < times else END)
    return graph.compile(checkpointer=saver)


def history(graph: Any) -> list[Any]:
    """What LangGraph tells of a thread, without ids and times."""
    states = list(graph.get_state_history(THREAD))
    order = {state.config["configurable"]["checkpoint_id"]: number for number, state in enumerate(states)}
    parents = [
        order.get(state.parent_config["configurable"]["checkpoint_id"]) if state.parent_config else None
        for state in states
    ]
    facts = [(one.values, one.next, one.metadata["source"], one.metadata["step"]) for one in states]
    asked = [[[one.value for one in task.interrupts] for task in state.tasks] for state in states]
    return [*zip(facts, parents, asked, strict=True)]


def play(saver: Any, steps: Any = Counted) -> Any:
    """A thread with an interrupt, a state that a person changed, and a branch from the past."""
    graph = looping(saver, 8, steps)
    graph.invoke({"steps": [], "said": ""}, THREAD)
    graph.invoke(Command(resume="yes"), THREAD)
    graph.update_state(THREAD, {"said": "changed"})
    past = [state for state in graph.get_state_history(THREAD) if len(state.values["steps"]) == 2][-1]
    graph.invoke(None, past.config)
    graph.invoke(Command(resume="again"), THREAD)
    return graph


def joined(before: list[int], writes: Sequence[list[int]]) -> list[int]:
    return [*before, *(number for write in writes for number in write)]


class Delta(TypedDict):
    steps: Annotated[list[int], DeltaChannel(joined, snapshot_frequency=4)]
    said: str


@pytest.mark.parametrize("state", [Counted, Delta])
def test_a_graph_does_what_it_does_with_the_saver_of_langgraph(state: Any) -> None:
    assert history(play(QuireSaver("memory:"), state)) == history(play(InMemorySaver(), state))


@pytest.mark.parametrize(("state", "remaining"), [(Counted, 1), (Delta, 3)])
def test_what_remains_after_a_deletion_is_whole(state: Any, remaining: int) -> None:
    with kept("sqlite") as held:
        saver = QuireSaver(held.store)
        graph = play(saver, state)
        newest, count = graph.get_state(THREAD).values, len(list(saver.list(THREAD)))
        saver.copy_thread("t1", "t2")
        saver.prune(["t1"])
        assert len(list(saver.list(THREAD))) == remaining
        assert graph.get_state(THREAD).values == newest

        other = looping(QuireSaver(held.reopen()), 8, state)
        assert other.get_state(THREAD).values == newest
        copy: Any = {"configurable": {"thread_id": "t2"}}
        assert len(list(other.get_state_history(copy))) == count
        assert other.get_state(copy).values == newest


def test_deleting_a_run_keeps_what_others_are_read_from() -> None:
    saver = QuireSaver("memory:")
    graph = looping(saver, 8, Delta)
    graph.invoke({"steps": [], "said": ""}, {**THREAD, "metadata": {"run_id": "first"}})
    graph.invoke(Command(resume="yes"), {**THREAD, "metadata": {"run_id": "second"}})
    values = graph.get_state(THREAD).values
    before = len(list(saver.list(THREAD)))
    saver.delete_for_runs(["first"])
    assert len(list(saver.list(THREAD))) < before
    assert graph.get_state(THREAD).values == values == {"steps": [*range(8)], "said": "step 7"}


def test_deleted_values_are_taken_from_the_store() -> None:
    saver = QuireSaver("memory:")
    graph = looping(saver, 4)
    graph.invoke({"steps": [], "said": "my password is 1234"}, THREAD)
    graph.invoke(Command(resume="yes"), THREAD)
    assert "1234" in written(saver.store)
    saver.prune(["t1"])
    assert "1234" not in written(saver.store)


def written(store: Store) -> str:
    notes = [note for place in store.places() for note in items_in(place, store.read(place))]
    contents = [note.content for note in notes if isinstance(note, Note)]
    return "".join(decompress(content).decode("latin1") for content in contents)


@tool
def look(page: int) -> str:
    """Look at a page."""
    return f"Page {page}. " + " ".join(f"word-{page}-{number}" for number in range(40))


def test_a_thread_grows_with_what_happens_in_it() -> None:
    def size(pages: int) -> int:
        def script(messages: list[Any]) -> AIMessage:
            page = sum(isinstance(one, ToolMessage) for one in messages)
            return call(f"c{page}", page=page) if page < pages else AIMessage("Done.")

        store = MemoryStore()
        agent = create_agent(ScriptedChat(script=script), [look], checkpointer=QuireSaver(store))
        state = agent.invoke({"messages": [HumanMessage("Look.")]}, THREAD)
        assert agent.get_state(THREAD).values["messages"] == state["messages"]
        return sum(len(entry.body) for place in store.places() for entry in store.read(place))

    few, many = size(20), size(60)
    assert many < 3.3 * few


def put(saver: QuireSaver, thread: str, value: Any, parent: str | None = None) -> str:
    named: Any = {"thread_id": thread, "checkpoint_ns": "", "checkpoint_id": parent}
    checkpoint: Any = {**empty_checkpoint(), "channel_values": {"said": value}}
    saver.put({"configurable": named}, checkpoint, {}, {})
    return str(checkpoint["id"])


def said(saver: QuireSaver, thread: str = "t1") -> Any:
    found = saver.get({"configurable": {"thread_id": thread}})
    return found and found["channel_values"]["said"]


@pytest.mark.laws
@given(st.lists(st.none() | st.lists(st.integers(0, 3), max_size=6), max_size=12))
def test_every_list_is_read_as_it_was_put(steps: list[list[int] | None]) -> None:
    """A step without a list prunes the thread."""
    store = MemoryStore()
    saver, alive = QuireSaver(store), dict[str, Any]()
    for step in steps:
        if step is None:
            saver.prune(["t1"])
            alive = dict(sorted(alive.items())[-1:])
        else:
            alive[put(saver, "t1", step)] = step
        for reader in (saver, QuireSaver(store)):
            found = {
                one.checkpoint["id"]: one.checkpoint["channel_values"]["said"] for one in reader.list(THREAD)
            }
            assert found == alive


@pytest.mark.parametrize("store", ["sqlite", "json lines", "postgres"])
def test_two_processes_write_to_one_thread(store: str) -> None:
    with kept(store) as held, held.shelf.open() as another:
        one, other = QuireSaver(held.store), QuireSaver(another)
        for number in range(6):
            put(one if number % 2 else other, "t1", [*range(number)])
        assert said(one) == said(other) == [0, 1, 2, 3, 4]
        one.prune(["t1"])
        put(other, "t1", [*range(7)])
        assert said(one) == said(other) == [*range(7)]
        one.delete_thread("t1")
        assert said(other) is None
        for number in range(9):
            put(one, "t1", [number])
        assert said(other) == [8]


def test_scopes_are_apart() -> None:
    store = MemoryStore()
    put(QuireSaver(store, scope="ana"), "t1", "for ana")
    assert said(QuireSaver(store, scope="bo")) is None
    assert list(QuireSaver(store, scope="bo").list(None)) == []


def test_a_copy_of_a_saver_with_more_types_reads_the_same_threads() -> None:
    saver = QuireSaver("memory:")
    put(saver, "t1", "hello")
    assert said(saver.with_allowlist([("tests.integrations.chat", "ScriptedChat")])) == "hello"  # type: ignore[arg-type]
