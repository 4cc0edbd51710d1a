"""The floor of rendering: plain loops from structs to the messages of a wire, and no checks."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from libraries.plain_items import PlainCall, PlainMessage, PlainResult

Json = dict[str, Any]
Turns = list[Json]

ROLES = {PlainCall: "assistant", PlainResult: "user"}

read: Callable[[str], Any] = msgspec.json.Decoder().decode


def openai(items: Sequence[Any]) -> Turns:
    """Messages of OpenAI's chat API."""
    turns: Turns = []
    open_to_calls = False
    for item in items:
        if type(item) is PlainCall:
            if not open_to_calls:
                turns.append({"role": "assistant", "content": None})
                open_to_calls = True
            turns[-1].setdefault("tool_calls", []).append(_function(item))
            continue
        turns.append(said(item))
        open_to_calls = type(item) is PlainMessage and item.role == "assistant"
    return turns


def said(item: Any) -> Json:
    """A message, or a result, of OpenAI's chat API."""
    if type(item) is PlainMessage:
        return {"role": item.role, "content": item.content}
    return {"role": "tool", "tool_call_id": item.call_id, "content": item.content}


def _function(call: Any) -> Json:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.call_id, "type": "function", "function": function}


def anthropic(items: Sequence[Any]) -> Json:
    """A payload of Anthropic's Messages API: roles take turns, instructions stand apart."""
    system, turns = _in_turns(items, "assistant", "content", _block)
    return {"system": system, "messages": turns}


def _block(item: Any) -> Json:
    if type(item) is PlainMessage:
        return {"type": "text", "text": item.content}
    if type(item) is PlainCall:
        return {"type": "tool_use", "id": item.call_id, "name": item.name, "input": read(item.arguments)}
    return {"type": "tool_result", "tool_use_id": item.call_id, "content": item.content}


def gemini(items: Sequence[Any]) -> Json:
    """A payload of Gemini: roles take turns, instructions stand apart."""
    system, turns = _in_turns(items, "model", "parts", _part)
    return {"config": {"system_instruction": system}, "contents": turns}


def _part(item: Any) -> Json:
    if type(item) is PlainMessage:
        return {"text": item.content}
    if type(item) is PlainCall:
        return {"functionCall": {"id": item.call_id, "name": item.name, "args": read(item.arguments)}}
    response = {"output": item.content}
    return {"functionResponse": {"id": item.call_id, "name": item.name, "response": response}}


def _in_turns(
    items: Sequence[Any], model: str, content: str, made: Callable[[Any], Json]
) -> tuple[Turns, Turns]:
    system: Turns = []
    turns: Turns = []
    last = ""
    for item in items:
        role = item.role if type(item) is PlainMessage else ROLES[type(item)]
        if role == "system":
            system.append(made(item))
        elif role == last:
            turns[-1][content].append(made(item))
        else:
            turns.append({"role": model if role == "assistant" else role, content: [made(item)]})
            last = role
    return system, turns
