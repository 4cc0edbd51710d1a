"""The service as it is used: a server on the loopback address, asked by HTTP, and commands as processes."""

import json
import multiprocessing
import os
import signal
import socket
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote

import httpx
import uvicorn
from starlette.applications import Starlette

from quire.agent import Agent, tool
from quire.errors import ModelFailed
from quire.items import Message, ToolCall, new_id
from quire.models import Scripted
from quire.node import Node
from quire.providers import Rendered
from quire.service import app
from quire.stores.threads import FOLLOWING

T = TypeVar("T")
Answers = Callable[[Rendered], Any]

PATIENCE = 60.0
"""Seconds that a test waits for an event. What takes longer has failed, on however busy a machine."""

_FORKING = multiprocessing.get_context("forkserver")
_FORKING.set_forkserver_preload([__name__, "quire.cli.main", "quire.cli.serve", "quire.service.worker"])


def until(find: Callable[[], T | None]) -> T:
    """What is found, once it is."""
    end = time.monotonic() + PATIENCE
    while not (found := find()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)
    return found


def free_port() -> int:
    """A port for a command that takes no 0: below those that the system gives to whoever asks."""
    for port in range(20_000 + os.getpid() * 8 % 10_000, 32_768):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError("no port is free")


class Forked:
    """A function in a process of its own: forked from one that has imported everything, so it starts at once.

    What it prints is in files.
    """

    def __init__(self, log: Path, run: Callable[..., None], *given: Any, **environment: str) -> None:
        self._log = log
        self._process = _FORKING.Process(target=_run_forked, args=(log, run, given, environment), daemon=True)
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.is_alive()

    def send(self, number: signal.Signals) -> None:
        """Send a signal; after a fatal one, wait until the process has ended."""
        os.kill(self.pid, number)
        if number == signal.SIGKILL:
            self.wait()

    def wait(self) -> int:
        """How the process ends."""
        self._process.join(PATIENCE)
        assert self._process.exitcode is not None, "it has not ended in time"
        return self._process.exitcode

    def printed(self, ending: str = ".out") -> str:
        path = self._log.with_suffix(ending)
        return path.read_text() if path.exists() else ""


def _run_forked(log: Path, run: Callable[..., None], given: Any, environment: dict[str, str]) -> None:
    for number, ending in enumerate((".out", ".err"), start=1):
        os.dup2(os.open(log.with_suffix(ending), os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
    os.environ.update(environment)
    run(*given)


def quire(*arguments: str) -> None:
    """The command line, for a process."""
    from quire.cli.main import app as commands

    commands(list(arguments))


class Sent(NamedTuple):
    """An event as a client gets it."""

    id: str
    name: str
    data: Any


class Served:
    """A service that runs, and a client of it."""

    def __init__(self, port: int, application: Starlette) -> None:
        self.port, self.application = port, application
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE + 10)

    def path(self, conversation: str = "c", rest: str = "", agent: str = "support") -> str:
        return f"/agents/{quote(agent, safe='')}/conversations/{quote(conversation, safe='')}{rest}"

    def get(self, rest: str = "", conversation: str = "c", **params: Any) -> Any:
        """What a conversation says of itself."""
        answer = self.client.get(self.path(conversation, rest), params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def send(self, content: Any, conversation: str = "c", wait: int = 60, **body: Any) -> Any:
        """Send a message, and wait for the answer."""
        path, headers = self.path(conversation, "/messages"), {"Prefer": f"wait={wait}"}
        answer = self.client.post(path, json={"content": content, **body}, headers=headers)
        assert answer.status_code == 200, answer.text
        return answer.json()

    @contextmanager
    def stream(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, **options: Any
    ) -> Generator[Iterator[Sent]]:
        """The events that answer a request."""
        accept = {"Accept": "text/event-stream", **(headers or {})}
        with self.client.stream(method, path, headers=accept, **options) as response:
            assert response.status_code == 200, response.read()
            yield events_in(response.iter_lines())

    def streamed(self, content: str, conversation: str = "c") -> list[Sent]:
        with self.stream("POST", self.path(conversation, "/messages"), json={"content": content}) as events:
            return list(events)


def events_in(lines: Iterator[str]) -> Iterator[Sent]:
    fields: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif "event" in fields:
            yield Sent(fields["id"], fields["event"], json.loads(fields["data"]))
            fields = {}


def until_ended(events: Iterator[Sent]) -> list[Sent]:
    found: list[Sent] = []
    for event in events:
        found.append(event)
        if event.name == "ended":
            break
    return found


@contextmanager
def serving(application: Starlette) -> Generator[Served]:
    """Serve an application in a thread."""
    with socket.create_server(("127.0.0.1", 0), backlog=1_024) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**16)  # for clients that read nothing
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        config = uvicorn.Config(
            application, loop="asyncio", http="h11", ws="none", log_level="critical", access_log=False,
            timeout_graceful_shutdown=1,
        )  # fmt: skip
        server = uvicorn.Server(config)
        thread = Thread(target=server.run, args=([listening],), name="service")
        thread.start()
        served = Served(listening.getsockname()[1], application)
        try:
            until(lambda: server.started or not thread.is_alive())
            assert thread.is_alive()
            yield served
        finally:
            application.state.service.readers.close()
            served.client.close()
            server.should_exit = True
            thread.join()


@tool(approve=True)
def refund(order: str) -> str:
    """Refund an order.

    Args:
        order: its number.
    """
    return f"refunded {order}"


@tool
def look_up(order: str) -> str:
    """Look up an order.

    Args:
        order: its number.
    """
    return f"{order} is on its way"


def reply(rendered: Rendered) -> Any:
    """What the model of the tests answers: it depends on the first word of the last message."""
    last = rendered.payload["messages"][-1]
    text = str(last["content"])
    if last["role"] == "tool":
        return f"This is what came of it: {text}."
    match text.partition(" ")[0]:
        case "refund":
            return ToolCall(f"call_{new_id()}", "refund", '{"order": "7"}')
        case "look":
            items = [Message("assistant", "Let me see, one moment."), look_up_call("7"), look_up_call("7")]
            return items  # equal, as their results come in any order
        case "fail":
            return ModelFailed("the model is down")
        case _:
            return f"You said: {text}"


class Gate:
    """A model that answers once the gate is open."""

    def __init__(self, waits: Callable[[Rendered], bool] = lambda _: True, answer: Answers = reply) -> None:
        self.is_open, self.asked, self._waits, self._answer = Event(), Event(), waits, answer

    async def __call__(self, rendered: Rendered) -> Any:
        if self._waits(rendered):
            self.asked.set()
            await FOLLOWING.do(self.is_open.wait, PATIENCE)
        return self._answer(rendered)


def look_up_call(order: str) -> ToolCall:
    return ToolCall(f"call_{new_id()}", "look_up", f'{{"order": "{order}"}}')


def support_node(store: Any = "memory:", answer: Answers = reply) -> Node:
    """A node with the agent `support`."""
    node = Node(store=store)
    node.add("support", lambda session: Agent(session, model=Scripted(answer), tools=[refund, look_up]))
    return node


@contextmanager
def support(store: Any = "memory:", answer: Answers = reply, **options: Any) -> Generator[Served]:
    """A service of the agent `support`."""
    with serving(app(support_node(store, answer), **options)) as served:
        yield served
