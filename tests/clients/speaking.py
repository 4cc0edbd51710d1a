"""How each provider answers: whole responses, streams, errors, in its own words. Used by scenes."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from tests.clients.openai_words import chat, chat_events, responses, responses_events
from tests.clients.other_words import anthropic, anthropic_events, gemini, gemini_events
from tests.clients.said import Call, Said
from tests.clients.scenes import Exchange, Step


def says(wire: str, *pieces: str, calls: Sequence[Call] = (), thought: str = "") -> Step:
    """An answer of these words and calls, in one piece or as a stream, as it is asked for."""

    def step(exchange: Exchange) -> None:
        if is_streamed(wire, exchange):
            send(wire, exchange, events(wire, Said(pieces, calls, thought)))
        else:
            exchange.answer(whole(wire, Said(pieces, calls, thought)))

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


def whole(wire: str, said: Said, finish: str | None = None) -> Any:
    """A whole response."""
    make = {"openai": chat, "openai-responses": responses, "anthropic": anthropic, "gemini": gemini}[wire]
    return make(said, finish)


def begun(wire: str, pieces: Sequence[str]) -> list[Any]:
    """The events up to the last word, and nothing after it."""
    told = events(wire, Said(pieces))
    last = max(place for place, event in enumerate(told) if pieces and pieces[-1] in json.dumps(event))
    if wire == "openai-responses":  # later events have all words once more
        last = max(p for p, event in enumerate(told) if event["type"] == "response.output_text.delta")
    if wire == "gemini":
        told[last]["candidates"][0].pop("finishReason", None)
    return told[: last + 1]


def events(wire: str, said: Said) -> list[Any]:
    """The events of a whole stream."""
    return {
        "openai": chat_events,
        "openai-responses": responses_events,
        "anthropic": anthropic_events,
        "gemini": gemini_events,
    }[wire](said)
