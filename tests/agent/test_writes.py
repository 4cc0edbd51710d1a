"""What a turn stores, and when: five appends with a job, and what others see, write and cancel meanwhile."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from contextvars import Context
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from quire import Message, Session, ToolCall
from quire.agent import Agent, Limits, Reply, TurnEnded, tool
from quire.agent.builtin import Role, delegating_tools
from quire.errors import InvalidValue, TurnBusy, TurnLost, UnknownId
from quire.items import JSON
from quire.models import Answering, Scripted
from quire.node import Node
from quire.providers import Parsed
from quire.session import Built, Hook, Job, Outcome, Replied, Replying, claim_job, hook, parts_of
from quire.stores import MemoryStore, SQLiteStore, Store
from tests.agent.answering import (
    Gate,
    Payments,
    agent_of,
    assert_whole,
    call,
    in_thread,
    node_of,
    requests,
    results,
    said,
)
from tests.session.opened import TEMPLATE, Died, answer, dies_at, watch


def counted(store: Store, *verbs: str) -> list[str]:
    """The verbs of a store as they are called from now on."""
    found: list[str] = []
    watch(store, lambda step, _: found.append(step) if step.startswith("before") else None, verbs)
    return found


async def outcome_of(node: Node, job: str) -> Outcome:
    return await node.run("clerk", job, scope="ana")


def opened(store: Store) -> Session:
    """The conversation of those jobs."""
    return Session.open("clerk%2Fana/", store=store)


def messages(session: Session) -> list[str]:
    session.refresh()
    return [one.text for one in session.view() if isinstance(one, Message)]


@pytest.mark.parametrize(("is_streamed", "appends"), [(False, 4), (True, 7)])
async def test_a_turn_with_a_call_is_four_appends_and_one_read_and_one_append_accepts_it(
    is_streamed: bool, appends: int, tmp_path: Path
) -> None:
    accepting, working = (SQLiteStore(tmp_path / "a.db") for _ in range(2))  # as in two processes
    payments, elsewhere = Payments(), opened(accepting)
    replies = [call("pay"), "Paid.", call("pay", call_id="again"), "Paid."]
    node = node_of(replies, payments.tool, store=working)
    assert elsewhere.place == node.session("clerk", "ana").place
    reads = ("read", "read_at", "version", "versions_of", "open_checkpoint", "read_parts")
    writes, asked = counted(working, "append", "write_checkpoint"), counted(working, *reads)
    for turn in (1, 2):
        job = Job.of("Pay.", is_streamed=is_streamed)
        await elsewhere.jobs.submit(job)
        writes.clear()
        asked.clear()
        assert (await outcome_of(node, job.id)).stop == "done" and payments.paid == [1] * turn
        assert len(writes) == appends and (turn == 1 or asked == ["before read"])  # the first opens it
    await node.stop()


async def test_others_see_only_what_is_stored() -> None:
    store, payments = MemoryStore(), Payments()
    agent = agent_of(call("pay"), "Done.", tools=[payments.tool], store=store)
    other, seen = Session.open("ana/one", store=store), list[tuple[list[Any], list[bytes], int]]()

    def look() -> None:
        stored = store.read(other.place)
        bodies = [entry.body for entry in stored if entry.stream == "main"]
        unstored = other.spending.requests - sum(entry.stream == ".usage" for entry in stored)
        seen.append(([*other.view()], bodies, unstored or other.version - len(stored)))

    def look_from_outside(*_: object) -> None:
        Context().run(look)  # as code that is not part of the turn

    watch(store, look_from_outside, ("append",))
    await agent.ask("go")
    for shown, bodies, beyond in seen[::2]:  # before each append
        assert [JSON.encode_item(item) for item in shown] == bodies and beyond == 0
    assert len(seen) == 8


async def _deltas(answering: Answering) -> AsyncGenerator[Any, None]:
    async for delta in answering.deltas():
        yield delta


class Eager(Scripted):
    """A model that has its answer before it is asked."""

    def send(self, *args: Any, **terms: Any) -> Answering:
        answering = super().send(*args, **terms)
        return Answering(_deltas(answering), lambda: Parsed((Message("assistant", "Hello."),)))


@pytest.mark.parametrize("model", [Scripted, Eager])
async def test_a_request_that_others_outdate_is_built_again(model: type[Scripted], tmp_path: Path) -> None:
    here, there = (SQLiteStore(tmp_path / "a.db") for _ in range(2))
    other = Session.open("ana/one", store=there)
    agent = Agent(Session.open("ana/one", store=here), model=model(["Hello."]))
    written: list[bool] = []

    def write(step: str, _: object) -> None:
        if step == "before append" and not written:
            written.append(True)
            other.user("And be quick.")

    watch(here, write, ("append",))
    assert (await agent.ask("Hi.")).text == "Hello."
    assert len(requests(agent)) == 1 and said(agent) == ["And be quick.", "Hi.", "Hello."]
    assert "And be quick." in str(requests(agent)[0].payload) and len(agent.session.receipts) == 1
    assert_whole(agent)


async def test_a_preview_and_what_another_renders_are_the_request_of_no_answer() -> None:
    async def meddling(_: Any) -> str:
        agent.session.build(TEMPLATE).render("openai")
        (await agent.preview()).render("openai")
        return "Hello."

    agent = agent_of(meddling)
    await agent.ask("Hi.")
    (kept,) = agent.session.receipts
    assert kept.payload().payload == requests(agent)[0].payload and kept.spending.usage.output


async def test_two_tasks_that_answer_side_by_side_have_a_receipt_each() -> None:
    session = Session.open("ana/one", store=MemoryStore())

    async def one(turn: int) -> str:
        session.user(f"question {turn}")
        payload = session.build(TEMPLATE).render("openai").payload
        await asyncio.sleep(0)
        session.record(answer(f"answer {turn}"))
        return str(payload)

    sent = await asyncio.gather(one(1), one(2))
    kept = [str(receipt.payload().payload) for receipt in session.receipts]
    assert sorted(kept) == sorted(sent) and len(set(kept)) == 2


async def reply_to_second(by: Agent | Node, is_streamed: bool, **asking: Any) -> Reply:
    """The reply to a second message, which an agent or its node is asked."""
    if not is_streamed:
        ask: Any = by.ask if isinstance(by, Agent) else partial(by.send, "clerk")
        reply: Reply = await ask("second", **asking)
        return reply
    stream: Any = by.stream if isinstance(by, Agent) else partial(by.send_stream, "clerk")
    *_, done = [delta async for delta in stream("second", **asking)]
    assert isinstance(done, TurnEnded)
    return done.reply


BUSY: list[Any] = [
    {"while_busy": "queue"},
    {"while_busy": "interrupt"},
    {"while_busy": "refuse"},
    {"while_busy": "steer"},
    {"while_busy": "bogus"},
    *({"while_busy": "steer", name: given} for name, given in [("output", int), ("parameters", {"a": 1})]),
    {"while_busy": "steer", "limits": Limits(requests=1)},
]


@pytest.mark.parametrize("asking", BUSY, ids=lambda asking: " ".join(map(str, asking.values())))
@pytest.mark.parametrize("is_streamed", [False, True])
@pytest.mark.parametrize("by", ["agent", "node"])
async def test_a_message_that_comes_while_a_turn_runs(by: str, is_streamed: bool, asking: Any) -> None:
    gate, while_busy = Gate(), asking["while_busy"]
    replies = [call("gate"), "Then."] if while_busy == "interrupt" else [call("gate"), "Both.", "Then."]
    node = node_of(replies, gate.tool)
    agent = await node.worker("clerk").open()
    running = asyncio.create_task(node.send("clerk", "first"))
    await gate.begun.wait()

    speaks_to = agent if by == "agent" else node
    coming = asyncio.create_task(reply_to_second(speaks_to, is_streamed, **asking))
    if while_busy == "interrupt":
        assert (await running).stop == "interrupted" and (await coming).text == "Then."
        return
    await asyncio.sleep(0)
    gate.go.set()
    first = await running
    if while_busy == "refuse":
        with pytest.raises(TurnBusy):
            await coming
        assert said(agent) == ["first", "Both."]
    elif while_busy == "bogus" or len(asking) > 1 or (is_streamed and while_busy == "steer"):
        with pytest.raises(InvalidValue):
            await coming
        assert said(agent) == ["first", "Both."]
    elif while_busy == "queue":
        assert (await coming).text == "Then." and said(agent) == ["first", "Both.", "second", "Then."]
    else:
        assert await coming == first and said(agent) == ["first", "second", "Both."]
        assert "second" in str(requests(agent)[1].payload) and gate.ran == 1
    assert_whole(agent)


async def test_a_job_steers_a_turn_that_another_process_runs(tmp_path: Path) -> None:
    here, there = (SQLiteStore(tmp_path / "a.db") for _ in range(2))
    gate = Gate()
    node, elsewhere = node_of([call("gate"), "Both."], gate.tool, store=here), opened(there)
    job, steering = Job.of("first"), Job.of("second", steers=True)
    await elsewhere.jobs.submit(job)
    running = asyncio.create_task(outcome_of(node, job.id))
    await gate.begun.wait()
    await elsewhere.jobs.submit(steering)
    gate.go.set()
    assert (await running).stop == "done" and messages(elsewhere) == ["first", "second", "Both."]
    found = await elsewhere.jobs.outcome(steering.id)
    assert found is not None and found.stop == "steered" and elsewhere.jobs.pending() == []
    await node.stop()


@pytest.mark.parametrize("is_elsewhere", [False, True])
async def test_a_job_that_is_cancelled_ends_at_a_safe_point(is_elsewhere: bool, tmp_path: Path) -> None:
    here, there = (SQLiteStore(tmp_path / "a.db") for _ in range(2))
    gate = Gate()
    node, elsewhere = node_of([call("gate"), "Never."], gate.tool, store=here), opened(there)
    job, waiting = Job.of("first"), Job.of("second")
    await elsewhere.jobs.submit(job)
    running = asyncio.create_task(outcome_of(node, job.id))
    await gate.begun.wait()
    await elsewhere.jobs.submit(waiting)
    canceller = elsewhere if is_elsewhere else node.session("clerk", "ana")
    for one in (job, waiting):
        cancelling = asyncio.create_task(canceller.jobs.cancel(one.id))
        await asyncio.sleep(0)
        gate.go.set()
        await cancelling
    assert (await running).stop == "cancelled" and gate.ran == 1
    assert messages(elsewhere) == ["first"] and elsewhere.calls.list_open() == []
    found = await elsewhere.jobs.outcome(waiting.id)
    assert found is not None and found.stop == "cancelled"
    with pytest.raises(UnknownId):
        await elsewhere.jobs.cancel(job.id)
    await node.stop()


async def test_a_job_that_another_began_since_it_was_read_is_taken_again(tmp_path: Path) -> None:
    here, there = (SQLiteStore(tmp_path / "a.db") for _ in range(2))
    dead, payments = Payments(), Payments()
    node = node_of(["Hello.", "So it is."], payments.tool, store=here)
    first, second = Job.of("Hi."), Job.of("Pay.")
    for job in (first, second):
        await opened(here).jobs.submit(job)
    await outcome_of(node, first.id)  # the node knows the second job as one that nobody has begun
    dies_at(there, 5)
    with suppress(Died):
        await outcome_of(node_of([call("pay")], dead.tool, store=there), second.id)
    assert (await node.run("clerk", second.id, scope="ana", force=True)).stop == "done"
    session = node.session("clerk", "ana")
    assert dead.paid == [1] and payments.paid == [] and session.calls.list_open() == []
    assert messages(session) == ["Hi.", "Hello.", "Pay.", "So it is."]
    await node.stop()


@pytest.mark.parametrize(("before", "sent"), [("request", 0), ("request of a sub-agent", 1), ("its tool", 2)])
async def test_a_turn_that_was_taken_over_does_no_more(before: str, sent: int, tmp_path: Path) -> None:
    here, there = (SQLiteStore(tmp_path / "a.db") for _ in range(2))
    job, payments, agents = Job.of("Pay."), Payments(), list[Agent]()

    async def take_over() -> None:
        async with claim_job(parts_of(Session.open("ana/one", store=there)).writer, job.id, force=True):
            pass

    def step(name: str) -> None:
        if name == before:
            in_thread(take_over)

    def answer_of_helper(_: Any) -> ToolCall:
        step("its tool")
        return call("pay")

    def make(session: Session) -> Agent:
        step("request of a sub-agent")
        agents.append(Agent(session, model=Scripted(answer_of_helper), tools=[payments.tool]))
        return agents[-1]

    session = Session.open("ana/one", store=here, hooks=[Hook(lambda _: step("request"), (Built,))])
    own = delegating_tools(Role(name="payer", description="Pays.", make=make))
    delegation = call("delegate", '{"to": "payer", "task": "Pay."}')
    agents.append(Agent(session, model=Scripted([delegation, "Paid."]), tools=own))
    await session.jobs.submit(job)
    with pytest.raises(TurnLost):
        async with claim_job(parts_of(session).writer, job.id) as taken:
            assert taken.job.message is not None
            await agents[0].ask(taken.job.message)
    assert payments.paid == [] and sum(len(requests(agent)) for agent in agents) == sent


@pytest.mark.parametrize("is_streamed", [False, True])
@pytest.mark.parametrize("waits_for", ["model", "tool"])
async def test_what_a_turn_waits_for_is_cancelled_once_its_job_was_taken_over(
    waits_for: str, is_streamed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quire.session.leases.LEASE_SECONDS", 0.3)  # a third of it passes between renewals
    here, there = (SQLiteStore(tmp_path / "a.db") for _ in range(2))
    begun, ends = asyncio.Event(), list[str]()

    async def wait(*_: Any) -> Any:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ends.append("cancelled")
            raise

    async def wait_in_tool() -> str:
        return str(await wait())

    waiting = tool(name="wait")(wait_in_tool)
    node = node_of([wait if waits_for == "model" else call("wait")], waiting, store=here)
    elsewhere, job = opened(there), Job.of("Hi.", is_streamed=is_streamed)
    await elsewhere.jobs.submit(job)
    running = asyncio.create_task(outcome_of(node, job.id))
    await begun.wait()
    other, outcome = node_of(["Mine."], store=there), None
    async with asyncio.timeout(60):
        while outcome is None:
            with suppress(TurnBusy):  # the lease was renewed meanwhile: a worker tries again, too
                outcome = await other.run("clerk", job.id, scope="ana", force=True)
    assert outcome.stop == "done"
    version = elsewhere.version
    with pytest.raises(TurnLost):
        await asyncio.wait_for(running, 60)
    assert ends == ["cancelled"] and messages(elsewhere) == ["Hi.", "Mine."] and elsewhere.version == version
    await node.stop()


async def test_results_are_stored_before_a_slow_reader_is_told_of_them() -> None:
    calls = [call("pay", call_id=f"c{number}") for number in range(20)]
    agent = agent_of(calls, "Paid.", tools=[Payments().tool])
    deltas = agent.stream("go")
    await anext(deltas)  # and reads no more: the turn waits for room
    async with asyncio.timeout(60):
        while len(results(agent)) < len(calls):
            await asyncio.sleep(0)
    await deltas.aclose()


async def test_hooks_hear_of_the_turn_of_a_job_once_and_find_its_answer_stored(tmp_path: Path) -> None:
    here, there = (SQLiteStore(tmp_path / "a.db") for _ in range(2))
    heard = list[tuple[str, bool]]()

    @hook(Replying, Replied)
    def told(event: Replying | Replied) -> None:
        stored = b"".join(entry.body for entry in there.read(event.place))
        heard.append((type(event).__name__, b"Hello." in stored))

    node, job = node_of(["Hello."], store=here, hooks=[told]), Job.of("Hi.")
    await (await node.worker("clerk", "ana").open()).session.jobs.submit(job)
    opened(there).user("By another.")
    assert (await outcome_of(node, job.id)).stop == "done"
    assert heard == [("Replying", False), ("Replied", True)]


async def test_a_job_that_is_done_in_a_draft_has_its_answer() -> None:
    session, job = Session.open("ana/one", store=MemoryStore()), Job.of("Hi.")
    await session.jobs.submit(job)
    async with claim_job(parts_of(session).writer, job.id) as taken:
        assert taken.job.message is not None
        async with session.draft() as draft:
            reply = await Agent(draft, model=Scripted(["Hello."])).ask(taken.job.message)
        await taken.end(reply.stop)
    assert [one.text for one in session.view() if isinstance(one, Message)] == ["Hi.", "Hello."]
    assert session.spending.usage.output and len(session.receipts) == 1


async def test_a_preview_shows_what_others_wrote_and_records_nothing(tmp_path: Path) -> None:
    here, there = (SQLiteStore(tmp_path / "a.db") for _ in range(2))
    agent, other = agent_of("Never.", store=here), Session.open("ana/one", store=there)
    other.user("Mind the gap.")
    assert "Mind the gap." in str((await agent.preview()).render("openai").payload)
    other.refresh()
    assert agent.session.version == other.version == 1 and requests(agent) == []


async def test_a_message_that_steers_at_the_limit_is_a_turn_of_its_own() -> None:
    gate = asyncio.Event()

    async def waits(_: Any) -> str:
        await gate.wait()
        return "First."

    agent = agent_of(waits, "Second.", limits=Limits(requests=1))
    asking = asyncio.create_task(agent.ask("one"))
    while not requests(agent):
        await asyncio.sleep(0)
    coming = asyncio.create_task(agent.ask("two", while_busy="steer"))
    await asyncio.sleep(0)
    gate.set()
    assert ((await asking).text, (await coming).text) == ("First.", "Second.")
    assert said(agent) == ["one", "First.", "two", "Second."]
