"""How Anthropic and Google say it: whole responses and the events of streams."""

import json
from collections.abc import Sequence
from typing import Any

from tests.clients.said import CACHED, NAMES, READ, WRITTEN, Said


def _anthropic_usage(written: int) -> Any:
    return {
        "input_tokens": READ - CACHED,
        "cache_read_input_tokens": CACHED,
        "cache_creation_input_tokens": 0,
        "output_tokens": written,
    }


def anthropic(said: Said, finish: str | None) -> Any:
    pieces, calls, thought = said
    blocks: list[Any] = []
    if thought:
        blocks.append({"type": "thinking", "thinking": thought, "signature": "s"})
    if pieces:
        blocks.append({"type": "text", "text": "".join(pieces)})
    for place, (name, arguments) in enumerate(calls):
        blocks.append({"type": "tool_use", "id": f"c{place}", "name": name, "input": arguments})
    return {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": NAMES["anthropic"],
        "content": blocks,
        "stop_reason": finish or ("tool_use" if calls else "end_turn"),
        "stop_sequence": None,
        "usage": _anthropic_usage(WRITTEN),
    }


def anthropic_events(said: Said) -> list[Any]:
    message = anthropic(said, None)
    start: Any = {**message, "content": [], "stop_reason": None, "usage": _anthropic_usage(1)}
    told: list[Any] = [{"type": "message_start", "message": start}, {"type": "ping"}]
    for index, block in enumerate(message["content"]):
        deltas: list[Any] = []
        bare: Any = None
        if block["type"] == "thinking":
            deltas = [{"type": "thinking_delta", "thinking": said.thought}]
            deltas.append({"type": "signature_delta", "signature": "s"})
            bare = {"type": "thinking", "thinking": "", "signature": ""}
        elif block["type"] == "text":
            deltas = [{"type": "text_delta", "text": piece} for piece in said.pieces]
            bare = {"type": "text", "text": ""}
        else:
            deltas = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
            bare = {**block, "input": {}}
        told.append({"type": "content_block_start", "index": index, "content_block": bare})
        told += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        told.append({"type": "content_block_stop", "index": index})
    stop = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    told.append({"type": "message_delta", "delta": stop, "usage": {"output_tokens": WRITTEN}})
    return [*told, {"type": "message_stop"}]


def _gemini_parts(said: Said) -> list[Any]:
    pieces, calls, thought = said
    parts: list[Any] = [{"text": thought, "thought": True}] if thought else []
    parts += [{"text": piece} for piece in pieces]
    return parts + [{"functionCall": {"name": name, "args": arguments}} for name, arguments in calls]


def _gemini_with(parts: Sequence[Any], finish: str | None) -> Any:
    candidate: Any = {"index": 0, "content": {"role": "model", "parts": list(parts)}}
    if finish:
        candidate["finishReason"] = finish
    usage = {
        "promptTokenCount": READ,
        "candidatesTokenCount": WRITTEN,
        "totalTokenCount": READ + WRITTEN,
        "cachedContentTokenCount": CACHED,
    }
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": NAMES["gemini"]}


def gemini(said: Said, finish: str | None) -> Any:
    return _gemini_with(_gemini_parts(said), finish or "STOP")


def gemini_events(said: Said) -> list[Any]:
    parts = _gemini_parts(said)
    return [
        _gemini_with([part], "STOP" if place == len(parts) - 1 else None) for place, part in enumerate(parts)
    ]
