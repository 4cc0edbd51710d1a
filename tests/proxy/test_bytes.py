"""Bytes go through as they are, in both directions, whatever they are and however they are cut."""

import gzip
import json
import zlib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx
import pytest
from hypothesis import given, strategies as st

from quire.items import Item, Message, Note
from quire.providers import provider_for
from quire.session import Session
from quire.stores import Store
from tests.providers import replies
from tests.proxy.serving import Proxied, Upstream, chunked, headers_in, proxied

PATHS = {
    "openai": "/openai/v1/chat/completions",
    "openai-responses": "/openai/v1/responses",
    "anthropic": "/anthropic/v1/messages",
    "gemini": "/gemini/v1beta/models/gemini-3-pro:streamGenerateContent",
}
FIELDS = {"openai": "messages", "openai-responses": "input", "anthropic": "messages", "gemini": "contents"}
_HOPS = ("connection", "transfer-encoding", "keep-alive")
_CODINGS: dict[str, Callable[[bytes], bytes]] = {"": bytes, "gzip": gzip.compress, "deflate": zlib.compress}


class Exchanged(NamedTuple):
    """What the upstream and the client saw of one exchange."""

    line: str
    sent: list[tuple[str, str]]
    body: bytes
    status: int
    headers: list[tuple[str, str]]
    answer: bytes


def exchanged(origin: Upstream, base: str, path: str, body: bytes, headers: Any, answer: Any) -> Exchanged:
    """Send a request and answer it."""
    origin.requests.clear()
    origin.answer(*answer)
    with httpx.Client(timeout=60) as client:
        request = httpx.Request("POST", base + path, content=body, headers=headers)
        response = client.send(request, stream=True)
        got = b"".join(response.iter_raw())
    (seen,) = origin.requests
    head, _, sent = seen.partition(b"\r\n\r\n")
    asked = [(name, value) for name, value in headers_in(head) if name not in ("host", "connection")]
    kept = [(name.decode(), value.decode()) for name, value in response.headers.raw]
    kept = [(name.lower(), value) for name, value in kept if name.lower() not in _HOPS]
    return Exchanged(head.split(b"\r\n")[0].decode(), asked, sent, response.status_code, kept, got)


def request_body(wire: str, words: str) -> Any:
    said: Any = [{"role": "user", "content": words}]
    if wire == "gemini":
        return {"contents": [{"role": "user", "parts": [{"text": words}]}]}
    return {"model": "gpt-5.6", FIELDS[wire]: said, "stream": True, "max_tokens": 9}


def stream_bytes(wire: str, reply: replies.Reply, size: int) -> bytes:
    """A stream as it is on the line."""
    kinds = wire in ("anthropic", "openai-responses")
    told = replies.events(wire, reply, size)
    events = [(f"event: {one['type']}\n" if kinds else "") + f"data: {json.dumps(one)}\n\n" for one in told]
    return "".join([*events, "data: [DONE]\n\n" if wire == "openai" else ""]).encode()


def cut_at(data: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[start:stop] for start, stop in pairwise(ends)]


@pytest.mark.laws
@given(st.data())
def test_both_sides_see_what_they_would_without_it(
    origin: Upstream, proxy: Proxied, drawn: st.DataObject
) -> None:
    wire, reply = drawn.draw(st.sampled_from(replies.WIRES)), drawn.draw(replies.drawn_replies)
    places = drawn.draw(st.lists(st.integers(0, 10**6), max_size=9))
    coding = drawn.draw(st.sampled_from(sorted(_CODINGS)))
    status = drawn.draw(st.sampled_from([200, 200, 200, 201, 400, 429, 500]))
    words = drawn.draw(st.text(st.characters(codec="utf-8"), max_size=20))
    given_headers = st.dictionaries(st.sampled_from(["x-one", "x-two"]), st.sampled_from(["a", "b, c"]))
    extra, has_length = drawn.draw(given_headers), drawn.draw(st.booleans())
    data = _CODINGS[coding](stream_bytes(wire, reply, 3))
    head = [f"HTTP/1.1 {status} Said", "Content-Type: text/event-stream", "X-Request-Id: r-1"]
    head += [f"Content-Encoding: {coding}"] * bool(coding)
    head += ["Set-Cookie: a=1", "Set-Cookie: b=2", *(f"{name}: {value}" for name, value in extra.items())]
    head += [f"Content-Length: {len(data)}" if has_length else "Transfer-Encoding: chunked"]
    pieces = cut_at(data, places)
    answer = ["\r\n".join([*head, "", ""]).encode(), *(pieces if has_length else chunked(pieces))]
    body = _CODINGS[coding](
        json.dumps(request_body(wire, words), ensure_ascii=False).encode("utf-8", "replace")
    )
    headers = {"content-type": "application/json", "authorization": "Bearer sk-secret", **extra}
    headers |= {"content-encoding": coding} if coding else {}
    path = f"{PATHS[wire]}?key=sk-secret&alt=sse"
    name, rest = path[1:].partition("/")[::2]
    direct = exchanged(origin, origin.url, f"/{rest}", body, headers, answer)
    through = exchanged(origin, proxy.url, f"/{name}/{rest}", body, headers, answer)
    assert through == direct


@pytest.mark.parametrize("wire", replies.WIRES)
def test_what_went_through_is_recorded(proxy: Proxied, origin: Upstream, store: Path, wire: str) -> None:
    data = gzip.compress(stream_bytes(wire, replies.FULL, 2))
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\n"
    answer = [head + b"Transfer-Encoding: chunked\r\n\r\n", *chunked([data])]
    body = json.dumps(request_body(wire, f"a question to {wire}")).encode()
    exchanged(origin, proxy.url, f"{PATHS[wire]}?key=sk-secret", body, {"x-api-key": "sk-secret"}, answer)
    proxy.settle()
    with Store.open(store) as opened:
        sessions = [Session.open(str(one.place), store=opened) for one in opened.recent(None)]
        (session,) = [one for one in sessions if f"a question to {wire}" in str(one.view()[:1])]
        reader = provider_for(wire).stream()
        for event in replies.events(wire, replies.FULL, 2):
            reader.feed(event)
        asked, *answered = session.view()
        assert isinstance(asked, Message) and [*map(_said, answered)] == [*map(_said, reader.close().items)]
        (kept,) = session.receipts
        assert kept.spending.usage.input > 0 and kept.payload().payload
        (exchange,) = session.view("exchanges")
        told: Any = exchange.content if isinstance(exchange, Note) else {}
        assert told["status"] == 200 and told["first"] > 0
    for file in store.parent.iterdir():
        assert b"sk-secret" not in file.read_bytes()


def _said(item: Item) -> Any:
    names = ("role", "content", "name", "arguments", "text")
    return [type(item), *(getattr(item, name, None) for name in names)]


@pytest.mark.parametrize("method", ["GET", "DELETE", "POST"])
def test_other_requests_go_through_and_are_not_recorded(
    origin: Upstream, proxy: Proxied, method: str
) -> None:
    origin.requests.clear()
    origin.answer(b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}")
    response = httpx.request(method, f"{proxy.url}/other/v1/models/a%2Fb?x=%20", timeout=60)
    assert response.status_code == 404 and response.content == b"{}"
    assert origin.requests[0].startswith(f"{method} /v1/models/a%2Fb?x=%20 HTTP/1.1\r\n".encode())


def test_what_is_not_json_goes_through(origin: Upstream, proxy: Proxied) -> None:
    origin.answer(b"HTTP/1.1 400 Bad\r\nContent-Length: 3\r\n\r\nno!")
    response = httpx.post(f"{proxy.url}/openai/v1/chat/completions", content=b"{not json", timeout=60)
    assert (response.status_code, response.content) == (400, b"no!")
    proxy.settle()
    assert proxy.recorder.lost["the body of a request is not JSON (at $)"] == 1


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/nowhere/v1/messages", {}, 404),
        ("/openai/v1/messages", {"host": "evil.example"}, 403),
        ("/openai/v1/messages", {"origin": "https://evil.example"}, 403),
        ("/openai/v1/messages", {"origin": "null"}, 403),
    ],
)
def test_who_is_refused(proxy: Proxied, path: str, headers: dict[str, str], status: int) -> None:
    response = httpx.post(proxy.url + path, json={}, headers=headers, timeout=60)
    assert response.status_code == status and "quire proxy" in response.json()["error"]["message"]
    assert urlsplit(proxy.url).hostname == "127.0.0.1"


def test_with_keys_each_caller_has_conversations_of_its_own(origin: Upstream, tmp_path: Path) -> None:
    names = {"k-ana": "ana", "k-bob": "bob"}
    body = {"model": "gpt-5.6", "messages": [{"role": "user", "content": "hi"}]}
    path = "/openai/v1/chat/completions"
    with proxied(tmp_path / "own.db", upstreams={"openai": origin.url}, admit=names.get) as own:
        assert httpx.post(own.url + path, json=body, timeout=60).status_code == 401
        for key in names:
            origin.requests.clear()
            origin.answer(b"HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\n{}")
            headers = {"quire-key": key, "host": "proxy.example"}
            assert httpx.post(own.url + path, json=body, headers=headers, timeout=60).status_code == 500
            assert key.encode() not in origin.requests[0]
        own.settle()
    with Store.open(tmp_path / "own.db") as opened:
        places = [one.place for one in opened.recent(None)]
    assert sorted(place.given_scope for place in places) == ["ana/", "bob/"]
