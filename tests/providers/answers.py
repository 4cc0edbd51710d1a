"""Answers as the four providers give them: thoughts with their state, words, and calls."""

from typing import Any

Json = dict[str, Any]


def answer(wire: str, model: str, a: int, b: int, c: int) -> Json:
    """A response with up to a thought, words and two calls; never with nothing."""
    thinks, speaks, calls = bool(c & 1), bool(c & 2), c % 3
    if not speaks and not calls:
        speaks = True
    made = {"openai": _chat, "openai-responses": _responses, "anthropic": _anthropic, "gemini": _gemini}
    return made[wire](model, thinks, f"answer {a}" if speaks else "", [f"k{a}_{b}_{n}" for n in range(calls)])


def _chat(model: str, _thinks: bool, text: str, calls: list[str]) -> Json:
    function = {"name": "look_up", "arguments": '{"q": "x"}'}
    message: Json = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = [{"id": call, "type": "function", "function": function} for call in calls]
    finish = "tool_calls" if calls else "stop"
    return {
        **{"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": model},
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12},
    }


def _responses(model: str, thinks: bool, text: str, calls: list[str]) -> Json:
    output: list[Json] = []
    if thinks:
        summary = [{"type": "summary_text", "text": "hm"}]
        output.append({"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "gAAA"})
    if text:
        part: Json = {"type": "output_text", "text": text, "annotations": []}
        said: Json = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
        output.append({**said, "content": [part]})
    for number, call in enumerate(calls):
        made = {"type": "function_call", "id": f"fc_{number}", "call_id": call, "name": "look_up"}
        output.append({**made, "arguments": '{"q": "x"}', "status": "completed"})
    usage = {
        **{"input_tokens": 9, "output_tokens": 3, "total_tokens": 12},
        "input_tokens_details": {"cached_tokens": 2},
        "output_tokens_details": {"reasoning_tokens": 1},
    }
    return {
        **{"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": model},
        **{"output": output, "usage": usage, "parallel_tool_calls": True, "tool_choice": "auto", "tools": []},
    }


def _anthropic(model: str, thinks: bool, text: str, calls: list[str]) -> Json:
    content: list[Json] = [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}] if thinks else []
    if text:
        content.append({"type": "text", "text": text})
    content += [{"type": "tool_use", "id": call, "name": "look_up", "input": {"q": "x"}} for call in calls]
    return {
        **{"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": content},
        **{"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None},
        "usage": {"input_tokens": 9, "output_tokens": 3, "cache_read_input_tokens": 2},
    }


def _gemini(model: str, thinks: bool, text: str, calls: list[str]) -> Json:
    parts: list[Json] = [{"text": "hm", "thought": True}] if thinks else []
    if text:
        parts.append({"text": text} if calls else {"text": text, "thoughtSignature": "c2ln"})
    for number, call in enumerate(calls):
        made: Json = {"functionCall": {"id": call, "name": "look_up", "args": {"q": "x"}}}
        parts.append(made if number else {**made, "thoughtSignature": "c2ln"})
    return {
        "candidates": [{"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 3, "totalTokenCount": 12},
        "modelVersion": model,
    }
