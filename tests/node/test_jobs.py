"""Jobs on a node: answered once, wherever the process that did one ended."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from quire import Agent, Message, Node, Note, Session, ToolCall, ToolResult
from quire.agent import TextDelta, TurnEnded
from quire.errors import RateLimited, Stopped, TurnLost, UnknownId
from quire.models import Scripted
from quire.providers import Rendered
from quire.session import Job, Outcome
from quire.stores import MemoryStore, Store
from tests.agent.answering import LOOK, Gate, Payments, call
from tests.session.opened import Died, dies_at
from tests.stores.keeping import twin

AT: dict[str, Any] = {"scope": "ana", "conversation": "pens"}


class Shop:
    """A node with one agent, of which every job is in one conversation."""

    def __init__(self, replies: Any, *tools: Any, store: Store | None = None) -> None:
        model = Scripted(replies)
        self.node = Node(store=store or MemoryStore())
        self.node.add("shop", lambda session: Agent(session, model=model, tools=tools))
        self.session = self.node.session("shop", **AT)

    async def accept(self, job: Job) -> Job:
        await self.session.jobs.submit(job)
        return job

    async def run(self, job: Job, **options: Any) -> Outcome:
        return await self.node.run("shop", job.id, **AT, **options)

    @property
    def said(self) -> list[str]:
        return [item.text for item in self.session.view() if isinstance(item, Message | ToolResult)]


def pays(rendered: Rendered) -> str | ToolCall:
    """Pays once for each message."""
    return "It is done." if rendered.payload["messages"][-1]["role"] == "tool" else call("pay")


async def test_a_streamed_job_gives_words_and_its_outcome_last() -> None:
    shop = Shop(["Good day."])
    job = await shop.accept(Job.of("Hello!", is_streamed=True))
    deltas = [delta async for delta in shop.node.run_stream("shop", job.id, **AT)]
    assert any(isinstance(delta, TextDelta) for delta in deltas)
    assert isinstance(deltas[-2], TurnEnded) and deltas[-1] == await shop.run(job)


async def test_a_failure_ends_the_job_unless_it_is_to_be_raised() -> None:
    shop = Shop([RateLimited("slowly, please"), RateLimited("still"), "Hello."])
    first, second = [await shop.accept(Job.of(words)) for words in ("Hi.", "Hi again.")]
    with pytest.raises(RateLimited):
        await shop.run(first, raises=(RateLimited,))
    assert [one.id for one in shop.session.jobs.pending()] == [first.id, second.id]
    outcome = await shop.run(first)
    assert (outcome.stop, outcome.error) == ("failed", "still")
    assert (await shop.run(second)).stop == "done"


async def test_decisions_are_a_job() -> None:
    shop = Shop([call("pay"), "It is on its way."], Payments(approve=True).tool)
    outcome = await shop.run(await shop.accept(Job.of("I want 5 back.")))
    assert (outcome.stop, outcome.waiting) == ("waiting", ("call_pay",))
    for stop in ("done", "failed"):  # the second time no such call waits
        decided = await shop.accept(Job.of(decisions={"call_pay": True}))
        assert (await shop.run(decided)).stop == stop


async def test_a_node_that_stops_leaves_the_job_to_the_next() -> None:
    gate, store = Gate(), MemoryStore()
    shop, after = Shop([call("gate")], gate.tool, store=store), Shop(["Done."], gate.tool, store=store)
    job = await shop.accept(Job.of("Wait."))
    running = asyncio.ensure_future(shop.run(job))
    await gate.begun.wait()
    await shop.node.stop(grace=0)
    with pytest.raises(Stopped):
        await running
    assert [one.id for one in shop.session.jobs.pending()] == [job.id]
    assert (await after.run(job)).stop == "done"
    with pytest.raises(UnknownId):
        await after.run(job._replace(id="nowhere"))


async def test_a_job_that_was_begun_goes_before_one_that_was_accepted_earlier() -> None:
    payments, store = Payments(), MemoryStore()
    shop = Shop(pays, payments.tool, store=store)
    later = await shop.accept(Job.of("Second.", not_before=1.0))
    begun = await shop.accept(Job.of("First."))
    dies_at(store, 7)
    with suppress(Died):
        await shop.run(begun)
    again = Shop(pays, payments.tool, store=twin(store))
    assert (await again.run(later)).stop == (await again.run(begun)).stop == "done"
    said = [item.text for item in again.session.view() if isinstance(item, Message)]
    assert said == ["First.", "It is done.", "Second.", "It is done."]


async def test_a_conversation_that_is_forgotten_ends_its_jobs() -> None:
    gate, store = Gate(), MemoryStore()
    shop = Shop([call("gate")], gate.tool, store=store)
    jobs = [await shop.accept(Job.of(words)) for words in ("Wait for my secret.", "And again.")]
    running = asyncio.ensure_future(shop.run(jobs[0]))
    await gate.begun.wait()
    await shop.session.aio.forget()
    gate.go.set()
    with pytest.raises(TurnLost):
        await running
    assert shop.session.jobs.pending() == []
    for job in jobs:
        outcome = await shop.session.jobs.outcome(job.id)
        assert outcome is not None and outcome.stop == "removed"
    kept = b"".join(entry.body for entry in store.read(shop.session.place))
    assert b"secret" not in kept and b"through" not in kept


async def test_items_before_a_message_are_recorded_when_its_job_begins() -> None:
    shop = Shop(["Good day."])
    seen = call("look"), ToolResult("call_look", "look", "seen")
    before = Message("user", "Hi."), Note("he waves"), Message("assistant", "Hello."), *seen
    job = await shop.accept(Job.of("Well?", before=before))
    assert not list(shop.session.view()) and shop.session.jobs.pending() == [job]
    assert (await shop.run(job)).stop == "done"
    assert shop.said == ["Hi.", "Hello.", "seen", "Well?", "Good day."]


async def test_an_agent_that_cannot_be_made_fails_its_jobs() -> None:
    def make(session: Session) -> Agent:
        raise KeyError("my secret")

    shop = Shop([])
    await shop.node.remove("shop")
    shop.node.add("shop", make)
    outcome = await shop.run(await shop.accept(Job.of("Hi.")))
    assert (outcome.stop, outcome.error) == ("failed", "KeyError")


@pytest.mark.parametrize("is_streamed", [True, False])
async def test_a_job_offers_tools_and_another_brings_the_results(is_streamed: bool) -> None:
    shop = Shop([[ToolCall("l1", "look"), ToolCall("l2", "look")], ConnectionError(), "It is open."])
    outcome = await shop.run(await shop.accept(Job.of("Is it open?", tools=[LOOK], is_streamed=is_streamed)))
    assert outcome.stop == "waiting" and outcome.waiting == ("l1", "l2")
    results = ToolResult("l1", "look", "open"), ToolResult("l2", "look", "ajar")
    seen = await shop.accept(Job.of(results=results, tools=[LOOK], is_streamed=is_streamed))
    with pytest.raises(ConnectionError):  # as if the process had ended there
        await shop.run(seen, raises=(ConnectionError,))
    assert (await shop.run(seen)).stop == "done"
    assert shop.said == ["Is it open?", "open", "ajar", "It is open."]


async def test_results_that_no_call_waits_for_end_the_job_as_failed() -> None:
    shop = Shop(["Hello."])
    for job in (Job.of("Hello!"), Job.of(results=(ToolResult("l9", "look", "open"),))):
        outcome = await shop.run(await shop.accept(job))
    assert outcome.stop == "failed" and "'l9'" in outcome.error
