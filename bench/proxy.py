"""What the proxy costs beside a plain one, and what it makes of recorded runs of agents.

Usage: python bench/proxy.py [--rounds N] [--streams N] [--messages N] [--long N]
       python bench/proxy.py --runs PATH [--fit N] [--count N]

Without `--runs`, requests go to an upstream on this machine through a plain reverse proxy of httpx and
Starlette, and through this one: the time to the first byte and of the whole answer, one request at a time
and many streams side by side; and a history of 100,000 messages that grows. Each proxy is a process of its
own.

With `--runs`, recorded conversations, one OpenAI chat on each line, are sent as requests that grow, by as
many programs at once: each is to be one conversation that shows what its program sent. With `--fit` requests
above a budget are cut: how many a provider would refuse, how many are above it, and what share of the bytes
begins like the request before.
"""

import asyncio
import json
import multiprocessing
import random
import socket
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

import page
from quire.providers import check, provider_for
from quire.proxy import AllowedChanges, Observer, Recorder, Relay, Settings
from quire.session import Session
from quire.stores import Store
from quire.tokens import counter_for

PATH = "/openai/v1/chat/completions"
EVENTS = 10
PAUSE, WARM = 0.01, 5.0


# The servers


async def answer(request: Request) -> StreamingResponse:
    """A stream of some events, the first of them at once."""
    await request.body()

    async def events() -> AsyncIterator[bytes]:
        for number in range(EVENTS):
            delta = {"content": f"word {number} "}
            chunk = {"model": "gpt-5.6", "choices": [{"index": 0, "delta": delta}]}
            yield f"data: {json.dumps(chunk)}\n\n".encode()
            await asyncio.sleep(PAUSE)
        yield b"data: [DONE]\n\n"

    return StreamingResponse(events(), media_type="text/event-stream")


def plain(upstream: str) -> Starlette:
    """A reverse proxy as it is usually written."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=200)
    client = httpx.AsyncClient(timeout=None, limits=limits)

    async def forward(request: Request) -> StreamingResponse:
        names = ("host", "content-length", "connection")
        headers = {name: value for name, value in request.headers.items() if name not in names}
        url = upstream + request.url.path.removeprefix("/openai")
        sent = client.build_request(request.method, url, headers=headers, content=await request.body())
        response = await client.send(sent, stream=True)
        kept = {name: value for name, value in response.headers.items() if name != "transfer-encoding"}

        async def pieces() -> AsyncIterator[bytes]:
            async for piece in response.aiter_raw():
                yield piece
            await response.aclose()

        return StreamingResponse(pieces(), status_code=response.status_code, headers=kept)

    return Starlette(routes=[Route("/{path:path}", forward, methods=["POST"])])


def serve(kind: str, upstream: str, store: str, port: int) -> None:
    """Serve in this process until it is ended."""
    app: Any = Starlette(routes=[Route("/{path:path}", answer, methods=["POST"])])
    if kind == "plain":
        app = plain(upstream)
    elif kind == "proxy":
        app = Relay({"openai": upstream}, Recorder(Settings(store)))
    uvicorn.run(app, port=port, log_level="critical", access_log=False, backlog=2_048, timeout_keep_alive=300)


@contextmanager
def serving(kind: str, upstream: str = "", store: str = "") -> Generator[str]:
    """A server in a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(kind, upstream, store, port))
    process.start()
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            break
        except OSError:
            time.sleep(0.05)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.join()


# What it costs


async def timed(client: httpx.AsyncClient, url: str, body: bytes) -> tuple[float, float]:
    """Milliseconds to the first byte, and to the last."""
    began, first = time.perf_counter(), 0.0
    async with client.stream("POST", url + PATH, content=body) as response:
        async for _ in response.aiter_raw():
            first = first or time.perf_counter() - began
    return 1e3 * first, 1e3 * (time.perf_counter() - began)


def request_of(messages: int, number: int) -> bytes:
    said = [
        {"role": ("user", "assistant")[n % 2], "content": f"{number}: message {n} of a history"}
        for n in range(messages)
    ]
    return json.dumps({"model": "gpt-5.6", "stream": True, "messages": said}).encode()


async def measure(urls: dict[str, str], rounds: int, streams: int, messages: int) -> dict[str, Any]:
    """Times by proxy: alone, in turn; and side by side."""
    alone: dict[str, list[tuple[float, float]]] = defaultdict(list)
    beside: dict[str, list[tuple[float, float]]] = defaultdict(list)
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(timeout=120, limits=limits) as client:
        for number in range(3):  # the process that records is started by the first request
            for url in urls.values():
                await timed(client, url, request_of(messages, -1 - number))
            await asyncio.sleep(WARM)
        for number in range(rounds):
            for name, url in random.sample([*urls.items()], len(urls)):
                alone[name].append(await timed(client, url, request_of(messages, number)))
    for number in range(max(rounds // 20, 3)):
        for name, url in random.sample([*urls.items()], len(urls)):
            # A pool looks at all of its connections for each request: each burst has one of its own.
            async with httpx.AsyncClient(timeout=120, limits=limits) as client:
                asked = (
                    timed(client, url, request_of(messages, number * streams + n)) for n in range(streams)
                )
                beside[name] += await asyncio.gather(*asked)
            await asyncio.sleep(WARM)  # what is recorded behind one burst is not measured in the next
    return {"alone": _summary(alone), "beside": _summary(beside)}


def _summary(times: dict[str, list[tuple[float, float]]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, rows in times.items():
        firsts, wholes = zip(*rows, strict=True)
        found[name] = {"first": median(firsts), "p99": quantiles(firsts, n=100)[98], "whole": median(wholes)}
    return found


def long_history(store: str, messages: int) -> dict[str, Any]:
    """A long history that grows by two messages: bytes that the store grows, and seconds to record it."""
    rows = list[dict[str, float]]()
    said = json.loads(request_of(messages, 0))["messages"]
    observer = Observer(Settings(store))
    from quire.proxy.exchange import Answer, Exchange

    for number in range(3):
        body = json.dumps({"model": "gpt-5.6", "messages": said}).encode()
        began, before = time.perf_counter(), _size(store)
        observer.begin(Exchange(number, "openai", PATH, body, 0.0))
        reply = {"role": "assistant", "content": f"reply {number}"}
        data = json.dumps(
            {"model": "gpt-5.6", "choices": [{"index": 0, "finish_reason": "stop", "message": reply}]}
        )
        observer.end(Answer(number, 200, data.encode(), (("content-type", "application/json"),)))
        rows.append(
            {
                "seconds": time.perf_counter() - began,
                "KB": (_size(store) - before) / 1e3,
                "request KB": len(body) / 1e3,
            }
        )
        said += [reply, {"role": "user", "content": f"question {number}"}]
    return {"requests": rows}


def _size(store: str) -> int:
    return sum(one.stat().st_size for one in Path(store).parent.glob(f"{Path(store).name}*"))


# What it makes of recorded runs


class Upstream:
    """Answers each request with what the recorded model said next; keeps what it was sent."""

    def __init__(self, runs: list[list[Any]]) -> None:
        self.runs = runs
        self.sent: dict[int, list[tuple[int, bytes]]] = defaultdict(list)

    async def answer(self, request: Request) -> StreamingResponse:
        body = await request.body()
        run, place = int(request.headers["x-run"]), int(request.headers["x-place"])
        self.sent[run].append((place, body))
        message = self.runs[run][place]
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        usage = {"prompt_tokens": tokens_of(json.loads(body)), "completion_tokens": 9}
        said = json.dumps({"model": "gpt-5.6", "choices": [choice], "usage": usage}).encode()

        async def whole() -> AsyncIterator[bytes]:
            yield said

        return StreamingResponse(whole(), media_type="application/json")


async def play(url: str, run: int, messages: list[Any], pause: random.Random) -> None:
    """One program: it sends what was said so far before each reply, over one connection."""
    async with httpx.AsyncClient(timeout=120) as client:
        for place, message in enumerate(messages):
            if message["role"] != "assistant" or not place:
                continue
            body = json.dumps({"model": "gpt-5.6", "messages": messages[:place]})
            headers = {"x-run": str(run), "x-place": str(place)}
            (await client.post(url + PATH, content=body, headers=headers)).raise_for_status()
            await asyncio.sleep(pause.random() / 100)


async def recognise(runs: list[list[Any]], store: str, fit: int | None) -> dict[str, Any]:
    """Play the runs side by side through the proxy."""
    upstream = Upstream(runs)
    app = Starlette(routes=[Route("/{path:path}", upstream.answer, methods=["POST"])])
    servers = [await _started(app)]
    recorder = Recorder(Settings(store, allowed=AllowedChanges(tokens=fit)))
    relay = Relay({"openai": servers[0][1]}, recorder, timeout=60)
    servers.append(await _started(relay))
    pause = random.Random(7)
    began = time.perf_counter()
    await asyncio.gather(*(play(servers[1][1], n, run, pause) for n, run in enumerate(runs)))
    while recorder.recorded + recorder.lost.total() < recorder.begun:
        await asyncio.sleep(0.05)
    seconds = time.perf_counter() - began
    for server, _, task in reversed(servers):
        server.should_exit = True
        await task
    found = {
        "requests": recorder.begun,
        "lost": recorder.lost.total(),
        "seconds": seconds,
    }
    return found | _conversations(runs, store) | (_fitted(upstream, fit) if fit else {})


async def _started(app: Any) -> tuple[uvicorn.Server, str, "asyncio.Task[None]"]:
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", access_log=False))
    task = asyncio.create_task(server.serve(sockets=[listening]))
    return server, f"http://127.0.0.1:{listening.getsockname()[1]}", task


def _conversations(runs: list[list[Any]], store: str) -> dict[str, Any]:
    """How many runs are one conversation that shows all of what was said, once."""
    with Store.open(store) as opened:
        places = [one.place for one in opened.recent(None)]
        views = [Session.open(str(place), store=opened).view() for place in places]
        shown = sorted(str([_said(item) for item in view]) for view in views)
    read = provider_for("openai").read_history
    wanted = list[str]()
    for run in runs:
        last = max(place for place, message in enumerate(run) if message["role"] == "assistant")
        items = [item for item in read(run[: last + 1]) if getattr(item, "role", "") != "system"]
        wanted.append(str([_said(item) for item in items]))
    whole = sum(one in shown for one in wanted)
    forks = sum("/" in place.conversation for place in places)
    return {"runs": len(runs), "conversations": len(places), "forks": forks, "whole": whole}


def _said(item: Any) -> Any:
    words = [getattr(item, name, None) for name in ("role", "name", "arguments")]
    return [*words, getattr(item, "text", "").strip()]


def tokens_of(payload: Any) -> int:
    """The tokens of a request, counted from what is in it."""
    counter = counter_for("gpt-5.6")
    return counter.total(sum(map(counter.count, provider_for("openai").read_history(payload))))


def _fitted(upstream: Upstream, fit: int) -> dict[str, Any]:
    """What was sent of requests that were cut, and how much of it begins like the request before."""
    refused = over = peak = cut = total = shared = 0
    for run, requests in upstream.sent.items():
        before = b""
        for place, body in requests:
            payload = json.loads(body)
            tokens = tokens_of(payload)
            peak, over = max(peak, tokens), over + (tokens > fit)
            refused += bool(check(payload, "openai"))
            cut += payload["messages"] != upstream.runs[run][:place]
            now = json.dumps(payload["messages"]).encode()
            pairs = enumerate(zip(before, now, strict=False))
            same = next((n for n, (a, b) in pairs if a != b), min(len(before), len(now)))
            if before:
                total, shared = total + len(now), shared + same
            before = now
    return {"cut": cut, "refused": refused, "over": over, "peak": peak, "cached": shared / max(total, 1)}


def main() -> None:
    parser = page.options(__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--messages", type=int, default=20)
    parser.add_argument("--long", type=int, default=100_000)
    parser.add_argument("--runs", type=Path, help="recorded conversations")
    parser.add_argument("--count", type=int, default=20, help="of the runs, the longest")
    parser.add_argument("--fit", type=int, help="cut requests of more than this many tokens")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder, "proxy.db"))
        if given.runs is not None:
            runs = [json.loads(line)["messages"] for line in given.runs.read_text("utf-8").splitlines()]
            runs = sorted(runs, key=lambda run: -len(json.dumps(run)))[: given.count]
            print(json.dumps(asyncio.run(recognise(runs, store, given.fit)), indent=2))
            return
        with (
            serving("upstream") as upstream,
            serving("plain", upstream) as one,
            serving("proxy", upstream, store) as other,
        ):
            found = asyncio.run(
                measure({"plain": one, "proxy": other}, given.rounds, given.streams, given.messages)
            )
        found["long"] = long_history(store, given.long)
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
