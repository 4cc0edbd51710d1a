"""Jobs: accepted once, ended once, and fenced: whoever has lost one can write no more of it."""

import asyncio
from contextlib import AbstractAsyncContextManager
from contextvars import Context
from pathlib import Path
from typing import Any

import pytest

from quire import Agent, Message, Node, Note, Session, ToolCall
from quire.errors import Conflict, TurnBusy, TurnLost, UnknownId
from quire.items import ToolResult
from quire.models import Scripted
from quire.providers import Rendered
from quire.session import Job, claim_job, find_items, open_jobs, parts_of, turn_of
from quire.stores import MemoryStore, SQLiteStore, Store
from tests.session.opened import watch
from tests.stores.keeping import LASTING, kept, twin


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "jobs.db")


def opened(store: Store) -> Session:
    return Session.open("ana/pens", store=store)


def claimed(session: Session, job: str, **options: Any) -> AbstractAsyncContextManager[Any]:
    return claim_job(parts_of(session).writer, job, **options)


async def test_a_job_is_kept_until_it_has_ended(store: Store) -> None:
    session = opened(store)
    await session.aio.user("before")
    call = ToolResult("c1", "look", "seen")
    options: dict[str, Any] = {"decisions": {"c2": "no"}, "parameters": {"a": 1}, "is_streamed": True}
    job = Job.of("Hello!", results=(call,), before=(Note("ended"), Note("taken")), **options)
    before = await session.jobs.submit(job)
    assert before == 1 and session.version == 6
    assert opened(store).jobs.pending() == [job]
    async with claimed(session, job.id) as taken:
        assert taken.job == job and not taken.is_retry and session.jobs.current == job.id
        assert Context().run(lambda: session.jobs.current) is None
        outcome = await taken.end("waiting", waiting=["c2"])
    assert session.jobs.pending() == [] and session.jobs.current is None
    assert outcome == await opened(store).jobs.outcome(job.id)
    assert (outcome.stop, outcome.waiting, outcome.version) == ("waiting", ("c2",), 7)
    async with claimed(session, job.id) as taken:
        assert taken.outcome == outcome


async def test_the_same_id_is_one_job(store: Store) -> None:
    session, job = opened(store), Job.of("Hello!", id="mine")
    assert await session.jobs.submit(job) == await opened(store).jobs.submit(job) == 0
    async with claimed(session, "mine") as taken:
        assert taken.job.message is not None
        await session.aio.append(taken.job.message)
        await taken.end("done")
    version = session.version
    await session.jobs.submit(job)
    decision = Job.of(id="verdict", decisions={"c": True})
    await session.jobs.submit(decision)
    async with claimed(session, "verdict") as taken:
        await taken.end("done")
    assert await session.jobs.submit(decision) == version
    assert session.jobs.pending() == []


@pytest.mark.parametrize("is_recorded", [True, False])
async def test_a_job_that_failed_is_retried_from_where_it_was(store: Store, is_recorded: bool) -> None:
    session, options = opened(store), {"parameters": {"a": 1}, "output": {"type": "object"}}
    job = Job.of("Hello!", id="mine", before=(Note("known"),), decisions={"gone": True}, **options)
    await session.jobs.submit(job)
    with pytest.raises(Conflict):
        await session.jobs.retry("mine")
    async with claimed(session, "mine") as taken:
        if is_recorded and job.message is not None:
            await session.aio.append(*job.before, job.message)
        await taken.end("failed", error="it is down")
    again = await opened(store).jobs.retry("mine")
    assert again == await session.jobs.retry("mine") and again.parameters == {"a": 1}
    if is_recorded:
        assert again == job._replace(id=again.id, message=None, before=(), decisions={})
    else:
        assert again == Job.of(
            job.message, id=again.id, before=job.before, decisions=job.decisions, **options
        )
    await session.aio.user("Never mind.")
    with pytest.raises(Conflict):
        await session.jobs.retry("mine")
    with pytest.raises(UnknownId):
        await session.jobs.retry("nobody's")


async def test_a_job_that_was_cancelled_is_not_accepted_again(store: Store) -> None:
    session, cancelled = opened(store), Job.of("Hello!")
    for job in (cancelled, *(Job.of(id=str(number), decisions={"c": True}) for number in range(40))):
        await session.jobs.submit(job)
        if job == cancelled:
            await session.jobs.cancel(job.id)
        else:
            async with claimed(session, job.id) as taken:
                await taken.end("done")
    await session.jobs.submit(cancelled)
    assert session.jobs.pending() == []


async def test_nobody_else_takes_a_job_that_is_being_done() -> None:
    store, job = MemoryStore(), Job.of("Hello!")
    await opened(store).jobs.submit(job)
    async with claimed(opened(store), job.id):
        with pytest.raises(TurnBusy):
            async with claimed(opened(store), job.id):
                pass
    async with claimed(opened(store), job.id) as taken:  # it was let go, and not ended
        assert taken.is_retry


async def test_whoever_lost_a_job_can_write_no_more_of_it(tmp_path: Path) -> None:
    here, there = (SQLiteStore(tmp_path / "jobs.db") for _ in range(2))  # as in two processes
    job, zombie, session = Job.of("Hello!"), opened(here), opened(there)
    await zombie.jobs.submit(job)
    async with claimed(zombie, job.id) as lost:
        await zombie.aio.append(Message("user", "mine"))
        async with claimed(session, job.id, force=True) as taken:
            assert taken.is_retry
            await session.aio.user("ours")
            await taken.end("done")
        for writing in (
            zombie.aio.user("late"),
            zombie.aio.append(ToolCall("c1", "look")),
            asyncio.to_thread(zombie.user, "later"),
            turn_of(zombie).answer((), ToolResult("c1", "look", "x")),
            lost.end("done"),
            zombie.jobs.submit(Job.of("next")),  # not part of the turn, but written within it
        ):
            with pytest.raises(TurnLost):
                await writing
    assert [item.text for item in session.view() if isinstance(item, Message)] == ["mine", "ours"]
    await opened(here).aio.user("free")  # outside of a job nothing is fenced
    assert opened(there).jobs.pending() == []


@pytest.mark.parametrize("name", ["memory", *LASTING])
async def test_open_jobs_are_listed_by_scope(name: str) -> None:
    with kept(name) as held:
        ana, bob = (Session.open(f"{scope}/pens", store=held.store) for scope in ("ana", "bob"))
        first, later, secret = (
            Job.of("Hi.", id="first"),
            Job.of("Hi.", id="later", not_before=9e9),
            Job.of("Oh."),
        )
        for session, job in ((ana, first), (ana, later), (bob, secret)):
            await session.jobs.submit(job)

        def listed(scope: str | None = None) -> list[tuple[str, str]]:
            return sorted((one.job, one.state) for one in open_jobs(held.store, scope))

        held.reopen()
        assert listed("ana") == [("first", "waiting"), ("later", "waiting")] and len(listed()) == 3
        async with claimed(Session.open("ana/pens", store=held.store), "first") as taken:
            running = [one.job for one in open_jobs(held.store, "ana") if one.state == "running"]
            assert running == ["first"]
            await taken.end("done")
        assert listed("ana") == [("later", "waiting")]
        Session.open("bob/pens", store=held.store).forget()
        assert listed("bob") == []
        async with claimed(Session.open("ana/pens", store=held.store), "later") as taken:
            await taken.end("done")
        assert listed() == []
        if held.store.knows_open_jobs:
            assert held.store.with_open_jobs() == []


SECRET = "the secret is swordfish"
CALL = ToolCall("c1", "look")
LOOK: dict[str, Any] = {
    "name": "look",
    "description": "Look.",
    "parameters": {"type": "object", "properties": {}},
}


@pytest.mark.parametrize(
    "job",
    [
        Job.of(SECRET, id="mine", parameters={"a": SECRET}, output={"title": SECRET}),
        Job.of(SECRET, id="mine", parameters={"a": SECRET}, steers=True),
        Job.of("Hello!", id="mine", parameters={"a": SECRET}),
        Job.of(id="mine", results=(ToolResult("c1", "look", SECRET),), parameters={"a": SECRET}),
        Job.of(id="mine", decisions={"c1": SECRET}),
        Job.of(id="mine", decisions={CALL.id: SECRET}),
    ],
    ids=["message", "steering", "parameters", "result", "reason", "reason by item"],
)
@pytest.mark.parametrize("has_begun", [False, True])
async def test_what_a_job_brings_is_forgotten_with_it(job: Job, has_begun: bool) -> None:
    asked, store = list[Rendered](), MemoryStore()

    def answer(sent: Rendered) -> str:
        asked.append(sent)
        return "Hello."

    node = Node(store=store)
    model = Scripted(answer)
    node.add("clerk", lambda one: Agent(one, model=model))
    session = node.session("clerk", "ana")
    await Agent(session, model=Scripted([CALL])).ask("Look.", tools=[LOOK])
    await session.jobs.submit(job)
    if has_begun:
        assert (await node.run("clerk", job.id, scope="ana")).stop in ("done", "failed")
        asked.clear()
    session.forget(*(find_items(session, "swordfish") or [job.id]))  # parameters are no item
    assert b"swordfish" not in b"".join(entry.body for entry in store.read(session.place))
    again = Node(store=twin(store))
    again.add("clerk", lambda one: Agent(one, model=model))
    pending = again.session("clerk", "ana").jobs.pending()
    assert [one.id for one in pending] == ([] if has_begun else ["mine"])
    for one in (again, node):
        stop = (await one.run("clerk", job.id, scope="ana")).stop
        assert not asked and has_begun == (stop != "cancelled")


async def test_a_checkpoint_knows_the_jobs(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "jobs.db")
    session = opened(store)
    first, second = Job.of("one"), Job.of("two")
    for job in (first, second):
        await session.jobs.submit(job)
    async with claimed(session, first.id):
        session.append(*[Message("user", str(number)) for number in range(300)])
    session.close()
    again = opened(SQLiteStore(tmp_path / "jobs.db"))
    assert again.jobs.pending() == [first, second] and again.jobs.current == first.id


async def test_accepting_a_decision_does_not_read_the_jobs_before_it(store: Store) -> None:
    session = opened(store)
    for number in range(40):
        await session.jobs.submit(Job.of(id=str(number), decisions={"c": True}))
        async with claimed(session, str(number)) as taken:
            await taken.end("done")
    reads: list[str] = []
    watch(store, lambda verb, _: reads.append(verb), ("read_at", "versions_of"))
    await session.jobs.submit(Job.of(id="new", decisions={"c": True}))
    await session.jobs.submit(Job.of(id="39", decisions={"c": True}))
    assert reads == [] and [job.id for job in session.jobs.pending()] == ["new"]
