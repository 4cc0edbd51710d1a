"""One reply on all wires: as a whole response, and as the events of a stream cut into pieces."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st

from quire.items import JSON, Item

Json = dict[str, Any]
WIRES = ("openai", "openai-responses", "anthropic", "gemini")
MODELS = {
    "openai": "deepseek-v4-pro",
    "openai-responses": "gpt-5.6",
    "anthropic": "claude-opus-4-8",
    "gemini": "gemini-3-pro",
}


class Call(NamedTuple):
    """A call of a reply."""

    id: str
    name: str
    arguments: Json


class Reply(NamedTuple):
    """What a model thought, said and called."""

    thought: str = ""
    text: str = ""
    calls: tuple[Call, ...] = ()


_texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)
_calls = st.builds(
    Call,
    st.just("c"),
    st.sampled_from(("look", "find")),
    st.dictionaries(st.sampled_from("abc"), _texts, max_size=2),
)
drawn_replies = st.builds(Reply, _texts, _texts, st.lists(_calls, max_size=3)).map(
    lambda reply: reply._replace(
        calls=tuple(call._replace(id=f"c{place}") for place, call in enumerate(reply.calls))
    )
)


def plain(items: Sequence[Item]) -> list[Json]:
    """Items without ids and times."""
    written: list[Json] = json.loads(JSON.encode(items))
    return [{name: item[name] for name in item if name not in ("id", "created_at")} for item in written]


def pieces(text: str, size: int) -> Iterator[str]:
    """A text in pieces of a size."""
    return (text[start : start + size] for start in range(0, len(text), size))


def whole(wire: str, reply: Reply) -> Json:
    """The reply as a whole response."""
    return _WHOLE[wire](reply)


def events(wire: str, reply: Reply, size: int = 3) -> list[Json]:
    """The reply as the events of a stream, its texts cut into pieces."""
    return list(_EVENTS[wire](reply, size))


def history(wire: str, value: Any) -> list[Any]:
    """A history in which a call gave a value."""
    asked = {"role": "user", "content": "Rain?"}
    if wire == "openai":
        call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        return [
            asked,
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": value},
        ]
    if wire == "anthropic":
        used: Any = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
        given = {"type": "tool_result", "tool_use_id": "c1", "content": value}
        return [asked, {"role": "assistant", "content": [used]}, {"role": "user", "content": [given]}]
    return [
        asked,
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": value},
    ]


# --- Chat Completions


def _chat(reply: Reply) -> Json:
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
        }
        for call in reply.calls
    ]
    message = {"role": "assistant", "content": reply.text, "tool_calls": calls}
    if reply.thought:
        message["reasoning_content"] = reply.thought
    reason = "tool_calls" if calls else "stop"
    choice = {"index": 0, "finish_reason": reason, "message": message}
    return {
        "model": MODELS["openai"],
        "choices": [choice],
        "usage": {"prompt_tokens": 9, "completion_tokens": 3},
    }


def _chat_events(reply: Reply, size: int) -> Iterator[Json]:
    def chunk(delta: Json, reason: str | None = None) -> Json:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return {"model": MODELS["openai"], "choices": [choice]}

    yield from (chunk({"reasoning_content": piece}) for piece in pieces(reply.thought, size))
    yield from (chunk({"content": piece}) for piece in pieces(reply.text, size))
    for index, call in enumerate(reply.calls):
        function: Json = {"name": call.name, "arguments": ""}
        yield chunk(
            {"tool_calls": [{"index": index, "id": call.id, "type": "function", "function": function}]}
        )
        for piece in pieces(json.dumps(call.arguments), size):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, "tool_calls" if reply.calls else "stop")
    yield {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 3}}


# --- Responses


def _output(reply: Reply) -> list[Json]:
    items: list[Json] = []
    if reply.thought:
        summary = [{"type": "summary_text", "text": reply.thought}]
        items.append({"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "c2VhbA=="})
    if reply.text:
        content: list[Json] = [{"type": "output_text", "text": reply.text, "annotations": []}]
        items.append({"type": "message", "id": "msg_1", "role": "assistant", "content": content})
    for call in reply.calls:
        arguments = json.dumps(call.arguments)
        items.append(
            {
                "type": "function_call",
                "id": f"fc_{call.id}",
                "call_id": call.id,
                "name": call.name,
                "arguments": arguments,
            }
        )
    return items


def _responses(reply: Reply) -> Json:
    usage = {"input_tokens": 9, "output_tokens": 3}
    return {
        "model": MODELS["openai-responses"],
        "status": "completed",
        "output": _output(reply),
        "usage": usage,
    }


def _responses_events(reply: Reply, size: int) -> Iterator[Json]:
    yield {
        "type": "response.created",
        "response": {"model": MODELS["openai-responses"], "status": "in_progress"},
    }
    for index, item in enumerate(_output(reply)):
        place = {"output_index": index, "item_id": item["id"]}
        begun: Json = {
            **item,
            **({"content": []} if "content" in item else {}),
            **({"arguments": ""} if "arguments" in item else {}),
        }
        yield {"type": "response.output_item.added", "output_index": index, "item": begun}
        if item["type"] == "message":
            for piece in pieces(reply.text, size):
                yield {"type": "response.output_text.delta", **place, "content_index": 0, "delta": piece}
            yield {"type": "response.output_text.done", **place, "content_index": 0, "text": reply.text}
        elif item["type"] == "function_call":
            for piece in pieces(item["arguments"], size):
                yield {"type": "response.function_call_arguments.delta", **place, "delta": piece}
            yield {"type": "response.function_call_arguments.done", **place, "arguments": item["arguments"]}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": "response.completed", "response": _responses(reply)}


# --- Messages


def _blocks(reply: Reply) -> list[Json]:
    blocks: list[Json] = []
    if reply.thought:
        blocks.append({"type": "thinking", "thinking": reply.thought, "signature": "c2ln"})
    if reply.text:
        blocks.append({"type": "text", "text": reply.text})
    blocks += [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}
        for call in reply.calls
    ]
    return blocks


def _messages(reply: Reply) -> Json:
    reason = "tool_use" if reply.calls else "end_turn"
    usage = {"input_tokens": 9, "output_tokens": 3}
    return {"model": MODELS["anthropic"], "content": _blocks(reply), "stop_reason": reason, "usage": usage}


def _messages_events(reply: Reply, size: int) -> Iterator[Json]:
    message: Json = {
        "model": MODELS["anthropic"],
        "content": [],
        "usage": {"input_tokens": 9, "output_tokens": 1},
    }
    yield {"type": "message_start", "message": message}
    for index, block in enumerate(_blocks(reply)):
        empty: Json = {"text": "", "thinking": "", "signature": "", "input": {}}
        begun = {name: empty.get(name, value) for name, value in block.items()}
        yield {"type": "content_block_start", "index": index, "content_block": begun}
        deltas: list[Json] = []
        if block["type"] == "text":
            deltas = [{"type": "text_delta", "text": piece} for piece in pieces(reply.text, size)]
        elif block["type"] == "thinking":
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(reply.thought, size)]
            deltas.append({"type": "signature_delta", "signature": "c2ln"})
        else:
            text = json.dumps(block["input"]) if block["input"] else ""
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces(text, size)]
        yield from ({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
        yield {"type": "content_block_stop", "index": index}
    reason = "tool_use" if reply.calls else "end_turn"
    yield {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 3}}
    yield {"type": "message_stop"}


# --- Gemini


def _gemini(reply: Reply) -> Json:
    parts: list[Json] = []
    if reply.thought:
        parts.append({"text": reply.thought, "thought": True})
    if reply.text:
        parts.append({"text": reply.text})
    for place, call in enumerate(reply.calls):
        function = {"id": call.id, "name": call.name, "args": call.arguments}
        signed = {"thoughtSignature": "c2ln"} if place == 0 else {}
        parts.append({"functionCall": function, **signed})
    return _gemini_chunk(parts, "STOP")


def _gemini_chunk(parts: list[Json], reason: str | None = None) -> Json:
    candidate: Json = {"content": {"role": "model", "parts": parts}}
    if reason is None:
        return {"candidates": [candidate], "modelVersion": MODELS["gemini"]}
    usage = {"promptTokenCount": 9, "candidatesTokenCount": 3}
    candidates = [{**candidate, "finishReason": reason}]
    return {"candidates": candidates, "usageMetadata": usage, "modelVersion": MODELS["gemini"]}


def _gemini_events(reply: Reply, size: int) -> Iterator[Json]:
    parts: list[Json] = _gemini(reply)["candidates"][0]["content"]["parts"]
    for part in parts:
        if "text" in part:
            yield from (_gemini_chunk([{**part, "text": piece}]) for piece in pieces(part["text"], size))
        else:
            yield _gemini_chunk([part])
    yield _gemini_chunk([], "STOP")


_WHOLE = {"openai": _chat, "openai-responses": _responses, "anthropic": _messages, "gemini": _gemini}
_EVENTS = {
    "openai": _chat_events,
    "openai-responses": _responses_events,
    "anthropic": _messages_events,
    "gemini": _gemini_events,
}
