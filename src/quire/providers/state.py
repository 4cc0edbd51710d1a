"""Opaque provider state: raw wire blocks that are sent back unchanged, or not at all.

A reply often contains more than its items can hold: signatures of thinking, encrypted reasoning, citations,
searches that the service ran itself. An item made from such a reply has an `Opaque`, made by `pack`, whose
`data` is a JSON list of the raw wire blocks that became the item:

- A block may leave out fields that the item has. The writer adds the item's fields to the block, so the bytes
  of media are stored once, and the name, id and arguments of a call are always the item's. Texts stay in
  their blocks, because several blocks may make up one text.
- Consecutive blocks without an item type (server tools and their results, compaction, code that the service
  ran) become one `Reasoning` without text at their place in the reply. The call of a server tool and its
  result are sent back together or not at all.
- An item has no state if its blocks contain nothing more than the item. A `Reasoning` always has a state, if
  need be without data, because the state names the model and the prefix. The exception is a reply of thoughts
  alone, which no wire accepts back.
- State that every model can read (that a call is of a custom tool, the name of a speaker) has the model
  `ANY_MODEL` and no prefix. It is sent to any model of its provider, also after edits.

| wire | item | blocks |
|---|---|---|
| Anthropic | `Reasoning` | `thinking`, `redacted_thinking`, or consecutive blocks without an item type |
| | `Message` | all its text blocks, if one has citations |
| Gemini | `Reasoning` | thought parts with a signature, or consecutive parts without an item type |
| | `Message` | all its parts, if one is signed; images without their bytes |
| | `ToolCall` | the part without `functionCall`, if it is signed |
| Responses | `Reasoning` | the `reasoning` item without `status`, or consecutive items of the service's own |
| | `Message` | `{"phase": …}` |
| | `ToolCall` | `{"type": "custom_tool_call"}`, or `{"type": …, "namespace": …}` |
| Chat | `Reasoning` | one object: the fields of the message that have thoughts and signatures |
| | `Message` | `{"name": …}`, the speaker |
| | `ToolCall` | the fields of the call that have a signature |

`prefix` is the digest of the instructions and of the messages before the volatile items of the request; for
models whose thinking is bound to the full prefix, it is the digest of all messages and the tools. State is
sent back to the same provider and model while that digest is unchanged. Otherwise the item is written without
it, and a downgrade says why.
"""

import re
from collections.abc import Sequence
from typing import Any

from quire.items import Message, Opaque, Reasoning, ToolCall
from quire.providers.values import Json, decode_json, entries_in, fields_in, json_text, text_in

ANY_MODEL = "*"
"""The model name in state that every model of its provider can read."""

OPENAI, RESPONSES, ANTHROPIC, GEMINI = "openai", "openai-responses", "anthropic", "gemini"
"""The names of the wires, as in `provider_for` and `Opaque.provider`."""

THOUGHT_FIELDS = ("reasoning_content", "reasoning")
"""Chat: the fields in which services return thoughts as text."""

BLOCK_FIELDS = ("reasoning_details", "thinking_blocks")
"""Chat: the fields in which services return thoughts as blocks."""

SIGNATURE_FIELDS = ("extra_content", "provider_specific_fields")
"""Chat: the fields of a call or a message that may have a signature."""

_REQUIRED_FIELDS = {"thinking": ("thinking", "signature"), "redacted_thinking": ("data",), "text": ("text",)}
"""Anthropic: the text fields that a raw block must have, by its type."""

SERVER_CALLS = frozenset(("server_tool_use", "mcp_tool_use"))
"""Anthropic: calls of tools that the service runs."""

_MAKER = re.compile("^(openai|anthropic|google|gemini|models)[/:]")
"""Prefixes that some programs put before the name of a model served by its maker."""

_SERVER_ITEM = re.compile(
    r"(?!function_|custom_|program)\w+_(?:call|output)|compaction|mcp_list_tools|mcp_approval_request|agent_message"
)
"""Responses: types of the service's own items that are sent back; `program` items are not."""

_OTHERS = ("compaction", "fallback", "mcp_tool_listing")
"""Anthropic: types of the service's blocks that are neither thinking nor part of a tool use."""

_NOT_RAW = frozenset(("functionCall", "functionResponse", "fileData", "inlineData", "role", "parts", "type"))
"""Gemini: fields that no raw part has, because an item has them or because they belong to another wire."""

_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{2,}={0,2}")
_SNAPSHOT = re.compile(r"(-latest|-\d{8}|-\d{4}-\d{2}-\d{2}|@\d{8})$")


def pack(wire: str, model: str, blocks: Sequence[Json], prefix: str | None = None, path: str = "$") -> Opaque:
    """The state for an item made from these blocks; without blocks it only names wire, model and prefix."""
    data = json_text(list(blocks), path, ordered=True) if blocks else ""
    return Opaque(wire, model, data, prefix)


def unpack(state: Opaque | None) -> list[Json]:
    """The blocks of a state; an empty list if they cannot be read."""
    blocks = entries_in(decode_json(state.data)) if state is not None and state.data else []
    return blocks if all(isinstance(block, dict) for block in blocks) else []


def is_server_block(kind: str) -> bool:
    """Whether an Anthropic block is the call or the result of a tool that the service runs."""
    return kind in SERVER_CALLS or (kind.endswith("_tool_result") and kind != "tool_result")


def same_model(model: str, other: str) -> bool:
    """Whether two names mean the same model at the same service. Only one of them may have a snapshot date.

    Two snapshots are two models. A cloud, region or account in the name must be equal too: a service cannot
    read state that was made at another one.
    """
    model, other = (_MAKER.sub("", name.strip().lower()) for name in (model, other))
    if model == other or not model or not other:
        return model == other
    return _SNAPSHOT.sub("", model) == other or model == _SNAPSHOT.sub("", other)


# --- the text of blocks ----------------------------------------------------------------------------------


def blocks_text(wire: str, blocks: Sequence[Json]) -> str:
    """The text of the item made from these blocks. Readers and writers both use this function."""
    return "".join(_block_text(wire, block) for block in blocks)


def _block_text(wire: str, block: Json) -> str:
    kind = block.get("type")
    if wire == OPENAI:
        return _chat_text(block)
    if wire == ANTHROPIC:
        return text_in(block.get(kind)) if kind == "text" or kind == "thinking" else ""
    if wire == RESPONSES:
        texts = _joined_texts(block.get("summary")) or _joined_texts(block.get("content"))
        return texts if kind == "reasoning" else ""
    return text_in(block.get("text"))


def _chat_text(fields: Json) -> str:
    texts = [text_in(fields.get(name)) for name in THOUGHT_FIELDS]
    return next((text for text in texts if text.strip()), "")


def _joined_texts(blocks: Any) -> str:
    texts = (text_in(fields_in(block).get("text")) for block in entries_in(blocks))
    return "\n\n".join(filter(None, texts))


def is_unchanged(wire: str, item: Message | Reasoning | ToolCall, blocks: Sequence[Json]) -> bool:
    """Whether the text of an item equals that of its blocks; a changed item is written without its blocks."""
    if isinstance(item, ToolCall):
        return True
    text = blocks_text(wire, blocks)
    if isinstance(item, Reasoning):
        return text == item.text
    # A single block without text leaves the text to the item.
    has_no_text = not text and len(blocks) == 1
    return has_no_text or text == "".join(part for part in item.parts if isinstance(part, str))


def is_valid(wire: str, block: Json) -> bool:
    """Whether a raw block has the fields that its wire requires; one from a damaged log may lack some."""
    kind = text_in(block.get("type"))
    if wire == ANTHROPIC:
        required = _REQUIRED_FIELDS.get(kind, ())
        if is_server_block(kind):
            required = ("id",) if kind in SERVER_CALLS else ("tool_use_id",)
        return all(isinstance(block.get(name), str) for name in required) if required else kind in _OTHERS
    if wire == GEMINI:
        signature = block.get("thoughtSignature")
        return (signature is None or is_signature(signature)) and not block.keys() & _NOT_RAW
    if wire == OPENAI:
        return all(_is_chat_field(name, value) for name, value in block.items())
    if kind != "reasoning":
        return _SERVER_ITEM.fullmatch(kind) is not None or block.keys() == {"phase"}
    texts = [*entries_in(block.get("summary")), *entries_in(block.get("content"))]
    has_content = isinstance(block.get("encrypted_content"), str) or bool(block.get("content"))
    # OpenAI's Codex sends reasoning without an id.
    has_valid_id = text_in(block.get("id", "rs")).startswith("rs")
    are_texts = all(isinstance(fields_in(text).get(name), str) for text in texts for name in ("type", "text"))
    return has_content and has_valid_id and isinstance(block.get("summary"), list) and are_texts


def is_signature(value: Any) -> bool:
    """Whether a value can be sent to Gemini as a signature. It must be base64, because clients decode it."""
    return isinstance(value, str) and len(value.rstrip("=")) % 4 != 1 and bool(_BASE64.fullmatch(value))


def _is_chat_field(name: str, value: Any) -> bool:
    if name in BLOCK_FIELDS:
        return isinstance(value, list) and all(isinstance(block, dict) for block in entries_in(value))
    return isinstance(value, dict if name in SIGNATURE_FIELDS else str)
