"""A server in the place of OpenAI's, so that pages run as they are written, with the official client."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from quire.providers import PROVIDERS

ANSWERS = {"Suggest a dinner": "Pasta with tomatoes and basil, without peanuts."}
"""Answers to questions that begin so; all others are answered by "Done."."""

ARGUMENTS = {"string": "4711", "number": 20, "integer": 20, "boolean": True}
"""The arguments of a call, by the type of the parameter."""


def message_for(asked: dict[str, Any]) -> dict[str, Any]:
    """A call of the first tool to a message of the user, if there are tools, and a text otherwise."""
    last = next(one for one in reversed(asked["messages"]) if one["role"] in ("user", "tool"))
    if asked.get("tools") and last["role"] == "user":
        function = asked["tools"][0]["function"]
        fields = function["parameters"]["properties"]
        arguments = json.dumps({name: ARGUMENTS[field["type"]] for name, field in fields.items()})
        called = {"name": function["name"], "arguments": arguments}
        call = {"id": "call_1", "type": "function", "function": called}
        return {"role": "assistant", "content": None, "tool_calls": [call]}
    words = json.dumps(asked["messages"])
    return {"role": "assistant", "content": next((ANSWERS[one] for one in ANSWERS if one in words), "Done.")}


class OpenAI(BaseHTTPRequestHandler):
    """Answers requests for chat completions, streamed or whole."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        message, usage = message_for(asked), {"prompt_tokens": 50, "completion_tokens": 9, "total_tokens": 59}
        finish = "tool_calls" if "tool_calls" in message else "stop"
        head = {"id": "c", "created": 0, "model": asked["model"]}
        if not asked.get("stream"):
            choice = {"index": 0, "finish_reason": finish, "message": message}
            whole = {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
            return self.send("application/json", json.dumps(whole))
        if "tool_calls" in message:
            message["tool_calls"] = [{**call, "index": 0} for call in message["tool_calls"]]
        head["object"] = "chat.completion.chunk"
        choice = {"index": 0, "finish_reason": finish, "delta": message}
        chunks: list[Any] = [{**head, "choices": [choice]}, {**head, "choices": [], "usage": usage}]
        events = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
        return self.send("text/event-stream", "".join([*events, "data: [DONE]\n\n"]))

    def send(self, kind: str, body: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="session")
def openai_address() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), OpenAI) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def openai_here(openai_address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", openai_address)
    monkeypatch.setenv("OPENAI_API_KEY", "none")


@pytest.fixture(autouse=True)
def providers() -> Iterator[None]:
    """Take out what a page registers."""
    before = dict(PROVIDERS)
    yield
    PROVIDERS.clear()
    PROVIDERS.update(before)
