"""A service on 127.0.0.1 that answers as Anthropic and as OpenAI do, and keeps what it was sent."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

Json = dict[str, Any]


class Upstream:
    """Gives its answers in turn, a text or a call as `(name, arguments)`; then always the last one."""

    def __init__(self) -> None:
        self.requests: list[Json] = []
        self.answers: list[str | tuple[str, Json]] = []

    def answer(self, path: str, body: Json) -> list[tuple[str, Json]]:
        """The events of the next answer to a request."""
        self.requests.append(body)
        said = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return (_anthropic if "/messages" in path else _openai)(said, len(self.requests))


def _anthropic(said: str | tuple[str, Json], number: int) -> list[tuple[str, Json]]:
    usage = {"input_tokens": 5, "output_tokens": 5}
    message: Json = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
    }
    message |= {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
    if isinstance(said, str):
        block: Json = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": said}
    else:
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": said[0], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(said[1])}
    end = {"stop_reason": "end_turn" if isinstance(said, str) else "tool_use", "stop_sequence": None}
    return [
        ("message_start", {"message": message}),
        ("content_block_start", {"index": 0, "content_block": block}),
        ("content_block_delta", {"index": 0, "delta": delta}),
        ("content_block_stop", {"index": 0}),
        ("message_delta", {"delta": end, "usage": usage}),
        ("message_stop", {}),
    ]


def _openai(said: str | tuple[str, Json], number: int) -> list[tuple[str, Json]]:
    if isinstance(said, str):
        content: list[Json] = [{"type": "output_text", "text": said, "annotations": []}]
        item: Json = {"type": "message", "id": f"msg_{number}", "role": "assistant", "content": content}
    else:
        item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}"}
        item |= {"name": said[0], "arguments": json.dumps(said[1])}
    response: Json = {"id": f"resp_{number}", "object": "response", "status": "completed", "output": [item]}
    response["usage"] = {"input_tokens": 5, "output_tokens": 5, "total_tokens": 10}
    return [
        ("response.created", {"response": {**response, "status": "in_progress", "output": []}}),
        ("response.output_item.added", {"output_index": 0, "item": item}),
        ("response.output_item.done", {"output_index": 0, "item": item}),
        ("response.completed", {"response": response}),
    ]


@contextmanager
def serving() -> Generator[tuple[Upstream, str]]:
    """A service that runs in the `with` block, and its address."""
    upstream = Upstream()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def do_HEAD(self) -> None:
            self._send(b"{}", "application/json")

        do_GET = do_HEAD

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
            path = self.path.partition("?")[0]
            if not path.endswith(("/messages", "/responses")) or not body.get("tools"):
                self._send(b"{}", "application/json")  # counts, telemetry, and titles of sessions
                return
            events = upstream.answer(path, body)
            text = "".join(f"event: {k}\ndata: {json.dumps({'type': k, **v})}\n\n" for k, v in events)
            self._send(text.encode(), "text/event-stream")

        def _send(self, data: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield upstream, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
