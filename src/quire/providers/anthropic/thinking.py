"""Anthropic Messages: reasoning as the blocks it came in, and back.

The state of a `Reasoning` is a small JSON object: `signature` of thinking whose words are the item's text,
`redacted` for thinking without words, or `block` for all else that no item stands for, such as what the
provider's own tools left in the answer, or what it made of a history that it compacted.
"""

from typing import Any, cast

import msgspec

from quire.items import Opaque, Reasoning
from quire.providers.anthropic.abilities import NAME
from quire.providers.provider import Answer
from quire.providers.sheet import Json
from quire.providers.wording import mended

_encode = msgspec.json.Encoder(order="sorted").encode  # a client may order the fields of a block its own way
_ASKED = frozenset(("server_tool_use", "mcp_tool_use"))
THOUGHTS = frozenset(("thinking", "redacted_thinking"))
# Blocks that are written from items, or that are the user's only: none goes back as it came.
_WRITTEN = THOUGHTS | {"text", "tool_use", "tool_result", "image", "document", "search_result"}


def block_of(item: Reasoning) -> Json | None:
    """The block that a reasoning came in; none if its state holds no such thing."""
    try:
        data: Any = msgspec.json.decode(item.state.data) if item.state and item.state.data else None
    except (msgspec.DecodeError, RecursionError):
        return None
    match data:
        case {"signature": str(signature)} if signature:
            return {"type": "thinking", "thinking": mended(item.text), "signature": signature}
        case {"redacted": str(redacted)} if redacted:
            return {"type": "redacted_thinking", "data": redacted}
        case {"block": {"type": str(kind)} as block} if kind not in _WRITTEN:
            return cast(Json, block)
        case _:
            return None


def lone(blocks: list[Json]) -> list[Json]:
    """What the provider's own tools left of which the other half is missing: a question or its answer."""
    asked = {block.get("id") for block in blocks if block["type"] in _ASKED}
    told = {block.get("tool_use_id") for block in blocks}
    return [
        block
        for block in blocks
        if _is_served(block["type"])
        and (
            block.get("id") not in told if block["type"] in _ASKED else block.get("tool_use_id") not in asked
        )
    ]


def reasoning_of(block: Json, answer: Answer, model: str) -> Reasoning:
    """The reasoning that a block of an answer holds; what is not known is kept as it is, and never said."""
    match block:
        case {"type": "thinking"}:
            signature = block.get("signature")
            data: Json = {"signature": signature} if isinstance(signature, str) and signature else {}
            return Reasoning(str(block.get("thinking") or ""), _state(data, answer, model))
        case {"type": "redacted_thinking"}:
            sealed = str(block.get("data") or "")
            return Reasoning("", _state({"redacted": sealed} if sealed else {}, answer, model))
        case _:
            return Reasoning("", _state({"block": block}, answer, model))


def _state(data: Json, answer: Answer, model: str) -> Opaque:
    text = _encode(data).decode() if data else ""
    return Opaque(NAME, answer.model or model, text, answer.prefix)


def _is_served(kind: str) -> bool:
    """Whether a block is of a tool that the provider ran: it goes back as it came, or not at all."""
    return kind in _ASKED or (kind.endswith("_tool_result") and kind != "tool_result")
