"""Responses of the four providers: thoughts with their state, text, and calls."""

from base64 import b64decode, b64encode
from typing import Any

Json = dict[str, Any]

OPENAIS_OWN = ("gpt-4o", "gpt-5.6", "o1-mini", "azure/gpt-5.6")
"""Models that send no state over Chat Completions."""
CHAT_MODELS = (
    *(*OPENAIS_OWN, "deepseek-v4-pro", "kimi-k2.5", "gemini-3-pro"),
    "openrouter/anthropic/claude-opus-4.8",
)


def seal(wire: str, model: str, number: int) -> str:
    """State that contains its wire and model, in base64, which all wires accept."""
    return b64encode(f"{wire} {model} {number}".encode()).decode()


def owner_of(sealed: str) -> tuple[str, str, int]:
    """The wire, the model and the number of a sealed state."""
    wire, model, number = b64decode(sealed).decode().split()
    return wire, model, int(number)


def answer(wire: str, model: str, a: int, b: int, c: int, number: int = 0) -> Json:
    """A response that is not empty: `c` decides on a thought, a text and up to two calls.

    `a` and `b` are in its texts and ids, `number` is in its state.
    """
    sealed = seal(wire, model, number)
    call_count = c % 3
    thinks, speaks = bool(c & 1), bool(c & 2) or not call_count
    writers = {"openai": _chat, "openai-responses": _responses, "anthropic": _anthropic, "gemini": _gemini}
    ids = [f"k{a}_{b}_{n}" for n in range(call_count)]
    return writers[wire](model, sealed if thinks else "", sealed, f"answer {a}" if speaks else "", ids)


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def _chat(model: str, thought: str, sealed: str, text: str, calls: list[str]) -> Json:
    function = {"name": "look_up", "arguments": '{"q": "x"}'}
    message: Json = {"role": "assistant", "content": text or None}
    entries: list[Json] = [{"id": call, "type": "function", "function": function} for call in calls]
    if calls:
        message["tool_calls"] = entries
    if thought:
        message |= _thought_fields(model, thought)
    if calls and model.startswith("gemini"):
        entries[0]["extra_content"] = {"google": {"thought_signature": sealed}}
    finish = "tool_calls" if calls else "stop"
    return {
        **{"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": model},
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12},
    }


def _thought_fields(model: str, thought: str) -> Json:
    """The fields of a thought for services that speak OpenAI's wire; OpenAI itself sends none."""
    if model.startswith(("deepseek", "kimi")):
        return {"reasoning_content": thought}
    if not model.startswith("openrouter"):
        return {}
    block = {"type": "reasoning.text", "text": "hm", "signature": thought, "index": 0}
    return {"reasoning": "hm", "reasoning_details": [block]}


def _responses(model: str, thought: str, _sealed: str, text: str, calls: list[str]) -> Json:
    output: list[Json] = []
    if thought:
        summary = [{"type": "summary_text", "text": "hm"}]
        output.append(
            {
                "type": "reasoning",
                "id": f"rs_{_letters(thought)}",
                "summary": summary,
                "encrypted_content": thought,
            }
        )
    if text:
        part: Json = {"type": "output_text", "text": text, "annotations": []}
        message: Json = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
        output.append({**message, "content": [part]})
    for number, call in enumerate(calls):
        entry = {"type": "function_call", "id": f"fc_{number}", "call_id": call, "name": "look_up"}
        output.append({**entry, "arguments": '{"q": "x"}', "status": "completed"})
    usage = {
        **{"input_tokens": 9, "output_tokens": 3, "total_tokens": 12},
        "input_tokens_details": {"cached_tokens": 2},
        "output_tokens_details": {"reasoning_tokens": 1},
    }
    return {
        **{"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": model},
        **{"output": output, "usage": usage, "parallel_tool_calls": True, "tool_choice": "auto", "tools": []},
    }


def _anthropic(model: str, thought: str, _sealed: str, text: str, calls: list[str]) -> Json:
    content: list[Json] = [{"type": "thinking", "thinking": "hm", "signature": thought}] if thought else []
    if text:
        content.append({"type": "text", "text": text})
    content += [{"type": "tool_use", "id": call, "name": "look_up", "input": {"q": "x"}} for call in calls]
    return {
        **{"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": content},
        **{"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None},
        "usage": {"input_tokens": 9, "output_tokens": 3, "cache_read_input_tokens": 2},
    }


def _gemini(model: str, thought: str, sealed: str, text: str, calls: list[str]) -> Json:
    parts: list[Json] = [{"text": "hm", "thought": True}] if thought else []
    if text:
        parts.append({"text": text} if calls else {"text": text, "thoughtSignature": sealed})
    for number, call in enumerate(calls):
        part: Json = {"functionCall": {"id": call, "name": "look_up", "args": {"q": "x"}}}
        parts.append(part if number else {**part, "thoughtSignature": sealed})
    if model.endswith("-image") and text:
        image = {"mimeType": "image/png", "data": b64encode(b"\x89PNG\r\n\x1a\n").decode()}
        parts.append({"inlineData": image, "thoughtSignature": sealed})
    return {
        "candidates": [{"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 3, "totalTokenCount": 12},
        "modelVersion": model,
    }
