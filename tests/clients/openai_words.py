"""How OpenAI's two wires say it: whole responses and the events of streams."""

import json
from collections.abc import Sequence
from typing import Any

from tests.clients.said import CACHED, NAMES, READ, WRITTEN, Call, Said


def _chat_usage() -> Any:
    return {
        "prompt_tokens": READ,
        "completion_tokens": WRITTEN,
        "total_tokens": READ + WRITTEN,
        "prompt_tokens_details": {"cached_tokens": CACHED},
    }


def _chat_calls(calls: Sequence[Call]) -> Any:
    return [
        {
            "index": place,
            "id": f"c{place}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for place, (name, arguments) in enumerate(calls)
    ]


def chat(said: Said, finish: str | None) -> Any:
    pieces, calls, thought = said
    message: Any = {"role": "assistant", "content": "".join(pieces) or None}
    if calls:
        message["tool_calls"] = _chat_calls(calls)
    if thought:
        message["reasoning_content"] = thought
    reason = finish or ("tool_calls" if calls else "stop")
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": NAMES["openai"],
        "choices": [{"index": 0, "finish_reason": reason, "message": message}],
        "usage": _chat_usage(),
    }


def chat_events(said: Said) -> list[Any]:
    pieces, calls, thought = said

    def chunk(delta: Any, reason: str | None = None) -> Any:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return {
            "id": "x",
            "object": "chat.completion.chunk",
            "created": 0,
            "model": NAMES["openai"],
            "choices": [choice],
        }

    told = [chunk({"role": "assistant"})]
    told += [chunk({"reasoning_content": thought})] if thought else []
    told += [chunk({"content": piece}) for piece in pieces]
    told += [chunk({"tool_calls": [call]}) for call in _chat_calls(calls)]
    told.append(chunk({}, "tool_calls" if calls else "stop"))
    told.append({**chunk({}), "choices": [], "usage": _chat_usage()})
    return told


def _responses_output(said: Said) -> list[Any]:
    pieces, calls, thought = said
    output: list[Any] = []
    if thought:
        summary = [{"type": "summary_text", "text": thought}]
        output.append({"type": "reasoning", "id": "rs", "summary": summary, "encrypted_content": "e"})
    if pieces:
        text: Any = {"type": "output_text", "text": "".join(pieces), "annotations": []}
        output.append(
            {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [text]}
        )
    for place, (name, arguments) in enumerate(calls):
        call = {"id": f"f{place}", "call_id": f"c{place}", "name": name, "arguments": json.dumps(arguments)}
        output.append({"type": "function_call", "status": "completed", **call})
    return output


def responses(said: Said, finish: str | None) -> Any:
    return {
        "id": "r",
        "object": "response",
        "created_at": 0,
        "status": "completed",
        "model": NAMES["openai-responses"],
        "output": _responses_output(said),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": READ,
            "output_tokens": WRITTEN,
            "total_tokens": READ + WRITTEN,
            "input_tokens_details": {"cached_tokens": CACHED},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
    }


def responses_events(said: Said) -> list[Any]:
    response = responses(said, None)
    told: list[Any] = [
        {"type": "response.created", "response": {**response, "output": [], "status": "in_progress"}}
    ]
    for index, item in enumerate(response["output"]):
        told.append({"type": "response.output_item.added", "output_index": index, "item": _bare(item)})
        place = {"output_index": index, "item_id": item["id"], "content_index": 0}
        if item["type"] == "reasoning":
            kind = "response.reasoning_summary_text.delta"
            told.append({"type": kind, "summary_index": 0, "delta": said.thought, **place})
        if item["type"] == "message":
            told += [
                {"type": "response.output_text.delta", "delta": piece, "logprobs": [], **place}
                for piece in said.pieces
            ]
        told.append({"type": "response.output_item.done", "output_index": index, "item": item})
    told.append({"type": "response.completed", "response": response})
    return [{**event, "sequence_number": number} for number, event in enumerate(told)]


def _bare(item: Any) -> Any:
    empty: dict[str, Any] = {"content": [], "summary": [], "arguments": "", "status": "in_progress"}
    return {**item, **{name: value for name, value in empty.items() if name in item}}
