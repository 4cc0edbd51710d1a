"""A job is done once, wherever its process is killed or hangs, and whatever the next one knew."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from quire import Agent, Message, Node, Session, ToolCall, ToolResult, tool
from quire.agent.builtin import Role, ask_user, delegating_tools
from quire.errors import Conflict
from quire.models import Scripted
from quire.providers import PROVIDERS, Rendered
from quire.session import Job, Outcome
from quire.stores import MemoryStore, SQLiteStore, Store
from tests.agent.answering import Payments, call, in_thread
from tests.session.opened import Died, dies_at, watch
from tests.stores.keeping import twin

PENS: dict[str, Any] = {"scope": "ana", "conversation": "pens"}
ONE = [ToolCall("c1", "pay", '{"to": "bob"}')]
TWO = [*ONE, ToolCall("c2", "pay", '{"to": "eve"}')]
TASK = [ToolCall("c0", "delegate", '{"to": "clerk", "task": "Pay."}')]


class Turn(NamedTuple):
    """The turn of a job: the calls of the model, how often each was run, and what the model was sent."""

    calls: list[ToolCall]
    idempotent: bool = False
    approve: bool = False
    is_streamed: bool = False


TURNS = {
    "one call, streamed": Turn(ONE, is_streamed=True),
    "parallel calls": Turn(TWO),
    "parallel calls that may run again": Turn(TWO, idempotent=True),
    "approved calls": Turn(TWO, approve=True),
    "a sub-agent": Turn(TASK),
}
EACH = pytest.mark.parametrize("turn", TURNS.values(), ids=TURNS)


class Office:
    """What the processes share: who was paid, and what models were sent in the conversation."""

    def __init__(self, turn: Turn) -> None:
        self.turn, self.paid, self.sent = turn, list[str](), list[Any]()

    def node(self, store: Store, has_died: Callable[[], bool] = lambda: False) -> Node:
        """A process."""

        @tool(idempotent=self.turn.idempotent, approve=self.turn.approve)
        async def pay(to: str) -> str:
            await asyncio.sleep(0)
            if has_died():
                raise Died
            self.paid.append(to)
            return f"paid {to}"

        def answer(rendered: Rendered) -> Any:
            if has_died():
                raise Died
            is_clerk = "Pay." in str(rendered.payload["messages"][0])
            if not is_clerk:
                self.sent.append(rendered.payload)
            is_done = rendered.payload["messages"][-1]["role"] == "tool"
            return "It is done." if is_done else ONE if is_clerk else self.turn.calls

        def clerk(session: Session) -> Agent:
            return Agent(session, model=Scripted(answer), tools=[pay])

        own = delegating_tools(Role(name="clerk", description="Pays.", make=clerk))
        node = Node(store=store)
        node.add("shop", lambda session: Agent(session, model=Scripted(answer), tools=[pay, *own]))
        return node

    async def submitted(self, store: Store) -> str:
        """The id of the job, accepted."""
        session = self.node(store).session("shop", **PENS)
        job = Job.of("Go.", is_streamed=self.turn.is_streamed)
        await session.jobs.submit(job)
        if self.turn.approve:
            assert (await self.node(store).run("shop", job.id, **PENS)).stop == "waiting"
            job = Job.of(decisions={one.call_id: True for one in self.turn.calls})
            await session.jobs.submit(job)
        return job.id

    def check(self, node: Node, outcome: Outcome, step: int) -> None:
        """Nothing is lost, nothing is run twice, the history is whole, and receipts are of what was sent."""
        session = node.session("shop", **PENS)
        items = list(session.view())
        said = [item.text for item in items if isinstance(item, Message)]
        assert outcome.stop == "done" and said == ["Go.", "It is done."], (step, items)
        assert session.jobs.pending() == [] and session.calls.list_open() == []
        results = [item for item in items if isinstance(item, ToolResult)]
        assert sorted(one.call_id for one in results) == [one.call_id for one in self.turn.calls]
        uncertain = sum("uncertain" in one.extras for one in results)
        known = len(results) - uncertain
        if self.turn.idempotent:
            assert len(set(self.paid)) == len(self.turn.calls) and not uncertain, (step, self.paid)
        else:
            assert len(self.paid) == len(set(self.paid)) and known <= len(self.paid), (step, self.paid)
        for provider in PROVIDERS.values():
            assert provider.check(provider.render(session.view()).payload) == []
        kept = [receipt.payload().payload for receipt in session.receipts]
        assert [payload for payload in self.sent if payload not in kept] == [], step


@EACH
async def test_a_job_is_done_once_wherever_its_process_is_killed(turn: Turn) -> None:
    steps = 1
    while await is_killed(turn, steps):
        steps += 1
    assert 6 < steps < 40


async def is_killed(turn: Turn, fatal: int) -> bool:
    """Do a job in a process that is killed at a step, then in another; whether there was that step."""
    office, store = Office(turn), MemoryStore()
    job = await office.submitted(store)
    left = twin(store)
    steps = dies_at(left, fatal)
    with suppress(Died):
        await office.node(left, lambda: steps() >= fatal).run("shop", job, **PENS)
    after = office.node(twin(left))
    outcome = await after.run("shop", job, **PENS)
    assert outcome == await after.run("shop", job, **PENS)
    office.check(after, outcome, fatal)
    return steps() >= fatal


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.fuzz)])
@EACH
async def test_a_process_that_hangs_does_no_more_of_a_job_that_was_taken_over(
    turn: Turn, every: int, tmp_path: Path
) -> None:
    steps = 1
    while await hangs(turn, steps, tmp_path / f"{steps}.db"):
        steps += every
    assert 6 < steps < 40


async def hangs(turn: Turn, at: int, path: Path) -> bool:
    """Do a job in a process that hangs at a step until another has done it; whether there was that step."""
    office, (here, there), steps = Office(turn), (SQLiteStore(path) for _ in range(2)), 0
    job, after = await office.submitted(there), office.node(there)

    def step(*_: object) -> None:
        nonlocal steps
        steps += 1
        if steps == at:
            office.check(after, in_thread(lambda: after.run("shop", job, force=True, **PENS)), at)

    watch(here, step)
    with suppress(Conflict):  # it has lost the job
        await office.node(here).run("shop", job, **PENS)
    office.check(after, await after.run("shop", job, **PENS), at)
    here.close()
    there.close()
    return steps >= at


@pytest.mark.parametrize("name", ["pay", "ask_user", "hand_over_to_clerk"])
async def test_a_job_is_done_with_all_that_another_process_did_before(name: str, tmp_path: Path) -> None:
    made = call(name, '{"question": "Who?"}' if name == "ask_user" else "{}")

    def answer(rendered: Rendered) -> Any:
        return made if rendered.payload["messages"][-1]["content"] == "Go." else "I."

    def make(session: Session) -> Agent:
        clerk = Agent(session, model=Scripted(lambda _: "The clerk."), name="clerk")
        tools = [Payments(approve=True).tool, ask_user]
        return Agent(session, model=Scripted(answer), tools=tools, handoffs=[clerk])

    def node(store: Store) -> Node:
        made = Node(store=store)
        made.add("shop", make)
        return made

    here, there = (SQLiteStore(tmp_path / "a.db") for _ in range(2))
    first, second = node(here), node(there)
    jobs = [Job.of(words) for words in ("Go.", "Stop.")]
    for job in jobs:
        await second.session("shop", **PENS).jobs.submit(job)
    await second.worker("shop", **PENS).open()
    await first.run("shop", jobs[0].id, **PENS)
    shown = list[Any]()
    for one in (node(twin(here)), second):  # the second knows both jobs, and nothing of what was done of one
        assert (await one.run("shop", jobs[1].id, **PENS)).stop == "done"
        view = one.session("shop", **PENS).view()
        shown.append([(type(item), getattr(item, "text", "")) for item in view])
    assert shown[0] == shown[1] and second.session("shop", **PENS).calls.list_open() == []
