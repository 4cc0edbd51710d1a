"""The service as it is used: a server on the loopback address, asked by HTTP."""

import json
import socket
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from threading import Thread
from typing import Any, NamedTuple
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

Answers = Callable[[Rendered], Any]


class Sent(NamedTuple):
    """An event as a client gets it."""

    id: str
    name: str
    data: Any


class Served:
    """A service that runs, and a client of it."""

    def __init__(self, port: int, application: Starlette) -> None:
        self.port, self.application = port, application
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30)

    def path(self, conversation: str = "c", rest: str = "", agent: str = "support") -> str:
        """The path of a conversation."""
        return f"/agents/{quote(agent, safe='')}/conversations/{quote(conversation, safe='')}{rest}"

    def get(self, rest: str = "", conversation: str = "c", **params: Any) -> Any:
        """What a conversation says of itself."""
        answer = self.client.get(self.path(conversation, rest), params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def send(self, content: Any, conversation: str = "c", wait: int = 20, **body: Any) -> Any:
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
        """Send a message, and read all events of its answer."""
        with self.stream("POST", self.path(conversation, "/messages"), json={"content": content}) as events:
            return list(events)


def events_in(lines: Iterator[str]) -> Iterator[Sent]:
    """The events of a stream."""
    fields: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif "event" in fields:
            yield Sent(fields["id"], fields["event"], json.loads(fields["data"]))
            fields = {}


def until_ended(events: Iterator[Sent]) -> list[Sent]:
    """The events of a stream up to the end of a job."""
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
        config = uvicorn.Config(
            application, loop="asyncio", http="h11", ws="none", log_level="critical", access_log=False,
            timeout_graceful_shutdown=1,
        )  # fmt: skip
        server = uvicorn.Server(config)
        thread = Thread(target=server.run, args=([listening],), name="service")
        thread.start()
        served = Served(listening.getsockname()[1], application)
        try:
            while not server.started:
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
            items = [Message("assistant", "Let me see, one moment."), look_up_call("7"), look_up_call("8")]
            return items
        case "fail":
            return ModelFailed("the model is down")
        case _:
            return f"You said: {text}"


def look_up_call(order: str) -> ToolCall:
    """A call of `look_up`."""
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
