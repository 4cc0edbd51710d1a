"""Anthropic Messages: reasoning as the blocks it came in, and back.

The state of a `Reasoning` is a small JSON object: `signature` of thinking whose words are the item's text,
`redacted` for thinking without words, or `block` for all else that no item stands for, such as what the
provider's own tools left in the answer, or what it made of a history that it compacted.
"""

from typing import Any, cast

import msgspec

from quire.items import Opaque, Reasoning
from quire.providers.anthropic.abilities import NAME
from quire.providers.json_values import json_text
from quire.providers.provider import Answer, words_in
from quire.providers.sheet import Json
from quire.providers.wording import mended

_ASKED = frozenset(("server_tool_use", "mcp_tool_use"))
THOUGHTS = frozenset(("thinking", "redacted_thinking"))
# What an answer may hold beside words, calls, thinking, and what tools of the API leave.
_KEPT = frozenset(("compaction", "container_upload", "fallback", "mcp_tool_listing"))


def block_of(item: Reasoning) -> Json | None:
    """The block that a reasoning came in; none if its state holds no such thing."""
    try:
        data: Any = msgspec.json.decode(item.state.data) if item.state and item.state.data else None
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    match data:
        case {"signature": str(signature)} if signature:
            return {"type": "thinking", "thinking": mended(item.text), "signature": signature}
        case {"redacted": str(redacted)} if redacted:
            return {"type": "redacted_thinking", "data": redacted}
        case {"block": {"type": str(kind)} as block} if kind in _KEPT or _is_served(kind):
            return cast(Json, block)
        case _:
            return None


def lone(blocks: list[Json]) -> list[Json]:
    """What the provider's own tools left of which the other half is missing: a question, or one before it."""
    served = [block for block in blocks if _is_served(block["type"])]
    waiting: dict[str, Json] = {}
    whole: set[int] = set()
    for block in served:
        asked = block["type"] in _ASKED
        call_id = block.get("id" if asked else "tool_use_id")
        if not isinstance(call_id, str):
            continue
        if asked:
            waiting[call_id] = block
        elif (question := waiting.pop(call_id, None)) is not None:
            whole |= {id(question), id(block)}
    return [block for block in served if id(block) not in whole]


def reasoning_of(block: Json, answer: Answer, model: str, path: str) -> Reasoning:
    """The reasoning that a block of an answer holds; what is not known is kept as it is, and never said."""
    match block:
        case {"type": "thinking"}:
            signature = block.get("signature")
            data: Json = {"signature": signature} if isinstance(signature, str) and signature else {}
            return Reasoning(words_in(block.get("thinking")), _state(data, answer, model, path))
        case {"type": "redacted_thinking"}:
            sealed = words_in(block.get("data"))
            return Reasoning("", _state({"redacted": sealed} if sealed else {}, answer, model, path))
        case _:
            return Reasoning("", _state({"block": block}, answer, model, path))


def _state(data: Json, answer: Answer, model: str, path: str) -> Opaque:
    text = json_text(data, path, ordered=True) if data else ""  # a client may order fields its own way
    return Opaque(NAME, answer.model or model, text, answer.prefix)


def _is_served(kind: str) -> bool:
    """Whether a block is of a tool that the provider ran: it goes back as it came, or not at all."""
    return kind in _ASKED or kind.endswith("_tool_result")
