"""Whatever fails beside it, a request goes through; and what was recorded says what there is."""

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from quire.proxy import LOSSES
from quire.session import Session
from quire.stores import Store
from tests.proxy.serving import Proxied, Upstream, chunked, proxied, upstream
from tests.service.serving import PATIENCE

CHAT = "/openai/v1/chat/completions"
CHOICE = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Fine."}}
BODY = json.dumps({"model": "gpt-5.6", "choices": [CHOICE]}).encode()
WHOLE = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def ask(origin: Upstream, url: str, *messages: str) -> httpx.Response:
    """Ask through a proxy; the messages are the user's and the model's in turn."""
    origin.answer(WHOLE)
    roles = ("user", "assistant")
    said = [{"role": roles[n % 2], "content": text} for n, text in enumerate(messages)]
    return httpx.post(url + CHAT, json={"model": "gpt-5.6", "messages": said}, timeout=60)


def shown(store: Path) -> dict[str, str]:
    """What each conversation shows."""
    with Store.open(store) as opened:
        places = [str(one.place) for one in opened.recent(None)]
        return {one: str(list(Session.open(one, store=opened).view())) for one in places}


def shown_of(store: Path, question: str) -> str:
    """What the conversation with a question shows."""
    (found,) = (one for one in shown(store).values() if question in one)
    return found


def test_a_store_that_is_locked_is_written_to_later(proxy: Proxied, origin: Upstream, store: Path) -> None:
    assert ask(origin, proxy.url, "before the lock").content == BODY
    proxy.settle()
    recorded, lost = proxy.recorder.recorded, proxy.recorder.lost.total()
    with sqlite3.connect(store, isolation_level=None) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        assert ask(origin, proxy.url, "behind the lock").content == BODY
        assert proxy.recorder.recorded == recorded
        connection.execute("ROLLBACK")
    connection.close()
    proxy.settle()
    assert proxy.recorder.recorded == recorded + 1 and proxy.recorder.lost.total() == lost
    assert "Fine." in shown_of(store, "behind the lock")


def test_a_store_that_cannot_be_written_loses_what_it_says(origin: Upstream, tmp_path: Path) -> None:
    folder = tmp_path / "blocked"
    folder.write_text("no folder")
    with proxied(folder / "own.db", upstreams={"openai": origin.url}) as own:
        assert ask(origin, own.url, "one").content == BODY
        own.settle()
        assert own.recorder.lost.total() == 1 and "could not be recorded" in own.said[0]
        folder.unlink()
        assert ask(origin, own.url, "two").content == BODY
        own.settle()
    found = shown(folder / "own.db")
    assert any("two" in text for text in found.values())
    assert "'count': 1" in found[f"/{LOSSES}"]


@pytest.mark.parametrize("question", ["dies", "leaves"])
def test_an_answer_that_breaks_off_is_passed_on_and_recorded_as_far_as_it_came(
    proxy: Proxied, origin: Upstream, store: Path, question: str
) -> None:
    event = b'data: {"model": "gpt-5.6", "choices": [{"index": 0, "delta": {"content": "Fin"}}]}\n\n'
    origin.answer(STREAM, chunked([event])[0], origin.wait if question == "leaves" else socket.socket.close)
    asked = {"model": "gpt-5.6", "stream": True, "messages": [{"role": "user", "content": question}]}
    with httpx.stream("POST", proxy.url + CHAT, json=asked, timeout=60) as response:
        pieces = response.iter_raw()
        assert next(pieces) == event
        if question == "dies":
            with pytest.raises(httpx.RemoteProtocolError):
                next(pieces)
    assert question == "dies" or origin.has_left.wait(PATIENCE), "the upstream still sends"
    proxy.settle()
    text = shown_of(store, f"'{question}'")
    assert "'Fin'" in text and "interrupted=True" in text


def test_a_connection_that_is_closed_when_it_is_used_again_is_made_anew(
    proxy: Proxied, origin: Upstream
) -> None:
    assert ask(origin, proxy.url, "one").content == BODY
    origin.requests.clear()
    origin.answer(lambda connection: connection.close())
    assert ask(origin, proxy.url, "two").content == BODY
    assert len(origin.requests) == 2, "it was sent again, on a connection of its own"


def test_a_new_connection_that_is_closed_is_for_the_program_to_decide(proxy: Proxied) -> None:
    with upstream() as fresh:
        proxy.relay.upstreams["fresh"] = fresh.url
        fresh.answer(lambda connection: connection.close())
        body = {"model": "gpt-5.6", "messages": [{"role": "user", "content": "x"}]}
        response = httpx.post(f"{proxy.url}/fresh/v1/chat/completions", json=body, timeout=60)
        assert response.status_code == 502 and len(fresh.requests) == 1


def test_an_upstream_that_is_not_there(proxy: Proxied, store: Path) -> None:
    body = {"messages": [{"role": "user", "content": "is anybody there?"}]}
    response = httpx.post(f"{proxy.url}/absent/v1/chat/completions", json=body, timeout=60)
    assert response.status_code == 502 and "cannot be reached" in response.json()["error"]["message"]
    proxy.settle()
    assert shown_of(store, "is anybody there?")


def test_a_recorder_that_is_killed_is_started_again(proxy: Proxied, origin: Upstream, store: Path) -> None:
    assert ask(origin, proxy.url, "before the kill").content == BODY
    proxy.settle()
    (worker,) = proxy.recorder.workers()
    os.kill(worker, signal.SIGKILL)
    assert ask(origin, proxy.url, "before the kill", "Fine.", "behind it").content == BODY
    proxy.settle()
    text = shown_of(store, "before the kill")
    assert text.count("Fine.") == 2 and "behind it" in text


def test_a_program_is_run_with_the_base_urls(origin: Upstream, tmp_path: Path) -> None:
    origin.answer(WHOLE)
    code = (
        "import os, sys, urllib.request as r; body = sys.argv[1].encode();"
        "url = os.environ['OPENAI_BASE_URL'] + '/chat/completions';"
        "print(r.urlopen(r.Request(url, body, {'content-type': 'application/json'})).status); sys.exit(7)"
    )
    body = json.dumps({"model": "gpt-5.6", "messages": [{"role": "user", "content": "from a program"}]})
    store = tmp_path / "own.db"
    command = [sys.executable, "-m", "quire", "proxy", "--port", "0", "--store", str(store)]
    command += ["--upstream", f"openai={origin.url}", "--", sys.executable, "-c", code, body]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 7 and done.stdout == "200\n", done.stderr
    assert "1 request recorded" in done.stderr
    assert "from a program" in "".join(shown(store).values())
