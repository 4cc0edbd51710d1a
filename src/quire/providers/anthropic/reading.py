"""Anthropic Messages: an answer as items."""

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from quire.errors import Damaged
from quire.items import Item, Message, ToolCall
from quire.providers.anthropic.thinking import reasoning_of
from quire.providers.provider import Answer, Finish, Parsed, plain_json
from quire.providers.sheet import Json
from quire.tokens.usage import Usage

_FINISHES: dict[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refused",
    "pause_turn": "paused",
}


def parse(response: Any, answer: Answer) -> Parsed:
    """A whole response, as JSON or as the client gives it."""
    body = plain_json(response)
    content = body.get("content")
    if not isinstance(content, list):
        raise Damaged("a response of Messages has a list of blocks", "$.content")
    model = str(body.get("model") or "")
    blocks = [plain_json(block) for block in content]  # pyright: ignore[reportUnknownVariableType]
    return Parsed(
        tuple(outputs(blocks, answer, model, "$.content")),
        usage_of(body.get("usage")),
        finish_of(body.get("stop_reason")),
        model or None,
    )


def finish_of(reason: Any) -> Finish:
    """Why the model stopped."""
    return _FINISHES.get(str(reason), "other")


def usage_of(usage: Any) -> Usage | None:
    """What was used; the wire counts what was read from and written to the cache apart from the input."""
    if usage is None:
        return None
    told = plain_json(usage)
    details = told.get("output_tokens_details")
    read, written = _count(told, "cache_read_input_tokens"), _count(told, "cache_creation_input_tokens")
    output = _count(told, "output_tokens")
    thought = _count(plain_json(details), "thinking_tokens") if details else 0
    return Usage(
        input=_count(told, "input_tokens") + read + written,
        output=output,
        cache_read=read,
        cache_write=written,
        reasoning=min(thought, output),
    )


def outputs(blocks: Sequence[Json], answer: Answer, model: str, path: str) -> list[Item]:
    """The blocks of a model's turn as items, in their order."""
    items: list[Item] = []
    texts: list[Json] = []
    for index, block in enumerate([*blocks, {}]):
        if block.get("type") == "text":
            texts.append(block)
            continue
        items += _message(texts)
        texts = []
        if block.get("type") == "tool_use":
            items.append(_call(block, answer, f"{path}[{index}]"))
        elif block:
            items.append(reasoning_of(block, answer, model))
    return items


def compact(value: Any) -> str:
    """The input of a call as JSON text: the same bytes for the same input."""
    if isinstance(value, str):
        return value
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:  # half of a surrogate pair, which only an escape can write
        return json.dumps(value, separators=(",", ":"))


def _message(blocks: list[Json]) -> list[Message]:
    """Texts in a row as one message; those with citations are pieces of one text."""
    texts = [text for block in blocks if (text := str(block.get("text") or ""))]
    if not texts:
        return []
    if len(texts) == 1 or any(block.get("citations") for block in blocks):
        return [Message("assistant", "".join(texts))]
    return [Message("assistant", tuple(texts))]


def _call(block: Json, answer: Answer, path: str) -> ToolCall:
    call_id, name = block.get("id"), block.get("name")
    if not isinstance(call_id, str) or not isinstance(name, str) or not call_id or not name:
        raise Damaged("a call has an id and a name", path)
    given = block.get("input")
    return ToolCall(call_id, answer.tool(name), compact({} if given is None else given))


def _count(told: Json, key: str) -> int:
    value = told.get(key)
    return value if isinstance(value, int) and value > 0 else 0
