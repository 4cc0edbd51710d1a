"""How each provider answers: whole responses, streams, errors, in its own words. Used by scenes."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from tests.clients.scenes import Exchange, Step
from tests.providers import replies
from tests.providers.replies import Reply

NAMES = {
    "openai": "gpt-5.6",
    "openai-responses": "gpt-5.6",
    "anthropic": "claude-sonnet-5",
    "gemini": "gemini-2.5-pro",
}
Call = tuple[str, dict[str, Any]]


def said(*pieces: str, calls: Sequence[Call] = (), thought: str = "") -> Reply:
    """What a server says, whichever wire it speaks: text in pieces, calls, and a thought before them."""
    made = (replies.Call(f"c{place}", *call) for place, call in enumerate(calls))
    return Reply(thought, "".join(pieces), tuple(made), pieces)


def says(wire: str, *pieces: str, calls: Sequence[Call] = (), thought: str = "") -> Step:
    """An answer of these words and calls, in one piece or as a stream, as it is asked for."""
    reply = said(*pieces, calls=calls, thought=thought)
    return answers(wire, whole(wire, reply), events(wire, reply))


def answers(wire: str, body: Any, told: Sequence[Any]) -> Step:
    """A body in one piece, or events, as it is asked for."""

    def step(exchange: Exchange) -> None:
        send(wire, exchange, told) if is_streamed(wire, exchange) else exchange.answer(body)

    return step


def is_streamed(wire: str, exchange: Exchange) -> bool:
    if wire == "gemini":
        return "streamGenerateContent" in exchange.path
    return exchange.body.get("stream") is True


def send(
    wire: str, exchange: Exchange, told: Sequence[Any], then: Callable[[Exchange], None] | None = None
) -> None:
    """Events of a stream; `then` ends it in another way than well."""
    exchange.begin()
    for event in told:
        kind = f"event: {event['type']}\n" if wire in ("anthropic", "openai-responses") else ""
        exchange.chunk(f"{kind}data: {json.dumps(event)}\n\n")
    if then is not None:
        then(exchange)
        return
    if wire == "openai":
        exchange.chunk("data: [DONE]\n\n")
    exchange.end()


def breaks_off(wire: str, *pieces: str, then: Callable[[Exchange], None] = Exchange.hang_up) -> Step:
    """A stream that does not come to its end after these words."""

    def step(exchange: Exchange) -> None:
        send(wire, exchange, begun(wire, pieces), then)

    return step


def sends(body: Any, kind: str = "application/json") -> Step:
    """A body with a good status, also where a stream was asked for."""
    return fails(200, body, content_type=kind)


def fails(status: int, body: Any, **headers: str) -> Step:
    return lambda exchange: exchange.answer(
        body, status, {name.replace("_", "-"): value for name, value in headers.items()}
    )


def error(wire: str, status: int, kind: str, message: str) -> Any:
    """An error as a provider writes it."""
    if wire == "anthropic":
        return {"type": "error", "error": {"type": kind, "message": message}}
    if wire == "gemini":
        return {"error": {"code": status, "status": kind, "message": message}}
    return {"error": {"type": kind, "code": kind, "message": message, "param": None}}


def whole(wire: str, reply: Reply, finish: str | None = None) -> Any:
    """A whole response."""
    body = replies.whole(wire, reply, NAMES[wire])
    if finish and wire == "openai":
        body["choices"][0]["finish_reason"] = finish
    elif finish:
        body["stop_reason"] = finish
    return body


def events(wire: str, reply: Reply) -> list[Any]:
    """The events of a whole stream."""
    return replies.events(wire, reply, 99, NAMES[wire])


def begun(wire: str, pieces: Sequence[str]) -> list[Any]:
    """The events up to the last word, and nothing after it."""
    told = events(wire, said(*pieces))
    last = max(p for p, event in enumerate(told) if pieces[-1] in str(event) and _is_piece(wire, event))
    return told[: last + 1]


def _is_piece(wire: str, event: Any) -> bool:
    return wire != "openai-responses" or event["type"].endswith(".delta")
