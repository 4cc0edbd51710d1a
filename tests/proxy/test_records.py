"""What is recorded and said: without content if asked, warnings, the report, and websockets."""

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve

from quire.items import use_clock
from quire.session import Session
from quire.stores import Store
from tests.cli.command_line import ran, ran_json
from tests.proxy.programs import Json, Watched, calls, result, said, system, user
from tests.proxy.serving import Proxied

SECRET = "the rabbit is under the hat"


def stored(path: Path) -> bytes:
    return b"".join(one.read_bytes() for one in path.parent.iterdir())


def test_without_content_only_sizes_are_stored(tmp_path: Path) -> None:
    path = tmp_path / "own.db"
    with Store.open(path) as store:
        watched = Watched(store, has_content=False)
        history = [system(f"Know: {SECRET}."), user(f"{SECRET}? " * 90)]
        watched.ask(history, calls("call_000001"), user=SECRET, temperature=0.5)
        history += [calls("call_000001"), result("call_000001", SECRET)]
        watched.ask(history, said(f"Yes, {SECRET}."))
        watched.restart()
        watched.ask([*history, said(f"Yes, {SECRET}."), user(SECRET)], None)
        ((_, session),) = watched.sessions().items()
        first = session.receipts[0]
        assert first.tokens > 500 and first.parameters == {"model": "gpt-5.6", "temperature": 0.5}
        assert len(session.receipts) == 3 and session.spending.requests == 2
    assert SECRET.encode() not in stored(path) and b"look_up" in stored(path)


def test_what_is_redacted_is_not_stored(tmp_path: Path) -> None:
    path = tmp_path / "own.db"
    with Store.open(path) as store:
        watched = Watched(store, patterns=(r"sk-\w+",))
        history = [
            user("My key is sk-abc123."),
            calls("call_000001"),
            result("call_000001", "sk-abc123 works"),
        ]
        watched.ask(history[:1], history[1])
        watched.ask(history, said("sk-abc123, noted."))
        watched.ask([*history, said("sk-abc123, noted."), user("thanks")], None)
        (shown,) = watched.shown().values()
        assert shown[0] == "user: My key is [redacted]." and len(shown) == 5
    assert b"abc123" not in stored(path)


@pytest.mark.parametrize("settings", [{"has_content": False}, {"patterns": ("the rabbit .*hat",)}])
def test_what_stands_beside_the_words_is_not_stored_either(tmp_path: Path, settings: Any) -> None:
    path, places = tmp_path / "own.db", {"document_index": 0, "start_char_index": 0, "end_char_index": 9}
    cited: Json = {"type": "char_location", "cited_text": SECRET, "document_title": "a", **places}
    words: list[Json] = [{"type": "text", "text": "Under it.", "citations": [cited]}]
    body = {"model": "claude-sonnet-5", "max_tokens": 9, "metadata": {"user_id": SECRET}}
    answer = {"type": "message", "role": "assistant", "model": "claude-sonnet-5", "stop_reason": "end_turn"}
    failed = {"type": "error", "error": {"type": "invalid_request_error", "message": f"no: {SECRET}"}}
    with Store.open(path) as store:
        watched = Watched(store, **settings)
        number = watched.begin([user("where?")], "/v1/messages", **body)
        watched.answer(number, answer | {"content": words, "usage": {"input_tokens": 5, "output_tokens": 2}})
        number = watched.begin([user("where?")], "/v1/messages", **body)
        watched.answer(number, failed, 400)
        assert len(watched.shown()) >= 1
    assert SECRET.encode() not in stored(path)


def test_a_cache_break_is_told_with_its_bytes() -> None:
    watched, prompt = Watched(), "It is 14:02. " + "Be brief and kind. " * 400
    watched.ask([system(prompt), user("hi")], said("hello"))
    later = prompt.replace("14:02", "14:03")
    watched.ask([system(later), user("hi"), said("hello"), user("more")], said("ok"))
    (told,) = watched.warnings
    assert len(watched.sessions()) == 1  # the changed prompt belongs to the same conversation
    assert "'instructions' has changed" in told and re.search(r"byte \d+.*'2\. Be brief.* → '3\. Be", told)


def test_waste_is_told_once_and_stands_on_the_receipt() -> None:
    watched, found = Watched(), list[str]()
    tools = [
        {
            "type": "function",
            "function": {"name": name, "description": "Looks. " * 400, "parameters": {"type": "object"}},
        }
        for name in ("look_up", "never_called")
    ]
    history = [user("go")]
    for turn in range(12):
        number = watched.begin(history, tools=tools)
        found += watched.warnings
        watched.end(number, calls(f"call_{turn:06}"), cached=99)
        history += [calls(f"call_{turn:06}"), result(f"call_{turn:06}", "x" * (41_000 if turn == 11 else 9))]
    watched.ask(history, said("done"), tools=tools)
    texts = "\n".join(found)
    assert texts.count("never called: never_called") == 1
    assert texts.count("look_up was called 4 times with the same arguments") == 1
    ((_, session),) = watched.sessions().items()
    assert any("has 41,000 characters" in one for one in session.receipts[-1].advice)


@pytest.fixture
def day(tmp_path: Path) -> Iterator[Path]:
    """A store with a conversation of some requests."""
    with Store.open(tmp_path / "day.db") as store:
        watched, prompt = Watched(store), "Be brief and kind. " * 400
        tool = {"type": "function", "function": {"name": "unused", "parameters": {"type": "object"}}}
        history = [system("It is 14:02. " + prompt), user("<b>go</b>")]
        for turn in range(5):
            watched.ask(history, calls(f"call_{turn:06}"), tools=[tool])
            history += [calls(f"call_{turn:06}"), result(f"call_{turn:06}", f"<i>{turn}</i>" * 200)]
        history[0] = system("It is 14:03. " + prompt)
        watched.ask(history, None, tools=[tool])
        watched.ask(history, said("done"), tools=[tool])
    yield tmp_path / "day.db"


def test_the_report_sums_up_a_day(day: Path, tmp_path: Path) -> None:
    told = ran("report", str(day), "--hours", "100000").stdout
    for words in ("7 requests in 1 conversation, 1 failed", "Cache breaks", "Tools never called", "USD"):
        assert words in told
    made = ran_json("report", str(day))
    assert (made["conversations"], made["requests"], made["failed"]) == (1, 7, 1)
    assert made["input"] == 600 and made["cost"] > 0 and made["first"] == 0.5
    assert {row["cause"] for row in made["breaks"]} >= {"instructions"}
    assert [row["name"] for row in made["unused"]] == ["unused"]
    assert [(row["name"], row["times"]) for row in made["repeated"]] == [("look_up", 5)]
    assert made["largest"][0]["kind"] == "tool_result" and made["largest"][0]["tokens"] > 100
    with use_clock(lambda: 4e9):
        assert ran_json("report", str(day), "--hours", "9")["requests"] == 0
    ran("report", str(day), "--html", str(tmp_path / "day.html"))
    page = (tmp_path / "day.html").read_text()
    assert page.startswith("<!doctype html>") and "http" not in page and "<script" not in page
    assert (tmp_path / "day.html").stat().st_mode & 0o077 == 0


def test_websockets_go_through_and_their_responses_are_recorded(proxy: Proxied, store: Path) -> None:
    sent = list[Any]()
    message: dict[str, Any] = {"type": "message", "id": "m1", "role": "assistant", "status": "completed"}
    message |= {"content": [{"type": "output_text", "text": "Hello.", "annotations": []}]}
    response = {"id": "resp_1", "object": "response", "status": "completed", "model": "gpt-5.6"}
    usage = {"input_tokens": 5, "output_tokens": 2}

    async def answer(socket: ServerConnection) -> None:
        assert socket.request is not None
        sent.append((socket.request.path, socket.request.headers["authorization"]))
        async for text in socket:
            sent.append(text)
            delta = {"type": "response.output_text.delta", "delta": "Hello.", "item_id": "m1"}
            whole: Json = {**response, "output": [message], "usage": usage}
            for event in (delta, {"type": "response.completed", "response": whole}):
                await socket.send(json.dumps(event))

    async def ask() -> list[str]:
        async with serve(answer, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            proxy.relay.upstreams["sockets"] = f"http://127.0.0.1:{port}"
            address = f"ws{proxy.url.removeprefix('http')}/sockets/v1/responses"
            headers = {"authorization": "Bearer sk-secret"}
            async with connect(address, additional_headers=headers) as socket:
                asked = {"type": "response.create", "model": "gpt-5.6", "input": "hi"}
                await socket.send(json.dumps(asked))
                return [str(await socket.recv()) for _ in range(2)]

    got = asyncio.run(ask())
    proxy.settle()
    assert sent[0] == ("/v1/responses", "Bearer sk-secret") and json.loads(sent[1])["input"] == "hi"
    assert json.loads(got[0])["delta"] == "Hello." and json.loads(got[1])["type"] == "response.completed"
    with Store.open(store) as opened:
        (one,) = (one for one in opened.recent(None) if one.place.conversation.startswith("sockets-"))
        session = Session.open(str(one.place), store=opened)
        assert [getattr(item, "text", "") for item in session.view()] == ["hi", "Hello."]
        assert session.spending.usage.input == 5
