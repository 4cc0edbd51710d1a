"""Bad input: always a problem document of the client's fault, never a failure of the service."""

import json
import socket
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import given, strategies as st

from quire.providers import read_tools
from tests.service.serving import Served, support

KEYS = "role content type text image_url url tool_calls id call_id function name arguments output input item"
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS.split()) | st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
FIELDS = {
    **dict.fromkeys(
        ("/messages", "/decisions", "/forks"), "content delay at parameters stream decisions name"
    ),
    **dict.fromkeys(
        ("/v1/chat/completions", "/v1/responses"),
        "model messages input tools stream conversation previous_response_id n text",
    ),
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    with support(tmp_path_factory.mktemp("hostile") / "store.db", max_body=2**20) as running:
        running.send("hello")
        yield running


def check(answer: Any, *statuses: int) -> None:
    """A problem document that says what the client did wrong."""
    assert 400 <= answer.status_code < 500, answer.text
    assert not statuses or answer.status_code in statuses, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    told = answer.json()
    assert told["status"] == answer.status_code and told["detail"] and told["title"]
    assert "Traceback" not in answer.text and "quire/" not in answer.text


@given(st.sampled_from(sorted(FIELDS)), st.data())
def test_a_body_of_any_shape(served: Served, rest: str, data: st.DataObject) -> None:
    body = data.draw(st.dictionaries(st.sampled_from(FIELDS[rest].split()), ANY_JSON, max_size=4) | ANY_JSON)
    path, kind = served.path("fuzzed", rest), {"content-type": "application/json"}
    if is_openai := rest.startswith("/v1"):
        path = rest
        body = {"model": "support", **body} if isinstance(body, dict) else body
    answer = served.client.post(path, content=json.dumps(body), headers=kind)
    if answer.status_code not in (200, 202):
        check(answer)
        assert not is_openai or answer.json()["error"]["message"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff\xfe",
        b'{"content": "\xff"}',
        b'{"content": ""}',
        b'{"content": [[]]}',
        b'{"content": [{"part": "image", "url": "a", "data": "YQ=="}]}',
        b'{"content": [{"part": "film", "url": "a"}]}',
        b'{"content": "x", "delay": -1}',
        b'{"content": "x", "delay": 1e999}',
        b'{"content": "x", "at": 1}',
        b'{"content": "x", "parameters": {"a": 1' + b"0" * 400 + b"}}",
        b'{"content": "x", "parameters": ' + b'{"a":' * 3_000 + b"1" + b"}" * 3_000 + b"}",
        b'{"content": "x", "parameters": ' + b'{"a":' * 120 + b"1" + b"}" * 120 + b"}",
        b"[" * 10_000,
        b'{"content": "x", "unknown": 1}',
        b"null",
    ],
)
def test_a_message_that_is_none(served: Served, body: bytes) -> None:
    path, headers = served.path(rest="/messages"), {"content-type": "application/json"}
    check(served.client.post(path, content=body, headers=headers), 400)


NO_FORKS = [
    *({"name": name} for name in ("", ".hidden", "\0", "x" * 600)),
    *({"name": "a", "at": at} for at in (-1, 10**30, "no such item")),
]
NOWHERE = {
    "GET": "/items?after=-1 /items?after=x /items?limit=1e3 /items?after=%F0%9D%9F%99 /events?after=x"
    " /events?after=1~x /events?after=%C2%B2 /receipts/x /receipts/%00 /receipts?cursor=x /jobs?cursor=x"
    " /jobs?state=x /jobs/x /nothing /messages",
    "DELETE": "/items/x /items/%00",
    "PATCH": "/messages",
}


@pytest.mark.parametrize(
    ("method", "rest", "body"),
    [
        *(("POST", "/decisions", {"decisions": made}) for made in ({}, {"call_x": True}, {"call_x": 7})),
        *(("POST", "/forks", body) for body in NO_FORKS),
        *(("GET", f"/{name}?after=" + "9" * 5_000, None) for name in ("items", "events")),
        *((verb, rest, None) for verb, rests in NOWHERE.items() for rest in rests.split()),
        ("PUT", "", None),
        ("POST", "/items", {}),
    ],
)
def test_a_request_that_makes_no_sense(served: Served, method: str, rest: str, body: Any) -> None:
    check(served.client.request(method, served.path(rest=rest), json=body))


@pytest.mark.parametrize(
    "path",
    [
        "/agents/nobody/conversations/c",
        "/agents/support/conversations/%00",
        "/agents/support/conversations/%ff",
        "/agents/support/conversations/%7Erecalled/items",
        "/agents/support/conversations/c/",
        "/agents/support/conversations//items",
        "/agents/support/../support/conversations/c/nothing",
        "/agents/support/conversations?cursor=x",
        "/agents/support/conversations?cursor=nan~x&limit=-7",
        "/",
        "/x" * 10_000,
    ],
)
def test_a_path_that_leads_nowhere(served: Served, path: str) -> None:
    check(served.client.get(path))


@pytest.mark.parametrize("name", [".", "..", "x" * 501, "x" * 3_000, "\0"])
def test_a_conversation_that_cannot_be_named_so(served: Served, name: str) -> None:
    path = f"/agents/support/conversations/{quote(name).replace('.', '%2E')}/messages"
    check(served.client.post(path, json={"content": "x"}), 400)


@pytest.mark.parametrize(
    "headers",
    [
        {"content-type": "text/plain"},
        {"content-type": ""},
        {"content-type": "application/json", "idempotency-key": "x" * 101},
        {"content-type": "application/json", "idempotency-key": b"\xfc"},
        [("content-type", "application/json"), ("content-type", "text/plain")],
        [("content-type", "application/json"), ("idempotency-key", "a"), ("idempotency-key", "b")],
    ],
)
def test_headers_that_are_wrong(served: Served, headers: Any) -> None:
    check(
        served.client.post(served.path(rest="/messages"), content=b'{"content": "x"}', headers=headers),
        400,
        415,
    )


@pytest.mark.parametrize("kind", ["Application/JSON", "application/json ; charset=utf-8"])
def test_a_type_of_content_is_read_by_its_rules(served: Served, kind: str) -> None:
    answer = served.client.post(
        served.path("typed", "/messages"), content=b'{"content": "x"}', headers={"content-type": kind}
    )
    assert answer.status_code == 202


def a_tool(name: str = "look", **fields: Any) -> dict[str, Any]:
    return {"type": "function", "name": name, **fields}


PROPERTIES = {f"p{number}": True for number in range(20_000)}
TOO_MUCH: dict[str, dict[str, Any]] = {
    "tools": {"tools": [a_tool(f"t{number}") for number in range(129)]},
    "bytes of tools": {"tools": [a_tool(description="x" * 600_000)]},
    "properties": {"tools": [a_tool(parameters={"type": "object", "properties": PROPERTIES})]},
    "messages": {"input": [{"role": "user", "content": "x"}] * 10_000},
    "parts": {"input": [{"role": "user", "content": [{"type": "input_text", "text": ""}] * 10_000}]},
}


@pytest.mark.parametrize("given", TOO_MUCH.values(), ids=TOO_MUCH)
def test_more_than_one_request_may_bring(served: Served, given: dict[str, Any]) -> None:
    check(served.client.post("/v1/responses", json={"model": "support", "input": "hello", **given}), 422)


def test_text_that_looks_like_many_values_is_text(served: Served) -> None:
    text = json.dumps([{"a\\": '"'}] * 10_000)
    answer = served.client.post(served.path("pasted", "/messages"), json={"content": text})
    assert answer.status_code == 202


def test_of_tools_that_are_refused_nothing_is_kept(served: Served) -> None:
    tools = [a_tool("never_seen_before")]
    asked = {"model": "nobody", "input": "hello", "tools": tools}
    check(served.client.post("/v1/responses", json=asked), 404)
    assert read_tools(tools, keep=False)[0] is not read_tools(tools, keep=False)[0]


def test_others_are_answered_while_tools_are_read(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    reading, answered = Event(), Event()

    def wait(*given: Any, **named: Any) -> Any:
        reading.set()
        assert answered.wait(60)
        return read_tools(*given, **named)

    monkeypatch.setattr("quire.service.openai_shapes.read_tools", wait)
    asked = {"model": "support", "input": "hello", "tools": [a_tool()]}
    with ThreadPoolExecutor(1) as pool:
        response = pool.submit(served.client.post, "/v1/responses", json=asked, timeout=60)
        try:
            assert reading.wait(60)
            assert served.client.get("/health").status_code == 200
        finally:
            answered.set()
        assert response.result().status_code == 200


def test_a_body_that_never_ends_is_waited_for_so_long(tmp_path: Path) -> None:
    with (
        support(tmp_path / "store.db", read_timeout=0.1) as served,
        socket.create_connection(("127.0.0.1", served.port), timeout=60) as client,
    ):
        path, kind = served.path(rest="/messages"), "Content-Type: application/json"
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{kind}\r\nContent-Length: 99\r\n\r\n"
        client.sendall(f'{head}{{"content": "'.encode())
        assert client.recv(4_096).startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("prefer", ["wait=-1", "wait=" + "9" * 400, "wait", "wait=²", "a,b,,wait=0"])
def test_a_preference_that_is_not_understood_is_none(served: Served, prefer: str) -> None:
    headers = [(b"prefer", prefer.encode("latin-1", "replace"))]
    answer = served.client.post(served.path("preferred", "/messages"), json={"content": "x"}, headers=headers)
    assert answer.status_code == 202


@pytest.mark.parametrize("size", [2**20 + 1, 100 * 10**6, 10**14, 10**40])
def test_a_body_that_is_announced_too_large_is_refused_before_it_is_sent(served: Served, size: int) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as client:
        path, kind = served.path(rest="/messages"), "Content-Type: application/json"
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{kind}\r\nContent-Length: {size}\r\n\r\n"
        client.sendall(head.encode())
        answer = client.recv(4_096)
    assert answer.startswith(b"HTTP/1.1 4") and (b" 413 " in answer or size == 10**40)


def test_a_body_in_chunks_is_refused_once_it_is_too_large(served: Served) -> None:
    sent = 0

    def chunks() -> Generator[bytes]:
        nonlocal sent
        yield b'{"content": "'
        for _ in range(1_600):
            sent += 2**16
            yield b"x" * 2**16

    with suppress(httpx.TransportError):  # it was refused while the client still sent
        kind = {"content-type": "application/json"}
        served.client.post(served.path(rest="/messages"), content=chunks(), headers=kind)
    assert sent < 20 * 2**20
    assert served.get("/items")["length"] < 10
