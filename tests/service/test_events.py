"""Events: in the order of the record, resumable at any place, and cheap for those who only wait."""

import asyncio
import gc
import resource
import socket
import threading
import time
from collections.abc import Generator, Sequence
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import pytest

from quire.session import Session
from quire.stores import SQLiteStore
from tests.service.serving import Sent, Served, reply, support, until_ended

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
    assert names[-1] == "ended"
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
    gate = threading.Event()

    async def answer(rendered: Any) -> Any:
        while not gate.is_set():
            await asyncio.sleep(0.01)
        return reply(rendered)

    with support(tmp_path / "store.db", answer) as served:
        path = served.path(rest="/messages")
        assert served.client.post(path, json={"content": "hello", "stream": True}).status_code == 202
        while served.get()["state"] != "running":
            pass
        follow = served.get("/items")["events"]
        with served.stream("GET", served.path(rest="/events")) as events:
            assert [next(events).name for _ in range(3)] == ["accepted", "begun", "item"]
            gate.set()
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
        assert len(spoken) < 400
        with served.stream("GET", served.path(rest="/events"), params={"after": 0}) as again:
            assert [event[1:] for event in until_ended(again)] == [event[1:] for event in events]


def test_a_message_that_is_not_streamed_has_no_words(served: Served) -> None:
    served.send("hello", "quiet")
    with served.stream("GET", served.path("quiet", "/events"), params={"after": "0"}) as events:
        assert [event.name for event in until_ended(events)] == ["accepted", "begun", "item", "item", "ended"]


def test_events_of_a_conversation_that_begins_again_say_so(served: Served, tmp_path: Path) -> None:
    served.send("hello", "gone")
    place = served.application.state.service.node.session("support", "", "gone").place
    with served.stream("GET", served.path("gone", "/events")) as events:
        served.application.state.service.node.store.remove(place)
        assert next(events).name == "reset"
        served.client.post(served.path("gone", "/messages"), json={"content": "again"})
        assert until_ended(events)[0].name == "accepted"


def asking(served: Served, path: str, buffer: int | None = None) -> socket.socket:
    """A client that has asked for events, and reads nothing yet."""
    client = socket.socket()
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


def memory() -> int:
    """The bytes that this process takes."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def test_a_client_that_reads_nothing_holds_nobody_up_and_takes_little_memory(tmp_path: Path) -> None:
    items, size = 60, 2**20
    with support(tmp_path / "store.db") as served:
        session: Session = served.application.state.service.node.session("support", "", "c")
        for _ in range(items):
            session.assistant("x" * size)
        served.send("hello", "other")
        before = memory()
        clients = [asking(served, served.path(rest="/events?after=0"), 4_096) for _ in range(10)]
        while len(served.application.state.service.readers) < len(clients):
            pass
        for turn in range(5):
            assert served.send(f"hello {turn}", "other")["text"] == f"You said: hello {turn}"
        assert served.get("/items", limit=1)["length"] == items
        grown = memory() - before
        # All that they have not read is ten times sixty megabytes.
        assert grown < 150 * 2**20, f"{grown:,} bytes"
        for client in clients:
            client.close()


def test_those_who_follow_one_conversation_share_what_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, readers, asked = SQLiteStore(tmp_path / "store.db"), 200, list[str]()

    def counted(verb: str) -> Any:
        works = getattr(store, verb)

        def count(*given: Any, **named: Any) -> Any:
            asked.append(verb)
            return works(*given, **named)

        return count

    with support(store) as served:
        served.send("hello")
        clients = [asking(served, served.path(rest="/events")) for _ in range(readers)]
        for client in clients:
            read_until(client, b"retry")
        for verb in ("read", "read_at", "version", "versions_of"):
            monkeypatch.setattr(store, verb, counted(verb))
        served.streamed("hello again")
        for client in clients:
            read_until(client, b"event: ended")
            client.close()
    assert len(asked) < 3 * readers


def test_a_thousand_idle_streams(tmp_path: Path) -> None:
    streams, conversations = 1_000, 20
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = 2 * streams + 200
    if hard != resource.RLIM_INFINITY and hard < needed:
        pytest.skip(f"the process may open {hard:,} files, and {needed:,} are needed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, needed), hard))
    clients = list[socket.socket]()
    with support(tmp_path / "store.db") as served:
        service = served.application.state.service
        for name in range(conversations):
            served.send("hello", str(name))
        before = memory()
        paths = [served.path(str(number % conversations), "/events") for number in range(streams)]
        clients += [asking(served, path) for path in paths]
        while len(service.readers) < streams:
            time.sleep(0.01)
        taken = (memory() - before) / streams
        watching = clients[::conversations]
        for client in watching:
            read_until(client, b"retry")
        began = time.perf_counter()
        assert served.send("hello again", "0")["stop"] == "done"
        answered = time.perf_counter() - began
        for client in watching:
            read_until(client, b"event: ended")
        woken = time.perf_counter() - began
        print(f"{taken:,.0f} bytes a stream; answered in {answered:.3f} s, all had it in {woken:.3f} s")
        assert taken < 200_000
        for client in clients:
            client.close()
        while len(service.readers):
            time.sleep(0.01)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
