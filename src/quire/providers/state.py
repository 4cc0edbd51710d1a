"""Opaque provider state: raw wire blocks that go back as they came, or not at all.

A reply often holds more than items say: signatures of thinking, encrypted reasoning, citations, searches that
the service ran itself. An item made from such a reply carries an `Opaque` whose `data` is a JSON list of the
raw wire blocks that the item stands for, made by `pack`:

- Fields that the item says itself may be left out of a block. The writer puts the item's own fields over the
  block, so bytes of media are never kept twice, and the name, id and arguments of a call are always those of
  the item. Texts stay in their blocks, because several blocks may make up one text.
- Consecutive blocks that no item stands for (server tools and their results, compaction, code that the
  service ran) become one `Reasoning` without text at their place in the reply. Server tool pairs go back
  verbatim or not at all: a writer leaves out one half without the other.
- A reply whose blocks say nothing more than its items has no state. A `Reasoning` always has one, if need be
  without data, because it says whose thoughts they are and after what they were made. The exception is a
  reply of thoughts alone: no wire takes it back.
- State that any model reads (that a call is of a custom tool, the name of a speaker) has the model
  `ANY_MODEL` and no prefix. It goes back to its provider whichever model is asked, and whatever was edited.

| wire | item | blocks |
|---|---|---|
| Anthropic | `Reasoning` | `thinking`, `redacted_thinking`, or a run of blocks that no item stands for |
| | `Message` | all its text blocks, if one has citations |
| Gemini | `Reasoning` | thought parts with a signature, or a run of parts that no item stands for |
| | `Message` | all its parts, if one is signed; images without their bytes |
| | `ToolCall` | the part without `functionCall`, if it is signed |
| Responses | `Reasoning` | the `reasoning` item without `status`, or a run of items of the service's own |
| | `Message` | `{"phase": …}` |
| | `ToolCall` | `{"type": "custom_tool_call"}`, or `{"type": …, "namespace": …}` |
| Chat | `Reasoning` | one object: the fields of the message that hold thoughts and signatures |
| | `Message` | `{"name": …}`, the speaker |
| | `ToolCall` | the fields of the call that hold a signature |

`prefix` is the digest of the instructions and of the messages before the volatile items of the request; for
models whose thinking is bound to the full prefix, of all messages and the tools. State goes back to the same
provider and model while that digest is unchanged; otherwise the item is written without it, and a downgrade
says why.
"""

import re
from collections.abc import Sequence
from typing import Any

from quire.items import Message, Opaque, Reasoning, ToolCall
from quire.providers.values import Json, decoded, entries_in, fields_in, json_text, text_in

ANY_MODEL = "*"
"""The model of state that goes back to its provider whichever model is asked."""

OPENAI, RESPONSES, ANTHROPIC, GEMINI = "openai", "openai-responses", "anthropic", "gemini"
"""The names of the wires: `provider_for` takes them, and `Opaque.provider` is one of them."""

THOUGHT_FIELDS = ("reasoning_content", "reasoning")
"""Chat: the names under which services give thoughts as text."""

BLOCK_FIELDS = ("reasoning_details", "thinking_blocks")
"""Chat: the names under which services give thoughts as blocks."""

SIGNATURE_FIELDS = ("extra_content", "provider_specific_fields")
"""Chat: where a signature is, on a call or on a message."""

_WANTED = {"thinking": ("thinking", "signature"), "redacted_thinking": ("data",), "text": ("text",)}
"""Anthropic: the texts that a raw block must have."""

SERVER_CALLS = frozenset(("server_tool_use", "mcp_tool_use"))
"""Anthropic: calls of tools that the service runs."""

_MAKER = re.compile("^(openai|anthropic|google|gemini|models)[/:]")
"""Prefixes that some put before a model served by its maker, where others put nothing."""

_SERVER_ITEM = re.compile(
    r"(?!function_|custom_|program)\w+_(?:call|output)|compaction|mcp_list_tools|mcp_approval_request|agent_message"
)
"""Responses: items of the service's own that go back; programs of the model are not carried on."""

_KEPT = ("compaction", "fallback", "mcp_tool_listing")
"""Anthropic: blocks of the service that are neither thinking nor of a tool."""

_NOT_RAW = frozenset(("functionCall", "functionResponse", "fileData", "inlineData", "role", "parts", "type"))
"""Gemini: fields that no raw part has, because an item says them or because they are of another wire."""

_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{2,}={0,2}")
_DATED = re.compile(r"(-latest|-\d{8}|-\d{4}-\d{2}-\d{2}|@\d{8})$")


def pack(wire: str, model: str, blocks: Sequence[Json], prefix: str | None = None, path: str = "$") -> Opaque:
    """The state of an item that stands for these blocks; without blocks it only says whose the item is."""
    data = json_text(list(blocks), path, ordered=True) if blocks else ""
    return Opaque(wire, model, data, prefix)


def unpack(state: Opaque | None) -> list[Json]:
    """The blocks of a state; none if it cannot be read."""
    blocks = entries_in(decoded(state.data)) if state is not None and state.data else []
    return blocks if all(isinstance(block, dict) for block in blocks) else []


def is_server_block(kind: str) -> bool:
    """Whether an Anthropic block is of a tool that the service ran."""
    return kind in SERVER_CALLS or (kind.endswith("_tool_result") and kind != "tool_result")


def same_model(one: str, other: str) -> bool:
    """Whether two names are of one model on one route, with or without the date of a snapshot.

    Two snapshots are two models. The text before and after the name is the route, the account included: a
    service cannot read the state that another route or account made.
    """
    one, other = (_MAKER.sub("", name.strip().lower()) for name in (one, other))
    if one == other or not one or not other:
        return one == other
    return _DATED.sub("", one) == other or one == _DATED.sub("", other)


# --- the text that blocks stand for ----------------------------------------------------------------------


def blocks_text(wire: str, blocks: Sequence[Json]) -> str:
    """The text of an item that blocks stand for; readers and writers both take it from here."""
    return "".join(_block_text(wire, block) for block in blocks)


def _block_text(wire: str, block: Json) -> str:
    kind = block.get("type")
    if wire == OPENAI:
        return _chat_text(block)
    if wire == ANTHROPIC:
        return text_in(block.get(kind)) if kind == "text" or kind == "thinking" else ""
    if wire == RESPONSES:
        return (_joined(block.get("summary")) or _joined(block.get("content"))) if kind == "reasoning" else ""
    return text_in(block.get("text"))


def _chat_text(fields: Json) -> str:
    return next((text for name in THOUGHT_FIELDS if (text := text_in(fields.get(name))).strip()), "")


def _joined(blocks: Any) -> str:
    texts = (text_in(fields_in(block).get("text")) for block in entries_in(blocks))
    return "\n\n".join(filter(None, texts))


def still_said(wire: str, item: Message | Reasoning | ToolCall, blocks: Sequence[Json]) -> bool:
    """Whether an item still says what its blocks say; one that was changed is written without them."""
    if isinstance(item, ToolCall):
        return True
    said = blocks_text(wire, blocks)
    if isinstance(item, Reasoning):
        return said == item.text
    # One block without text leaves out what the item says.
    is_beside = not said and len(blocks) == 1
    return is_beside or said == "".join(part for part in item.parts if isinstance(part, str))


def is_whole(wire: str, block: Json) -> bool:
    """Whether a raw block has what its wire wants; one from a damaged log or a history may not."""
    kind = text_in(block.get("type"))
    if wire == ANTHROPIC:
        wanted = _WANTED.get(kind, ())
        if is_server_block(kind):
            wanted = ("id",) if kind in SERVER_CALLS else ("tool_use_id",)
        return all(isinstance(block.get(name), str) for name in wanted) if wanted else kind in _KEPT
    if wire == GEMINI:
        signature = block.get("thoughtSignature")
        return (signature is None or is_signature(signature)) and not block.keys() & _NOT_RAW
    if wire == OPENAI:
        return all(_is_chat_field(name, value) for name, value in block.items())
    if kind != "reasoning":
        return _SERVER_ITEM.fullmatch(kind) is not None or block.keys() == {"phase"}
    texts = [*entries_in(block.get("summary")), *entries_in(block.get("content"))]
    is_sealed = isinstance(block.get("encrypted_content"), str) or bool(block.get("content"))
    # Codex, which is OpenAI's own, sends reasoning without an id.
    is_named = isinstance(block.get("summary"), list) and text_in(block.get("id", "rs")).startswith("rs")
    are_texts = all(isinstance(fields_in(text).get(name), str) for text in texts for name in ("type", "text"))
    return is_sealed and is_named and are_texts


def is_signature(value: Any) -> bool:
    """Whether a value can be sent to Gemini as a signature: base64, which clients decode before sending."""
    return isinstance(value, str) and len(value.rstrip("=")) % 4 != 1 and bool(_BASE64.fullmatch(value))


def _is_chat_field(name: str, value: Any) -> bool:
    if name in BLOCK_FIELDS:
        return isinstance(value, list) and all(isinstance(block, dict) for block in entries_in(value))
    return isinstance(value, dict if name in SIGNATURE_FIELDS else str)
