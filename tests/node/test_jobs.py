"""Jobs on a node: answered once, wherever the process that did one ended."""

import asyncio
from collections.abc import Sequence
from typing import Any, TypedDict

import pytest

from quire import Agent, Message, Node, Note, Session, ToolCall, ToolResult, tool
from quire.agent import TextDelta, TurnEnded
from quire.errors import RateLimited, Stopped, StoreFailed, TurnLost, UnknownId
from quire.models import Scripted
from quire.providers import Rendered
from quire.session import Job
from quire.stores import Entry, MemoryStore, Place


class At(TypedDict):
    scope: str
    conversation: str


AT = At(scope="ana", conversation="pens")
LOOK: dict[str, Any] = {
    "name": "look",
    "description": "Look.",
    "parameters": {"type": "object", "properties": {}},
}


class Ends(MemoryStore):
    """The process that uses it ends before one of its appends."""

    def __init__(self) -> None:
        super().__init__()
        self.left: int | None = None

    def append(self, place: Place, entries: Sequence[Entry], *, expected: int) -> int:
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise StoreFailed("the process has ended")
        return super().append(place, entries, expected=expected)


def node_of(store: MemoryStore, paid: list[int]) -> Node:
    @tool
    def pay(amount: int) -> str:
        """Pay an amount."""
        paid.append(amount)
        return "paid"

    def answer(rendered: Rendered) -> str | ToolCall:
        is_paid = rendered.payload["messages"][-1]["role"] == "tool"
        return "It is done." if is_paid else ToolCall("c1", "pay", '{"amount": 5}')

    node = Node(store=store)
    node.add("shop", lambda session: Agent(session, model=Scripted(answer), tools=[pay]))
    return node


async def test_a_streamed_job_gives_words_and_its_outcome_last() -> None:
    node = node_of(MemoryStore(), [])
    job = Job.of("Pay 5.", is_streamed=True)
    await node.session("shop", **AT).jobs.submit(job)
    deltas = [delta async for delta in node.run_stream("shop", job.id, **AT)]
    assert any(isinstance(delta, TextDelta) for delta in deltas)
    assert isinstance(deltas[-2], TurnEnded) and deltas[-1] == await node.run("shop", job.id, **AT)


async def test_a_failure_ends_the_job_unless_it_is_to_be_raised() -> None:
    model = Scripted([RateLimited("slowly, please"), RateLimited("still"), "Hello."])
    node = Node(store=MemoryStore())
    node.add("shop", lambda session: Agent(session, model=model))
    session, first, second = node.session("shop", **AT), Job.of("Hi."), Job.of("Hi again.")
    for job in (first, second):
        await session.jobs.submit(job)
    with pytest.raises(RateLimited):
        await node.run("shop", first.id, raises=(RateLimited,), **AT)
    assert [one.id for one in session.jobs.pending()] == [first.id, second.id]
    outcome = await node.run("shop", first.id, **AT)
    assert (outcome.stop, outcome.error) == ("failed", "still")
    assert (await node.run("shop", second.id, **AT)).stop == "done"


async def test_decisions_are_a_job() -> None:
    @tool(approve=True)
    def refund(amount: int) -> str:
        """Refund an amount."""
        return f"{amount} refunded"

    model = Scripted([ToolCall("c1", "refund", '{"amount": 5}'), "It is on its way."])
    node = Node(store=MemoryStore())
    node.add("shop", lambda session: Agent(session, model=model, tools=[refund]))
    session, asked = node.session("shop", **AT), Job.of("I want 5 back.")
    await session.jobs.submit(asked)
    outcome = await node.run("shop", asked.id, **AT)
    assert (outcome.stop, outcome.waiting) == ("waiting", ("c1",))
    decided = Job.of(decisions={"c1": True})
    await session.jobs.submit(decided)
    assert (await node.run("shop", decided.id, **AT)).stop == "done"
    again = Job.of(decisions={"c1": True})
    await session.jobs.submit(again)
    assert (await node.run("shop", again.id, **AT)).stop == "failed"  # no such call waits


async def test_a_node_that_stops_leaves_the_job_to_the_next() -> None:
    store, begun = MemoryStore(), asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait."""
        begun.set()
        await asyncio.sleep(60)
        return "never"

    def make(session: Session) -> Agent:
        has_result = any(isinstance(item, ToolResult) for item in session.view())
        script = ["Done."] if has_result else [ToolCall("c1", "wait", "{}")]
        return Agent(session, model=Scripted(script), tools=[wait])

    node = Node(store=store)
    node.add("shop", make)
    session, job = node.session("shop", **AT), Job.of("Wait.")
    await session.jobs.submit(job)
    running = asyncio.ensure_future(node.run("shop", job.id, **AT))
    await begun.wait()
    await node.stop(grace=0)
    with pytest.raises(Stopped):
        await running
    assert [one.id for one in session.jobs.pending()] == [job.id]
    after = Node(store=store)
    after.add("shop", make)
    assert (await after.run("shop", job.id, **AT)).stop == "done"
    with pytest.raises(UnknownId):
        await after.run("shop", "nowhere", **AT)


async def test_a_job_that_was_begun_goes_before_one_that_was_accepted_earlier() -> None:
    store, paid = Ends(), list[int]()
    later, begun = Job.of("Second.", not_before=1.0), Job.of("First.")
    session = node_of(store, paid).session("shop", **AT)
    for job in (later, begun):
        await session.jobs.submit(job)
    store.left = 3
    with pytest.raises(StoreFailed):
        await node_of(store, paid).run("shop", begun.id, **AT)
    store.left = None
    node = node_of(store, paid)
    assert (await node.run("shop", later.id, **AT)).stop == "done"
    assert (await node.run("shop", begun.id, **AT)).stop == "done"
    said = [item.text for item in node.session("shop", **AT).view() if isinstance(item, Message)]
    assert said == ["First.", "It is done.", "Second.", "It is done."]


async def test_a_conversation_that_is_forgotten_ends_its_jobs() -> None:
    store, begun, go_on = MemoryStore(), asyncio.Event(), asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait."""
        begun.set()
        await go_on.wait()
        return "my secret"

    node = Node(store=store)
    node.add("shop", lambda one: Agent(one, model=Scripted([ToolCall("c1", "wait")]), tools=[wait]))
    session, first, second = node.session("shop", **AT), Job.of("Wait."), Job.of("And again.")
    for job in (first, second):
        await session.jobs.submit(job)
    running = asyncio.ensure_future(node.run("shop", first.id, **AT))
    await begun.wait()
    await session.aio.forget()
    go_on.set()
    with pytest.raises(TurnLost):
        await running
    assert session.jobs.pending() == []
    for job in (first, second):
        outcome = await session.jobs.outcome(job.id)
        assert outcome is not None and outcome.stop == "removed"
    assert b"secret" not in b"".join(entry.body for entry in store.read(session.place))


async def test_items_before_a_message_are_recorded_when_its_job_begins() -> None:
    node = node_of(MemoryStore(), [])
    session = node.session("shop", **AT)
    before = (
        Message("user", "Hi."),
        Note("he waves"),
        Message("assistant", "Hello."),
        ToolCall("c0", "look"),
    )
    job = Job.of("Pay 5.", before=(*before, ToolResult("c0", "look", "seen")))
    await session.jobs.submit(job)
    assert not list(session.view()) and session.jobs.pending() == [job]
    assert (await node.run("shop", job.id, **AT)).stop == "done"
    said = [item.text for item in session.view() if isinstance(item, Message | ToolResult)]
    assert said == ["Hi.", "Hello.", "seen", "Pay 5.", "paid", "It is done."]


async def test_an_agent_that_cannot_be_made_fails_its_jobs() -> None:
    def make(session: Session) -> Agent:
        raise KeyError("my secret")

    node = Node(store=MemoryStore())
    node.add("shop", make)
    job = Job.of("Hi.")
    await node.session("shop", **AT).jobs.submit(job)
    outcome = await node.run("shop", job.id, **AT)
    assert (outcome.stop, outcome.error) == ("failed", "KeyError")


@pytest.mark.parametrize("is_streamed", [True, False])
async def test_a_job_offers_tools_and_another_brings_the_results(is_streamed: bool) -> None:
    node = Node()
    node.add("help", lambda session: Agent(session, model=Scripted([ToolCall("l1", "look"), "It is open."])))
    session = node.session("help", **AT)
    asked = Job.of("Is it open?", tools=[LOOK], is_streamed=is_streamed)
    await session.jobs.submit(asked)
    outcome = await node.run("help", asked.id, **AT)
    assert outcome.stop == "waiting" and outcome.waiting == ("l1",)
    seen = Job.of(results=(ToolResult("l1", "look", "open"),), tools=[LOOK], is_streamed=is_streamed)
    await session.jobs.submit(seen)
    outcome = await node.run("help", seen.id, **AT)
    assert outcome.stop == "done" and session.view()[-1].text == "It is open."  # type: ignore[union-attr]


async def test_a_job_goes_on_after_its_results_were_recorded() -> None:
    node, result = Node(), ToolResult("l1", "look", "open")
    replies: list[Any] = [[ToolCall("l1", "look"), ToolCall("l2", "look")], ConnectionError(), "It is open."]

    def made(session: Session) -> Agent:
        return Agent(session, model=Scripted(replies))

    node.add("help", made)
    session = node.session("help", **AT)
    asked = Job.of("Is it open?", tools=[LOOK])
    await session.jobs.submit(asked)
    await node.run("help", asked.id, **AT)
    seen = Job.of(results=(result, ToolResult("l2", "look", "ajar")))
    await session.jobs.submit(seen)
    with pytest.raises(ConnectionError):  # as if the process had ended there
        await node.run("help", seen.id, **AT, raises=(ConnectionError,))
    assert (await node.run("help", seen.id, **AT)).stop == "done"
    assert [one.text for one in session.view() if isinstance(one, ToolResult)] == ["open", "ajar"]


async def test_results_that_no_call_waits_for_end_the_job_as_failed() -> None:
    node = Node()
    node.add("help", lambda session: Agent(session, model=Scripted(["Hello."])))
    session = node.session("help", **AT)
    for job in (Job.of("Hello!"), Job.of(results=(ToolResult("l9", "look", "open"),))):
        await session.jobs.submit(job)
        outcome = await node.run("help", job.id, **AT)
    assert outcome.stop == "failed" and "'l9'" in outcome.error
