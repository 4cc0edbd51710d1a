"""Events: in the order of the record, resumable at any place, and cheap for those who only wait."""

import asyncio
import socket
from collections.abc import Generator, Sequence
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import pytest

from quire.items import Note
from quire.session import Job, Session
from quire.stores import Place, Store
from tests.conftest import DRAWS_THE_SAME
from tests.service.serving import PATIENCE, Gate, Sent, Served, support, until, until_ended
from tests.session.opened import watch

QUESTION = "look at it"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    with support(tmp_path_factory.mktemp("events") / "store.db") as running:
        yield running


@pytest.fixture(scope="module")
def whole(served: Served) -> list[Sent]:
    """All events of an answer with two calls."""
    return served.streamed(QUESTION)


def told(events: Sequence[Sent]) -> list[Any]:
    """What events say, without the ids of this run, and however the words were cut into pieces."""
    found = list[Any]()
    for name, group in groupby(events, lambda event: event.name):
        if name == "words":
            found.append((name, "".join(event.data["text"] for event in group)))
        else:
            found += [(name, event.data.get("item", {}).get("content")) for event in group]
    return found


def test_the_words_of_a_response_come_before_its_items_and_after_what_was_recorded(whole: list[Sent]) -> None:
    names = [event.name for event in whole]
    assert names[:3] == ["accepted", "begun", "item"]
    ended: dict[str, Any] = {"job": whole[0].data["job"], "stop": "done", "waiting": [], "error": ""}
    assert whole[-1][1:] == ("ended", ended)
    said = ""
    for event in whole[3:]:
        said += event.data["text"] if event.name == "words" else ""
        item = event.data.get("item", {})
        if item.get("role") == "assistant":
            assert item["content"] == said
            said = ""


def test_a_stream_that_was_cut_goes_on_without_loss_or_repetition(served: Served, whole: list[Sent]) -> None:
    path = served.path(rest="/events")
    for cut in range(len(whole) - 1):
        with served.stream("GET", path, {"Last-Event-ID": whole[cut].id}) as events:
            assert [event[1:] for event in until_ended(events)] == [event[1:] for event in whole[cut + 1 :]]
        with served.stream("GET", path, params={"after": whole[cut].id}) as events:
            assert next(events)[1:] == whole[cut + 1][1:]


@pytest.mark.parametrize("cut", [1, 2, 3, 4, 6, 9])
def test_a_stream_that_is_cut_while_the_answer_runs_goes_on(
    served: Served, whole: list[Sent], cut: int
) -> None:
    name = f"live {cut}"
    with served.stream("POST", served.path(name, "/messages"), json={"content": QUESTION}) as events:
        first = list(islice(events, cut))
    with served.stream("GET", served.path(name, "/events"), {"Last-Event-ID": first[-1].id}) as events:
        assert told(first + until_ended(events)) == told(whole)


def test_a_second_reader_gets_the_turn_that_runs_from_its_beginning(tmp_path: Path) -> None:
    gate = Gate()
    with support(tmp_path / "store.db", gate) as served:
        path = served.path(rest="/messages")
        assert served.client.post(path, json={"content": "hello", "stream": True}).status_code == 202
        assert gate.asked.wait(PATIENCE)
        follow = served.get("/items")["events"]
        with served.stream("GET", served.path(rest="/events")) as events:
            assert [next(events).name for _ in range(3)] == ["accepted", "begun", "item"]
            gate.is_open.set()
            rest = told(until_ended(events))
        assert [name for name, _ in rest] == ["words", "item", "ended"]
        with served.stream("GET", follow) as events:
            assert told(until_ended(events))[3:] == rest


def test_words_that_come_fast_are_few_events_for_every_reader(tmp_path: Path) -> None:
    words = "word " * 4_000
    with support(tmp_path / "store.db", lambda _: words) as served:
        events = served.streamed("hello")
        spoken = [event.data["text"] for event in events if event.name == "words"]
        assert "".join(spoken) == words
        assert len(spoken) < 2_000
        with served.stream("GET", served.path(rest="/events"), params={"after": 0}) as again:
            assert [event[1:] for event in until_ended(again)] == [event[1:] for event in events]


def test_events_of_a_conversation_that_begins_again_say_so(served: Served, tmp_path: Path) -> None:
    served.send("hello", "gone")
    place = served.application.state.service.node.session("support", "", "gone").place
    with served.stream("GET", served.path("gone", "/events")) as events:
        served.application.state.service.node.store.remove(place)
        assert next(events).name == "reset"
        served.client.post(served.path("gone", "/messages"), json={"content": "again"})
        assert until_ended(events)[0].name == "accepted"


@pytest.mark.parametrize("delay", [0, 3_600])
def test_a_stream_that_waits_for_a_job_ends_if_its_conversation_is_removed(
    tmp_path: Path, delay: float
) -> None:
    with support(tmp_path / "store.db", Gate(), grace=0) as served:
        node = served.application.state.service.node
        path, place = served.path(rest="/messages"), node.session("support", "", "c").place
        with served.stream("POST", path, json={"content": "hello", "delay": delay}) as events:
            told = list(islice(events, 1 if delay else 3))
            node.store.remove(place)
            *_, last = events
        assert (last.name, last.data["job"], last.data["stop"]) == ("ended", told[0].data["job"], "removed")


def test_items_that_a_job_brings_are_no_events_before_they_are_recorded(served: Served) -> None:
    session = served.application.state.service.node.session("support", "", "brought")
    asyncio.run(session.jobs.submit(Job.of("hello", before=(Note("taken"), Note(7)))))
    served.send("and now", "brought")
    with served.stream("GET", served.path("brought", "/events"), params={"after": "0"}) as events:
        names = [event.name for event in until_ended(events)]
    assert names == ["accepted", "accepted", "begun", "item", "item", "item", "item", "ended"]


def asking(served: Served, path: str, buffer: int | None = None) -> socket.socket:
    """A client that has asked for events, and reads nothing yet."""
    client = socket.socket()
    client.settimeout(PATIENCE)
    if buffer is not None:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    client.connect(("127.0.0.1", served.port))
    client.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
    return client


def read_until(client: socket.socket, wanted: bytes) -> None:
    """Read what is sent until something comes."""
    read = b""
    while wanted not in read:
        read += client.recv(4_096)


def test_a_client_that_reads_nothing_holds_nobody_up_and_has_little_read_for_it(tmp_path: Path) -> None:
    items, reads = 60, list[Place | None]()
    store = Store.open(tmp_path / "store.db")
    with support(store) as served:
        session: Session = served.application.state.service.node.session("support", "", "c")
        for _ in range(items):
            session.assistant("x" * 2**17)
        watch(store, lambda _, place: reads.append(place), ("read_at",))
        clients = [asking(served, served.path(rest="/events?after=0"), 4_096) for _ in range(2)]
        until(lambda: len(served.application.state.service.readers) == len(clients))
        for turn in range(5):
            assert served.send(f"hello {turn}", "other")["text"] == f"You said: hello {turn}"
        assert reads.count(session.place) < items  # an item at a time, and no more than buffers take
        for client in clients:
            client.close()


@pytest.mark.laws
def test_idle_streams_are_woken_with_their_conversation(tmp_path: Path) -> None:
    streams, conversations = (40, 4) if DRAWS_THE_SAME else (400, 20)  # a process may open 1,024 files
    with support(tmp_path / "store.db") as served:
        readers = served.application.state.service.readers
        for name in range(conversations):
            served.send("hello", str(name))
        paths = [served.path(str(number % conversations), "/events") for number in range(streams)]
        clients = [asking(served, path) for path in paths]
        until(lambda: len(readers) == streams)
        watching = clients[::conversations]
        for client in watching:
            read_until(client, b"retry")
        assert served.send("hello again", "0")["stop"] == "done"
        for client in watching:
            read_until(client, b"event: ended")
        for client in clients:
            client.close()
        until(lambda: not len(readers))
