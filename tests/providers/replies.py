"""One reply on all wires: as a whole response, and as the events of a stream cut into pieces."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import strategies as st

Json = dict[str, Any]
WIRES: tuple[str, ...] = ("openai", "openai-responses", "anthropic", "gemini")
MODELS: dict[str, str] = dict(
    zip(WIRES, ("deepseek-v4-pro", "gpt-5.6", "claude-opus-4-8", "gemini-3-pro"), strict=True)
)
READ, WRITTEN, CACHED = 40, 7, 16
"""What every reply says it used; some of what was read came from the cache."""
ROWS: Json = json.loads(Path(__file__).with_name("readings.json").read_text("utf-8"))
"""Responses, streams and histories with what they are read as; sources stand in the rows."""


class Call(NamedTuple):
    """A call of a reply."""

    id: str
    name: str
    arguments: Json


class Reply(NamedTuple):
    """What a model thought, said and called; `cut` is its text in the pieces of a stream."""

    thought: str = ""
    text: str = ""
    calls: tuple[Call, ...] = ()
    cut: tuple[str, ...] = ()


_texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)
_arguments = st.dictionaries(st.sampled_from("abc"), _texts, max_size=2)
_calls = st.lists(st.tuples(st.sampled_from(("look", "find")), _arguments), max_size=3).map(
    lambda calls: tuple(Call(f"c{place}", *call) for place, call in enumerate(calls))
)
FULL = Reply("hm", "Well, I look. 😀", (Call("c0", "look", {"q": "x"}), Call("c1", "find", {})))
drawn_replies = st.builds(Reply, _texts, _texts, _calls, st.just(()))


def pieces(text: str, size: int) -> Iterator[str]:
    """A text in pieces of a size."""
    return (text[start : start + size] for start in range(0, len(text), size))


def whole(wire: str, reply: Reply, model: str | None = None) -> Json:
    """The reply as a whole response."""
    return _WHOLE[wire](reply, model or MODELS[wire])


def events(wire: str, reply: Reply, size: int = 3, model: str | None = None) -> list[Json]:
    """The reply as the events of a stream, its texts cut into pieces."""
    return list(_EVENTS[wire](whole(wire, reply, model), reply, size))


def said(reply: Reply, size: int) -> Sequence[str]:
    """The text of a reply in pieces."""
    return reply.cut or tuple(pieces(reply.text, size))


# --- Chat Completions

_COUNTS: Json = {"prompt_tokens": READ, "completion_tokens": WRITTEN}
_COUNTS["prompt_tokens_details"] = {"cached_tokens": CACHED}


def _chat(reply: Reply, model: str) -> Json:
    functions = [{"name": call.name, "arguments": json.dumps(call.arguments)} for call in reply.calls]
    pairs = zip(reply.calls, functions, strict=True)
    calls = [{"id": call.id, "type": "function", "function": function} for call, function in pairs]
    message = {"role": "assistant", "content": reply.text, "tool_calls": calls}
    message |= {"reasoning_content": reply.thought} if reply.thought else {}
    choice = {"index": 0, "finish_reason": "tool_calls" if calls else "stop", "message": message}
    return {"model": model, "choices": [choice], "usage": _COUNTS}


def _chat_events(body: Json, reply: Reply, size: int) -> Iterator[Json]:
    def chunk(delta: Json, reason: str | None = None) -> Json:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return {"model": body["model"], "choices": [choice]}

    message = body["choices"][0]["message"]
    yield from (chunk({"reasoning_content": piece}) for piece in pieces(reply.thought, size))
    yield from (chunk({"content": piece}) for piece in said(reply, size))
    for index, call in enumerate(message["tool_calls"]):
        begun = {**call, "index": index, "function": {**call["function"], "arguments": ""}}
        yield chunk({"tool_calls": [begun]})
        for piece in pieces(call["function"]["arguments"], size):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, "tool_calls" if reply.calls else "stop")
    yield {**chunk({}), "choices": [], "usage": _COUNTS}


# --- Responses


def _responses(reply: Reply, model: str) -> Json:
    output: list[Json] = []
    if reply.thought:
        summary = [{"type": "summary_text", "text": reply.thought}]
        output.append(
            {"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "c2VhbA=="}
        )
    if reply.text:
        content: list[Json] = [{"type": "output_text", "text": reply.text, "annotations": []}]
        output.append({"type": "message", "id": "msg_1", "role": "assistant", "content": content})
    for call in reply.calls:
        made = {"type": "function_call", "id": f"fc_{call.id}", "call_id": call.id, "name": call.name}
        output.append({**made, "arguments": json.dumps(call.arguments)})
    usage = {
        "input_tokens": READ,
        "output_tokens": WRITTEN,
        "input_tokens_details": {"cached_tokens": CACHED},
    }
    return {"model": model, "status": "completed", "output": output, "usage": usage}


def _responses_events(response: Json, reply: Reply, size: int) -> Iterator[Json]:
    yield {"type": "response.created", "response": {"model": response["model"], "status": "in_progress"}}
    for index, item in enumerate(response["output"]):
        place = {"output_index": index, "item_id": item["id"]}
        empty: Json = {"content": [], "summary": [], "arguments": ""}
        begun = {name: empty.get(name, value) for name, value in item.items()}
        yield {"type": "response.output_item.added", "output_index": index, "item": begun}
        arguments = item.get("arguments", "")
        kind, name, text, cut = {
            "message": ("output_text", "text", reply.text, said(reply, size)),
            "function_call": ("function_call_arguments", "arguments", arguments, pieces(arguments, size)),
            "reasoning": ("reasoning_summary_text", "", "", pieces(reply.thought, size)),
        }[item["type"]]
        for piece in cut:
            yield {"type": f"response.{kind}.delta", **place, "delta": piece}
        if name:
            yield {"type": f"response.{kind}.done", **place, name: text}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": "response.completed", "response": response}


# --- Messages


def _counted(written: int) -> Json:
    return {"input_tokens": READ - CACHED, "cache_read_input_tokens": CACHED, "output_tokens": written}


def _messages(reply: Reply, model: str) -> Json:
    thought = {"type": "thinking", "thinking": reply.thought, "signature": "c2ln"}
    blocks: list[Json] = [thought] if reply.thought else []
    blocks += [{"type": "text", "text": reply.text}] if reply.text else []
    for call in reply.calls:
        blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments})
    reason = "tool_use" if reply.calls else "end_turn"
    body = {"type": "message", "role": "assistant", "model": model, "content": blocks}
    return {**body, "stop_reason": reason, "usage": _counted(WRITTEN)}


def _messages_events(message: Json, reply: Reply, size: int) -> Iterator[Json]:
    yield {
        "type": "message_start",
        "message": {**message, "content": [], "stop_reason": None, "usage": _counted(1)},
    }
    empty: Json = {"text": "", "thinking": "", "signature": "", "input": {}}
    for index, block in enumerate(message["content"]):
        begun = {name: empty.get(name, value) for name, value in block.items()}
        yield {"type": "content_block_start", "index": index, "content_block": begun}
        text = json.dumps(block["input"]) if block.get("input") else ""
        kind, name, cut = {
            "text": ("text_delta", "text", said(reply, size)),
            "thinking": ("thinking_delta", "thinking", pieces(reply.thought, size)),
            "tool_use": ("input_json_delta", "partial_json", pieces(text, size)),
        }[block["type"]]
        deltas = [{"type": kind, name: piece} for piece in cut]
        deltas += [{"type": "signature_delta", "signature": "c2ln"}] if "signature" in block else []
        yield from ({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
        yield {"type": "content_block_stop", "index": index}
    reason = {"stop_reason": message["stop_reason"]}
    yield {"type": "message_delta", "delta": reason, "usage": {"output_tokens": WRITTEN}}
    yield {"type": "message_stop"}


# --- Gemini


def _gemini(reply: Reply, model: str) -> Json:
    parts: list[Json] = [{"text": reply.thought, "thought": True}] if reply.thought else []
    parts += [{"text": reply.text}] if reply.text else []
    for place, call in enumerate(reply.calls):
        function = {"id": call.id, "name": call.name, "args": call.arguments}
        parts.append({"functionCall": function, **({} if place else {"thoughtSignature": "c2ln"})})
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
    usage = {"promptTokenCount": READ, "candidatesTokenCount": WRITTEN, "cachedContentTokenCount": CACHED}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": model}


def _gemini_events(body: Json, reply: Reply, size: int) -> Iterator[Json]:
    def chunk(part: Json) -> Json:
        content = {"role": "model", "parts": [part]}
        return {"candidates": [{"content": content}], "modelVersion": body["modelVersion"]}

    for part in body["candidates"][0]["content"]["parts"]:
        cut = pieces(reply.thought, size) if "thought" in part else said(reply, size)
        yield from (chunk({**part, "text": piece}) for piece in cut) if "text" in part else (chunk(part),)
    yield {**body, "candidates": [{"content": {"role": "model", "parts": []}, "finishReason": "STOP"}]}


_WHOLE: dict[str, Callable[..., Json]] = {
    **{"openai": _chat, "openai-responses": _responses, "anthropic": _messages, "gemini": _gemini}
}
_EVENTS: dict[str, Callable[..., Iterator[Json]]] = {
    **{"openai": _chat_events, "openai-responses": _responses_events},
    **{"anthropic": _messages_events, "gemini": _gemini_events},
}
