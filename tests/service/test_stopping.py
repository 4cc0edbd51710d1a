"""The end of a service: turns end or are handed over, and what was accepted is answered once."""

import asyncio
import signal
import sys
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
import pytest

from quire.agent import Agent
from quire.errors import StoreFailed
from quire.items import new_id
from quire.models import Scripted
from quire.node import Node
from quire.service import app
from quire.stores import SQLiteStore
from tests.cli.command_line import refused, run
from tests.service.serving import PATIENCE, Forked, Gate, quire, serving, support, until, until_ended

NODE = Path(__file__).with_name("durable_node.py")


@pytest.mark.parametrize("stream", [True, False])
def test_a_turn_that_takes_longer_is_answered_after_the_next_start(tmp_path: Path, stream: bool) -> None:
    gate = Gate()
    with support(tmp_path / "store.db", gate, grace=0.1) as served:
        body = {"content": "hello", "stream": stream}
        accepted = served.client.post(served.path(rest="/messages"), json=body).json()
        waiting = served.client.post(served.path(rest="/messages"), json={"content": "and another"}).json()
        assert gate.asked.wait(PATIENCE)
    with support(tmp_path / "store.db") as served:
        with served.stream("GET", accepted["events"]) as events:
            ended = [one.data["job"] for one in islice((e for e in events if e.name == "ended"), 2)]
        assert ended == [accepted["job"], waiting["job"]]
        contents = [item["content"] for item in served.get("/items")["items"]]
        assert contents == ["hello", "You said: hello", "and another", "You said: and another"]


@pytest.mark.parametrize("verb", ["recent", "versions_of"])
def test_a_store_that_fails_at_the_start_is_asked_again(
    tmp_path: Path, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with support(tmp_path / "store.db", Gate(), grace=0) as served:
        accepted = served.client.post(served.path(rest="/messages"), json={"content": "hello"}).json()
    store = SQLiteStore(tmp_path / "store.db")
    works = getattr(store, verb)

    def fail_once(*given: Any, **named: Any) -> Any:
        monkeypatch.setattr(store, verb, works)
        raise StoreFailed("the database is locked")

    monkeypatch.setattr(store, verb, fail_once)
    with support(store) as served, served.stream("GET", accepted["events"]) as events:
        assert until_ended(events)[-1].data["job"] == accepted["job"]


def test_words_of_a_turn_that_is_done_again_reach_who_had_words_of_the_first_attempt(tmp_path: Path) -> None:
    asked = threading.Event()

    class Stuck(Scripted):
        """Says some words, and then nothing."""

        async def _deltas(self, sent: Any, terms: Any) -> AsyncGenerator[Any, None]:
            async for piece in super()._deltas(sent, terms):
                yield piece
                if asked.is_set():
                    await asyncio.sleep(3_600)
                asked.set()

    node = Node(store=tmp_path / "store.db")
    node.add("support", lambda session: Agent(session, model=Stuck(["One two three four five six"])))
    with (
        serving(app(node, grace=0.1)) as served,
        served.stream("POST", served.path(rest="/messages"), json={"content": "hello"}) as events,
    ):
        last = next(event for event in events if event.name == "words")
    with support(tmp_path / "store.db") as served:
        with served.stream("GET", served.path(rest="/events"), {"Last-Event-ID": last.id}) as events:
            told = until_ended(events)
        names = [event.name for event in told if event.name != "item"]
        assert (names.count("begun"), names[-1]) == (1, "ended")
        assert set(names[names.index("begun") + 1 : -1]) == {"words"}


def test_streams_end_with_the_service_and_nothing_is_accepted_meanwhile(tmp_path: Path) -> None:
    gate = Gate()
    with support(tmp_path / "store.db", gate, grace=PATIENCE) as served:
        service = served.application.state.service
        with served.stream("POST", served.path(rest="/messages"), json={"content": "hello"}) as events:
            next(events)
            assert gate.asked.wait(PATIENCE)
            loop = service.runner._finding.get_loop()
            stopping = asyncio.run_coroutine_threadsafe(service.stop(), loop)
            until(lambda: served.client.get("/ready").status_code != 200)
            refused = served.client.post(served.path(rest="/messages"), json={"content": "late"})
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
            gate.is_open.set()
            assert [event.name for event in events][-1] == "ended"
            stopping.result(PATIENCE)


def test_a_reader_that_is_behind_gets_all_that_was_recorded_before_the_service_stopped() -> None:
    with support() as served:
        recorded = [event[1:] for event in served.streamed("look at it") if event.name != "words"]
        served.application.state.service.readers.close()
        with served.stream("GET", served.path(rest="/events"), params={"after": "0"}) as events:
            assert [event[1:] for event in events if event.name != "words"] == recorded


def test_messages_are_refused_while_too_many_wait_that_could_begin(tmp_path: Path) -> None:
    gate = Gate()
    with support(tmp_path / "store.db", gate, max_jobs=2) as served:

        def send(name: str, delay: float = 0) -> Any:
            body = {"content": "hello", "delay": delay}
            return served.client.post(served.path(name, "/messages"), json=body)

        assert {send("delayed", 3_600).status_code for _ in range(3)} == {202}
        assert [send("a").status_code, send("b").status_code] == [202, 202]
        refused = send("c")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
        assert refused.headers["content-type"] == "application/problem+json"
        assert served.client.get(served.path("c")).status_code == 404
        gate.is_open.set()
        until(lambda: send("d").status_code == 202)


@contextmanager
def started(folder: Path) -> Generator[tuple[Forked, httpx.Client]]:
    """`quire serve` as a process."""
    where = {"QUIRE_TEST_STORE": str(folder / "store.db"), "QUIRE_TEST_FOLDER": str(folder)}
    process = Forked(folder / new_id(), quire, "serve", str(NODE), "--port", "0", "--grace", "60", **where)
    try:
        address = until(lambda: process.printed().strip())
        with httpx.Client(base_url=address, timeout=PATIENCE) as client:
            yield process, client
    finally:
        if process.is_running:
            process.send(signal.SIGKILL)


def test_a_process_that_is_killed_in_mid_turn_answers_once_after_its_restart(tmp_path: Path) -> None:
    path = "/agents/shop/conversations/c/messages"
    with started(tmp_path) as (process, client):
        accepted = client.post(path, json={"content": "book 4A", "stream": True})
        assert accepted.status_code == 202
        until((tmp_path / f"4A.{process.pid}").exists)
        process.send(signal.SIGKILL)
    with started(tmp_path) as (process, client):
        until((tmp_path / f"4A.{process.pid}").exists)  # it goes on where the record ends
        process.send(signal.SIGTERM)
        (tmp_path / "4A").touch()
        assert process.wait() in (0, -signal.SIGTERM)
    node = Node(store=tmp_path / "store.db")
    node.add("shop", lambda session: Agent(session, model=Scripted([])))
    with serving(app(node)) as served, served.stream("GET", accepted.json()["events"]) as events:
        told = [event.data["item"]["kind"] for event in until_ended(events) if event.name == "item"]
    assert told == ["message", "message", "tool_call", "tool_result", "message"]
    assert len(list(tmp_path.glob("booked.4A.*"))) == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "which node?"),
        (["nothing.py"], "there is no Python file at nothing.py"),
        ([str(NODE), "--host", "0.0.0.0"], "give --keys"),
        ([f"{NODE}:other"], "no variable 'other'"),
        ([str(NODE), "--keys", "nothing.toml"], "nothing.toml"),
    ],
)
def test_what_cannot_be_served_is_said(
    arguments: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUIRE_TEST_STORE", "memory:")
    monkeypatch.setenv("QUIRE_TEST_FOLDER", str(tmp_path))
    result = run("serve", *arguments)
    assert result.exit_code == 2 and told in result.stderr


@pytest.mark.parametrize("command", ["serve", "work"])
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("import prices_beside\nraise ValueError(prices_beside.PEN)", ", line 2: ValueError: two euros"),
        ("import nowhere_at_all", ", line 1: ModuleNotFoundError: No module named 'nowhere_at_all'"),
        ("node = 1\nnode = (", ": SyntaxError: '(' was never closed (shop.py, line 2)"),
    ],
)
def test_a_file_is_run_beside_its_modules_and_its_errors_are_told_in_a_line(
    command: str, text: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("QUIRE_POSTGRES_CONNECTIONS", "4")  # `work` chooses a number for its process
    (tmp_path / "prices_beside.py").write_text("PEN = 'two euros'")
    shop = tmp_path / "shop.py"
    shop.write_text(text)
    assert refused(2, command, str(shop)) == f"quire: {shop}{told}\n"


def test_a_new_key_is_printed_with_its_row() -> None:
    result = run("serve", "--new-key", "app")
    assert result.exit_code == 0
    assert 'name = "app"' in result.stdout and "quire_" in result.stderr and "quire_" not in result.stdout
