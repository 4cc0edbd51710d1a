"""Durable turns: real workers, real signals, and a real PostgreSQL.

Two workers run all the time. A test finds out which one does its job, and does to that one what it is about;
another takes its place.
"""

import asyncio
import signal
import sys
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import aclosing, asynccontextmanager
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import openai
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from quire import Agent, Message, Node, Session
from quire.errors import InvalidValue, MissingExtra, StoreFailed
from quire.items import now
from quire.models import Scripted
from quire.service import app
from quire.service.runner import Piece
from quire.session import Job, Outcome
from quire.stores import Store
from quire.stores.link import Link
from quire.stores.postgres import PostgresStore
from tests.service.serving import PATIENCE, Forked, Served, quire, serving
from tests.stores.server import database

durable = pytest.importorskip("quire.service.durable")
working = pytest.importorskip("quire.service.worker")
Worker = working.Worker

NODE = Path(__file__).with_name("durable_node.py")
T = TypeVar("T")


class Shop:
    """A database, a runner that accepts jobs, and the workers that do them."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url, self.folder = url, folder
        self.node = Node(store=url)
        self.workers: dict[int, Forked] = {}
        self._numbers = count(1)

    def tend(self) -> None:
        """Let workers take the places of those that ended."""
        self.workers = {pid: worker for pid, worker in self.workers.items() if worker.is_running}
        while len(self.workers) < 2:
            # A worker that is slow is never taken for dead: a test says which one is; see `give_up`.
            settings = ("--beat", "0.2", "--stale", "3600", "--grace", "0", "--concurrency", "8")
            where = {"QUIRE_TEST_STORE": self.url, "QUIRE_TEST_FOLDER": str(self.folder)}
            log = self.folder / f"worker {next(self._numbers)}"
            worker = Forked(log, quire, "work", str(NODE), *settings, **where)
            self.workers[worker.pid] = worker

    def give_up(self, worker: Forked) -> None:
        """Have a worker taken for dead, as if it had not been seen for long."""
        name = worker.printed(".err").split()[1]
        self.execute("UPDATE quire.workers SET seen = now() - interval '2 hours' WHERE id = %s", name)

    def execute(self, query: str, *given: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(make_conninfo(self.url)) as connection:
            done = connection.execute(query.encode(), given)
            return [] if done.description is None else done.fetchall()

    def runner(self) -> Any:
        return durable.DurableRunner(self.node)

    def session(self, conversation: str) -> Session:
        return self.node.session("shop", "", conversation)

    def said(self, conversation: str) -> list[str]:
        """What was said in a conversation, in order."""
        return [item.text for item in self.session(conversation).view() if isinstance(item, Message)]

    async def submit(self, conversation: str, message: str, **fields: Any) -> str:
        """Have a job accepted; its id."""
        job = Job.of(message, **fields)
        runner = self.runner()
        try:
            await runner.submit("shop", "", conversation, job)
        finally:
            await runner.stop(0)
        return job.id

    async def outcome(self, conversation: str, job: str) -> Outcome:
        """How a job ends."""
        jobs = self.session(conversation).jobs

        async def found() -> Outcome | None:
            self.tend()
            return await jobs.outcome(job)

        return await happens(found)

    async def doer(self, name: str, but: int = 0) -> Forked:
        """The worker that waits for a file, once one does."""

        async def found() -> Forked | None:
            self.tend()
            pids = {int(path.suffix[1:]) for path in self.folder.glob(f"{name}.*")} - {but}
            return next((self.workers[pid] for pid in pids & self.workers.keys()), None)

        return await happens(found)

    def go(self, name: str) -> None:
        """Let those that wait for a file go on."""
        (self.folder / name).touch()

    def traces(self, kind: str) -> int:
        return len(list(self.folder.glob(f"{kind}.*")))


async def words_of(runner: Any, conversation: str, job: str) -> str:
    told = runner.deltas("shop", "", conversation, job)
    return "".join([one.text async for one in told if one.kind == "words"])


async def happens(find: Callable[[], Awaitable[T | None]]) -> T:
    """What is found, once it is."""
    end = time.monotonic() + PATIENCE
    while (found := await find()) is None:
        assert time.monotonic() < end, "it did not happen in time"
        await asyncio.sleep(0.02)
    return found


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Generator[Shop, None, None]:
    with database() as url:
        shop = Shop(url, tmp_path_factory.mktemp("shop"))
        asyncio.run(_prepared(shop.runner()))
        shop.tend()
        try:
            yield shop
        finally:
            for worker in shop.workers.values():
                worker.send(signal.SIGKILL)
            shop.node.store.close()


async def _prepared(runner: Any) -> None:
    await runner.start()
    await runner.stop(0)


async def test_jobs_of_a_conversation_are_done_in_the_order_they_were_accepted(shop: Shop) -> None:
    jobs = [await shop.submit("order", f"message {nth}") for nth in range(5)]

    assert (await shop.outcome("order", jobs[-1])).stop == "done"
    assert shop.said("order") == [
        text for nth in range(5) for text in (f"message {nth}", f"You said: message {nth}")
    ]


async def test_a_job_that_is_accepted_twice_is_one_job(shop: Shop) -> None:
    await shop.submit("twice", "hello", id="the-key")
    await shop.outcome("twice", "the-key")
    await shop.submit("twice", "hello", id="the-key")
    last = await shop.submit("twice", "and now")

    await shop.outcome("twice", last)
    assert shop.said("twice") == ["hello", "You said: hello", "and now", "You said: and now"]


async def test_a_delayed_job_waits_and_holds_up_no_other(shop: Shop) -> None:
    begun = now()
    later = await shop.submit("delayed", "later", not_before=begun + 3_600.0)
    soon = await shop.submit("delayed", "soon", not_before=begun + 0.5)
    await shop.outcome("delayed", soon)
    assert now() >= begun + 0.5
    await shop.outcome("delayed", await shop.submit("delayed", "at once"))
    assert await shop.session("delayed").jobs.outcome(later) is None
    assert shop.said("delayed")[::2] == ["soon", "at once"]


async def test_a_failure_that_passes_is_tried_again(shop: Shop) -> None:
    job = await shop.submit("limited", "limited once")

    assert (await shop.outcome("limited", job)).stop == "done"
    assert shop.said("limited") == ["limited once", "You said: limited once"]


async def test_a_schedule_is_one_job_for_each_tick_whoever_sends_it(shop: Shop) -> None:
    async def two() -> list[str] | None:
        ids = [item.id for item in shop.session("scheduled").view() if isinstance(item, Message)]
        ticks = [one for one in ids if one.startswith("tick ")]
        return ticks if len(ticks) >= 2 else None

    ticks = await happens(two)
    assert len(set(ticks)) == len(ticks)
    assert shop.said("scheduled")[:2] == ["what is new", "You said: what is new"]


async def test_what_workers_did_when_they_were_killed_is_done_by_others_and_nothing_twice(shop: Shop) -> None:
    verbs = ("model", "book", "pay")
    jobs = {verb: await shop.submit(verb, f"{verb} {verb}ing") for verb in verbs}
    killed = {worker.pid: worker for verb in verbs for worker in [await shop.doer(f"{verb}ing")]}
    for worker in killed.values():
        worker.send(signal.SIGKILL)  # its lease ends with its connection
    await shop.doer("modeling")
    await shop.doer("booking")
    for verb in verbs:
        shop.go(f"{verb}ing")

    assert [(await shop.outcome(verb, jobs[verb])).stop for verb in verbs] == ["done"] * 3
    assert shop.said("model") == ["model modeling", "You said: model modeling"]
    assert shop.said("book") == ["book booking", "One moment.", "It is done: booked booking"]
    assert shop.traces("booked.booking") == 1  # begun twice, with the id of one call
    assert shop.traces("paid.paying") == 1  # begun once: it is not idempotent


async def test_a_worker_that_was_taken_for_dead_writes_nothing_more_and_ends(shop: Shop) -> None:
    job = await shop.submit("zombie", "model zombie", is_streamed=True)
    worker = await shop.doer("zombie")
    worker.send(signal.SIGSTOP)
    shop.give_up(worker)
    await shop.doer("zombie", but=worker.pid)
    shop.go("zombie")
    assert (await shop.outcome("zombie", job)).stop == "done"
    version = shop.node.store.version(shop.session("zombie").place)

    worker.send(signal.SIGCONT)  # its model answers at once
    assert worker.wait() != 0 and "counts as dead" in worker.printed(".err")
    assert shop.node.store.version(shop.session("zombie").place) == version
    assert shop.said("zombie") == ["model zombie", "You said: model zombie"]
    runner = shop.runner()
    assert await words_of(runner, "zombie", job) == "You said: model zombie"
    await runner.stop(0)


async def test_a_worker_that_lost_its_lease_cancels_its_requests_and_writes_nothing_more(shop: Shop) -> None:
    job = await shop.submit("lost", "model lost")
    worker = await shop.doer("lost")
    name = worker.printed(".err").split()[1]
    shop.execute("UPDATE quire.workers SET state = 'dead' WHERE id = %s", name)
    await shop.doer("lost", but=worker.pid)
    version = shop.node.store.version(shop.session("lost").place)

    assert worker.wait() == 1 and shop.traces("cancelled.lost") == 1
    assert shop.node.store.version(shop.session("lost").place) == version
    shop.go("lost")
    assert (await shop.outcome("lost", job)).stop == "done"
    assert shop.said("lost") == ["model lost", "You said: model lost"]


async def test_a_job_that_ends_its_worker_three_times_fails_with_a_reason(shop: Shop) -> None:
    job = await shop.submit("deadly", "deadly")
    outcome = await shop.outcome("deadly", job)
    assert (outcome.stop, outcome.error) == ("failed", "its worker died 3 times")

    again = await shop.submit("deadly", "hello")  # the person who looks into it sends another
    assert (await shop.outcome("deadly", again)).stop == "done"
    assert shop.said("deadly") == ["deadly", "hello", "You said: hello"]


async def test_a_worker_that_is_told_to_stop_hands_over_at_once_and_prints_nothing(shop: Shop) -> None:
    job = await shop.submit("stopped", "model stopped")
    worker = await shop.doer("stopped")
    worker.send(signal.SIGTERM)
    await shop.doer("stopped", but=worker.pid)
    shop.go("stopped")

    assert (await shop.outcome("stopped", job)).stop == "done"
    assert shop.said("stopped") == ["model stopped", "You said: model stopped"]
    assert (worker.wait(), worker.printed()) == (0, "")


async def test_a_stream_is_resumed_from_a_number_across_a_take_over(shop: Shop) -> None:
    job = await shop.submit("streamed", "book seat", is_streamed=True)
    runner = shop.runner()
    worker = await shop.doer("seat")
    first: list[Piece] = []
    async with aclosing(runner.deltas("shop", "", "streamed", job)) as told:
        async for one in told:
            first.append(one)
            if one.kind == "recorded":
                break
    worker.send(signal.SIGKILL)
    shop.go("seat")
    rest = [one async for one in runner.deltas("shop", "", "streamed", job, after=first[-1].number)]
    again = [one async for one in runner.deltas("shop", "", "streamed", job)]

    assert first[0] == Piece(1, "words", "One moment.")
    assert "".join(one.text for one in rest if one.kind == "words") == "It is done: booked seat"
    assert again == [*first, *rest]
    assert [one.number for one in again] == list(range(1, len(again) + 1))
    assert [one async for one in runner.deltas("shop", "", "streamed", "none")] == []
    await runner.stop(0)


async def test_words_and_the_end_of_a_job_come_by_notifications(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quire.stores.notifications._POLL_SECONDS", 3_600.0)  # no poll finds anything
    node = Node(store=PostgresStore(shop.url))
    runner, job = durable.DurableRunner(node), Job.of("model notified", is_streamed=True)
    await runner.submit("shop", "", "notified", job)
    ended = asyncio.create_task(runner.ended("shop", "", "notified", job.id))
    told = asyncio.create_task(words_of(runner, "notified", job.id))
    await shop.doer("notified")

    async def is_watched() -> bool | None:
        key = durable.Reference("shop", "", "notified", job.id).key.hex()
        return (key,) in shop.execute("SELECT encode(address, 'hex') FROM quire.watchers") or None

    await happens(is_watched)
    shop.go("notified")
    assert await asyncio.wait_for(told, PATIENCE) == "You said: model notified"
    assert await asyncio.wait_for(ended, PATIENCE)
    await runner.stop(0)
    node.store.close()


async def test_words_that_are_written_after_the_end_of_their_job_are_told(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner, read = shop.runner(), durable.read_pieces
    with psycopg.connect(make_conninfo(shop.url)) as connection:
        connection.execute("LOCK TABLE quire.pieces IN SHARE MODE")  # it can be read, and not written
        job = await shop.submit("late", "hello", is_streamed=True)
        await shop.outcome("late", job)

        def freed(*given: Any) -> Any:
            found = read(*given)
            connection.rollback()
            return found

        monkeypatch.setattr(durable, "read_pieces", freed)
        assert await words_of(runner, "late", job) == "You said: hello"
    await runner.stop(0)


async def test_a_job_and_its_order_are_written_both_or_not_at_all(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(durable, "_ENQUEUE", "SELECT 1 / 0")
        with pytest.raises(StoreFailed):
            await shop.submit("neither", "lost", id="lost")
    assert shop.node.store.version(shop.session("neither").place) == 0
    assert shop.session("neither").jobs.pending() == []

    job = await shop.submit("neither", "found", id="lost")
    assert (await shop.outcome("neither", job)).stop == "done"
    assert shop.said("neither") == ["found", "You said: found"]


async def test_a_server_that_cuts_all_connections_stops_nobody(shop: Shop) -> None:
    runner = shop.runner()
    await runner.submit("shop", "", "cut", Job.of("before", id="before"))
    await shop.outcome("cut", "before")
    held = await shop.submit("held", "model held")
    await shop.doer("held")
    shop.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    shop.go("held")

    await runner.submit("shop", "", "cut", Job.of("after", id="after"))
    await runner.stop(0)
    assert (await shop.outcome("cut", "after")).stop == "done"
    assert (await shop.outcome("held", held)).stop == "done"
    assert shop.said("cut") == ["before", "You said: before", "after", "You said: after"]
    with Link(shop.url).connected() as connection:  # the locks of who is stopped within a transaction
        assert connection.execute("SHOW idle_in_transaction_session_timeout").fetchone() == ("15s",)


@pytest.fixture(scope="module")
def served(shop: Shop) -> Generator[Served]:
    node = Node(store=shop.url)
    node.add("shop", lambda session: Agent(session, model=Scripted("of the workers")))
    with serving(app(node, runner=durable.DurableRunner(node))) as one:
        yield one


@pytest.fixture(scope="module")
def client(served: Served) -> openai.OpenAI:
    address = f"http://127.0.0.1:{served.port}/v1"
    return openai.OpenAI(base_url=address, api_key="none", max_retries=0)


async def respond(client: openai.OpenAI, said: str, conversation: str) -> Any:
    """A response in the background."""
    asked: Any = {"model": "shop", "input": said, "conversation": conversation, "background": True}
    create: Any = client.responses.create
    response = await asyncio.to_thread(create, **asked)
    assert response.status in ("queued", "in_progress")
    return response


async def ended(client: openai.OpenAI, shop: Shop, response: Any) -> Any:
    async def found() -> Any:
        shop.tend()
        one = await asyncio.to_thread(client.responses.retrieve, response.id)
        return one if one.status not in ("queued", "in_progress") else None

    return await happens(found)


async def test_a_response_in_the_background_is_done_by_a_worker_and_another_cancelled(
    shop: Shop, client: openai.OpenAI
) -> None:
    first = await respond(client, "model background", "background")
    second = await respond(client, "never", "background")
    await shop.doer("background")
    states = [client.responses.retrieve(one.id).status for one in (first, second)]
    assert states == ["in_progress", "queued"]
    cancelled = await asyncio.to_thread(client.responses.cancel, second.id)
    assert (cancelled.id, cancelled.status) == (second.id, "cancelled")
    shop.go("background")

    done = await ended(client, shop, first)
    assert (done.status, done.output_text) == ("completed", "You said: model background")
    assert shop.said("background") == ["model background", "You said: model background"]


async def test_a_response_that_a_worker_writes_is_cancelled_at_once(
    shop: Shop, client: openai.OpenAI
) -> None:
    response = await respond(client, "model endless", "cancelled")
    worker = await shop.doer("endless")
    cancelled = await asyncio.to_thread(client.responses.cancel, response.id)

    assert cancelled.status == "cancelled" and cancelled.output_text == ""
    assert shop.traces("cancelled.endless") == 1 and worker.is_running  # the model is asked no more
    after = await respond(client, "and now", "cancelled")
    assert (await ended(client, shop, after)).output_text == "You said: and now"


async def test_jobs_of_workers_are_listed_cancelled_and_interrupted(shop: Shop, served: Served) -> None:
    path = served.path("native", "/messages", agent="shop")
    job = served.client.post(path, json={"content": "later", "delay": 3_600}).json()["job"]
    listed = served.client.get("/agents/shop/jobs", params={"state": "waiting"}).json()["jobs"]
    assert job in [one["job"] for one in listed]
    route = served.path("native", f"/jobs/{job}/cancel", agent="shop")
    assert served.client.post(route).json()["state"] == "cancelled"
    assert served.client.post(route).status_code == 404

    running = served.client.post(path, json={"content": "model native"}).json()["job"]
    await shop.doer("native")
    body = {"content": "rather this", "while_busy": "interrupt"}
    last = served.client.post(path, json=body).json()["job"]
    assert (await shop.outcome("native", running)).stop == "cancelled"
    assert (await shop.outcome("native", last)).stop == "done"
    assert shop.said("native")[-1] == "You said: rather this"


@asynccontextmanager
async def at_work(store: Any, **options: Any) -> AsyncGenerator[Any]:
    """A runner that accepts jobs and a worker that does them, both in this process."""
    node = Node(store=store)
    node.add("shop", lambda session: Agent(session, model=Scripted(lambda _: "the secret")))
    runner, worker = durable.DurableRunner(node), Worker(node, grace=10.0, **options)
    await runner.start()
    task = asyncio.create_task(worker.run())
    yield runner, node.session("shop", "", "c").jobs
    worker.stop()
    await task
    await runner.stop(0)
    node.store.close()


async def test_an_encrypted_store_stays_so_and_what_the_engine_keeps_is_removed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(working, "_SWEEP_SECONDS", 0.0)
    with database() as url, psycopg.connect(make_conninfo(url), autocommit=True) as connection:
        async with at_work(Store.open(url, key=b"k" * 32), beat=0.1, keep=0.0) as (runner, jobs):
            job = Job.of("the question", is_streamed=True)
            await runner.submit("shop", "", "c", job)
            assert (await happens(lambda: jobs.outcome(job.id))).stop == "done"

            async def is_swept() -> bool | None:
                return not connection.execute("SELECT FROM dbos.workflow_status").fetchall() or None

            await happens(is_swept)
        assert connection.execute("SELECT body FROM quire.pieces").fetchall() == []
        bodies = connection.execute("SELECT body FROM quire.entries").fetchall()
    assert bodies and not any(b"secret" in body or b"question" in body for (body,) in bodies)


async def test_an_idle_worker_polls_no_queue_and_is_woken_by_a_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def is_asleep() -> bool | None:
        return not any(thread.name.startswith("queue-worker-") for thread in threading.enumerate()) or None

    async def is_awake() -> bool | None:
        return await is_asleep() is None or None

    with database() as url:
        async with at_work(url) as (runner, jobs):
            await happens(is_awake)
            monkeypatch.setattr(working, "_IDLE_SECONDS", 0.0)
            await happens(is_asleep)
            monkeypatch.setattr(working, "_POLL_SECONDS", 3_600.0)  # only a notification ends its sleep
            job = Job.of("hello")
            await runner.submit("shop", "", "c", job)
            assert (await happens(lambda: jobs.outcome(job.id))).stop == "done"


def test_durable_turns_need_postgresql() -> None:
    with pytest.raises(InvalidValue, match="PostgreSQL"):
        durable.DurableRunner(Node())


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dbos", None)
    monkeypatch.delitem(sys.modules, "quire.service.durable")
    with pytest.raises(MissingExtra, match=r"quire\[durable\]"):
        import_module("quire.service.durable")
