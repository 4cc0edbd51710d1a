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
  without data, because it says whose thoughts they are and after what they were made.
- State that no model made (the name of a speaker, settings of a document, a search result), or that any
  model reads (that a call is of a custom tool), has the model `ANY_MODEL` and no prefix. It goes back to its
  provider whichever model is asked, and whatever was edited.

| wire | item | blocks |
|---|---|---|
| Anthropic | `Reasoning` | `thinking`, `redacted_thinking`, or a run of blocks that no item stands for |
| | `Message` | all its text blocks, if one has citations; of the user: all blocks, media without `source` |
| Gemini | `Reasoning` | thought parts with a signature, or a run of parts that no item stands for |
| | `Message` | all its parts, if one is signed or has `videoMetadata`; media without their bytes or address |
| | `ToolCall` | the part without `functionCall`, if it is signed |
| Responses | `Reasoning` | the `reasoning` item without `status`, or a run of items of the service's own |
| | `Message` | `{"phase": …}`; of the user: a reference or an approval |
| | `ToolCall` | `{"type": "custom_tool_call"}`, or `{"type": …, "namespace": …}` |
| Chat | `Reasoning` | one object: the fields of the message that hold thoughts and signatures |
| | `Message` | of the user or of the program: `{"name": …}` |
| | `ToolCall` | `{"type": "custom"}`, or the fields of the call that hold a signature |

`prefix` is the digest of what was sent before the reply. State goes back to the same provider and model while
that digest is unchanged; otherwise the item is written without it, and a downgrade says why.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from quire.items import Message, Opaque, Part, Reasoning, ToolCall
from quire.providers.media import PICTURES
from quire.providers.types import Answer, Change
from quire.providers.values import Json, decoded, entries_in, fields_in, json_text, text_in
from quire.tokens import bare_name

ANY_MODEL = "*"
"""The model of state that goes back to its provider whichever model is asked."""

OPENAI, RESPONSES, ANTHROPIC, GEMINI = "openai", "openai-responses", "anthropic", "gemini"

THOUGHT_FIELDS = ("reasoning_content", "reasoning")
"""Chat: the names under which services give thoughts as text."""

BLOCK_FIELDS = ("reasoning_details", "thinking_blocks")
"""Chat: the names under which services give thoughts as blocks."""

SIGNATURE_FIELDS = ("extra_content", "provider_specific_fields")
"""Chat: where a signature is, on a call or on a message."""

SERVER_CALLS = frozenset(("server_tool_use", "mcp_tool_use"))
"""Anthropic: calls of tools that the service runs."""

_MAKERS = frozenset(
    f"{owner}{mark}" for owner in ("openai", "anthropic", "google", "gemini", "models") for mark in "/:"
)
"""Prefixes that some put before a model served by its maker, where others put nothing."""

_DATED = re.compile(r"(-latest|-\d{8}|-\d{4}-\d{2}-\d{2}|@\d{8})$")


def pack(wire: str, model: str, blocks: Sequence[Json], prefix: str | None = None, path: str = "$") -> Opaque:
    """The state of an item that stands for these blocks; without blocks it only says whose the item is."""
    data = json_text(list(blocks), path, ordered=True) if blocks else ""
    return Opaque(wire, model, data, prefix)


def made_by(wire: str, answer: Answer, model: str, blocks: Sequence[Json], path: str = "$") -> Opaque:
    """The state of an item of an answer; `model` is the one that the answer names."""
    return pack(wire, answer.model or model, blocks, answer.prefix, path)


def unpack(state: Opaque | None) -> list[Json]:
    """The blocks of a state; none if it cannot be read."""
    if state is None or not state.data:
        return []
    blocks = entries_in(decoded(state.data))
    return blocks if all(isinstance(block, dict) for block in blocks) else []


def is_server_block(kind: str) -> bool:
    """Whether an Anthropic block is of a tool that the service ran."""
    return kind in SERVER_CALLS or (kind.endswith("_tool_result") and kind != "tool_result")


# --- whether a state may go back -------------------------------------------------------------------------


def misfit(
    state: Opaque, wire: str, model: str | None, is_standing: Callable[[str], bool], doubt: str | None
) -> tuple[Change, str] | None:
    """Why a state may not be sent to a model now; None if it may.

    `is_standing` says whether a digest is that of what precedes the item; `doubt` is a reason found before.
    """
    if state.provider != wire:
        return "state_foreign", f"made by {state.provider}"
    if state.model == ANY_MODEL:
        return None
    if not same_model(state.model, model or ""):
        maker = state.model or "a model that was not named"
        return "state_foreign", f"made by {maker}, and this is for {model or 'a model that is not named'}"
    if doubt is not None:
        return "state_stale", doubt
    if state.prefix is not None and not is_standing(state.prefix):
        return "state_stale", "what came before it has changed since"
    return None


def same_model(one: str, other: str) -> bool:
    """Whether two names are of one model on one route, with or without the date of a snapshot.

    Two snapshots are two models. The text before and after the name is the route, the account included: a
    service cannot read the state that another route or account made.
    """
    if one == other:
        return True
    if not one or not other:
        return False
    (before, one, after), (other_before, other, other_after) = _route(one), _route(other)
    if (before, after) != (other_before, other_after):
        return False
    return one == other or _DATED.sub("", one) == other or one == _DATED.sub("", other)


@lru_cache(256)
def _route(model: str) -> tuple[str, str, str]:
    """The text before the name of a model, the name, and the text after it."""
    name, bare = model.strip().lower(), bare_name(model)
    start = name.replace(".", "-").rfind(bare.replace(".", "-"))
    before = name[: max(start, 0)]
    return "" if before in _MAKERS else before, bare, name[start + len(bare) :] if start >= 0 else ""


# --- the text that blocks stand for ----------------------------------------------------------------------


def block_text(wire: str, block: Json) -> str | None:
    """The text of an item that a block stands for: "" for none, None for a block that stands for media."""
    return _TEXTS[wire](block)


def blocks_text(wire: str, blocks: Sequence[Json]) -> str:
    """The text of a `Reasoning` that these blocks stand for; readers and writers both take it from here."""
    return "".join(text for block in blocks if (text := block_text(wire, block)))


def still_said(wire: str, item: Message | Reasoning | ToolCall, blocks: Sequence[Json]) -> bool:
    """Whether an item still says what its blocks say; one that was changed is written without them."""
    if isinstance(item, ToolCall):
        return True
    if isinstance(item, Reasoning):
        return blocks_text(wire, blocks) == item.text
    said = _outline([block_text(wire, block) for block in blocks])
    if not said and len(blocks) == 1:
        return True  # the block leaves out what the item says
    parts = (item.content,) if isinstance(item.content, str) else item.parts
    return said == _outline([part if isinstance(part, str) else None for part in parts])


def with_media(wire: str, parts: Sequence[Part], blocks: Sequence[Json]) -> list[tuple[Json, Part | None]]:
    """Each block with the media part that it stands for, None for a text."""
    media = iter([part for part in parts if not isinstance(part, str)])
    return [(block, None if block_text(wire, block) is not None else next(media, None)) for block in blocks]


def _outline(texts: Sequence[str | None]) -> list[str | None]:
    """Texts with neighbours joined; None stands for media."""
    found: list[str | None] = []
    for text in texts:
        last = found[-1] if found else None
        if text is not None and last is not None:
            found[-1] = last + text
        elif text != "":
            found.append(text)
    return found


def _anthropic_text(block: Json) -> str | None:
    kind = block.get("type")
    if kind in ("text", "thinking"):
        return text_in(block.get(kind))
    if kind in ("image", "document"):
        return None
    return json_text(block, "$", ordered=True) if kind in ("search_result", "container_upload") else ""


def _gemini_text(part: Json) -> str | None:
    if "text" in part:
        return text_in(part["text"])
    return None if "videoMetadata" in part or part.keys() <= {"thoughtSignature", "thought"} else ""


def _responses_text(item: Json) -> str | None:
    if item.get("type") != "reasoning":
        return json_text(item, "$", ordered=True) if item.get("type") in USER_ITEMS else ""
    return _joined_texts(item.get("summary")) or _joined_texts(item.get("content"))


def _chat_text(fields: Json) -> str | None:
    texts = [text for name in THOUGHT_FIELDS if (text := text_in(fields.get(name))).strip()]
    chunks = (fields_in(chunk) for chunk in entries_in(fields.get("content")))
    pieces = (fields_in(piece) for chunk in chunks for piece in entries_in(chunk.get("thinking")))
    return texts[0] if texts else "".join(text_in(piece.get("text")) for piece in pieces)


def _joined_texts(blocks: Any) -> str:
    texts = (text_in(fields_in(block).get("text")) for block in entries_in(blocks))
    return "\n\n".join(filter(None, texts))


USER_ITEMS = frozenset(("item_reference", "mcp_approval_response"))
"""Responses: input items of the caller that no item of ours stands for; the item's text is their JSON."""

_TEXTS: dict[str, Callable[[Json], str | None]] = {
    OPENAI: _chat_text,
    RESPONSES: _responses_text,
    ANTHROPIC: _anthropic_text,
    GEMINI: _gemini_text,
}


# --- whether a block is whole ----------------------------------------------------------------------------

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_REASONING_ID = re.compile(r"rs[A-Za-z0-9_-]{0,62}")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{2,}={0,2}")
_SERVER_ITEMS = frozenset(("compaction", "mcp_list_tools", "mcp_approval_request", "agent_message"))
_OWN_ITEMS = frozenset(
    ("function_call", "custom_tool_call", "function_call_output", "custom_tool_call_output")
)
_ANTHROPIC_KINDS: dict[str, dict[str, type | tuple[type, ...]]] = {
    "text": {"text": str},
    "thinking": {"thinking": str, "signature": str},
    "redacted_thinking": {"data": str},
    "compaction": {},
    "fallback": {},
    "mcp_tool_listing": {},
    "document": {},
    "container_upload": {"file_id": str},
}
_NOT_RAW = frozenset(
    ("functionCall", "functionResponse", "fileData", "role", "parts", "type", "content", "source", "image_url")
)
"""Gemini: fields that no raw part has, because an item says them or because they are of another wire."""


def is_whole(wire: str, block: Json) -> bool:
    """Whether a block has what its wire wants; one from a damaged or foreign log may not."""
    return _WHOLE[wire](block)


def is_signature(value: Any) -> bool:
    """Whether a value can be sent to Gemini as a signature: base64, which clients decode before sending."""
    return isinstance(value, str) and len(value.rstrip("=")) % 4 != 1 and bool(_BASE64.fullmatch(value))


def _is_whole_anthropic(block: Json) -> bool:
    kind = text_in(block.get("type"))
    if kind in SERVER_CALLS:
        return bool(text_in(block.get("id"))) and bool(text_in(block.get("name"))) and "input" in block
    if is_server_block(kind):
        return bool(text_in(block.get("tool_use_id"))) and "content" in block
    if kind == "search_result":
        texts = entries_in(block.get("content"))
        named = all(isinstance(block.get(name), str) for name in ("source", "title"))
        return named and bool(texts) and all(map(_is_text_block, texts))
    wanted = _ANTHROPIC_KINDS.get(kind)
    return wanted is not None and all(isinstance(block.get(name), of) for name, of in wanted.items())


def _is_text_block(block: Any) -> bool:
    return fields_in(block).get("type") == "text" and bool(text_in(fields_in(block).get("text")).strip())


def _is_whole_gemini(part: Json) -> bool:
    signature, drawn = part.get("thoughtSignature"), part.get("inlineData")
    if signature is not None and not is_signature(signature):
        return False
    if part.keys() & _NOT_RAW or not isinstance(part.get("text", ""), str):
        return False
    # The only media that a part keeps are pictures in which the model thought.
    return drawn is None or (signature is not None and fields_in(drawn).get("mimeType") in PICTURES)


def _is_whole_responses(item: Json) -> bool:
    kind, own_id = item.get("type"), item.get("id")
    if kind == "reasoning":
        return _is_whole_reasoning(item)
    if not isinstance(kind, str) or kind in _OWN_ITEMS:
        return item.keys() == {"phase"}
    if own_id is not None and not (isinstance(own_id, str) and _ID.fullmatch(own_id)):
        return False
    if kind.startswith("program"):
        return False  # programs of the model are not carried on
    return kind in _SERVER_ITEMS or kind in USER_ITEMS or kind.endswith(("_call", "_output"))


def _is_whole_reasoning(item: Json) -> bool:
    own_id, summary, content = item.get("id"), item.get("summary"), item.get("content")
    if not isinstance(own_id, str) or not _REASONING_ID.fullmatch(own_id) or not isinstance(summary, list):
        return False
    texts = (fields_in(text) for text in [*summary, *entries_in(content)])  # pyright: ignore
    are_texts = all(isinstance(text.get(key), str) for text in texts for key in ("type", "text"))
    return are_texts and (isinstance(item.get("encrypted_content"), str) or bool(content))


def _is_whole_chat(fields: Json) -> bool:
    return bool(fields) and all(_is_chat_field(name, value) for name, value in fields.items())


def _is_chat_field(name: str, value: Any) -> bool:
    if name in THOUGHT_FIELDS or name in ("name", "type"):
        return isinstance(value, str)
    if name in BLOCK_FIELDS or name == "content":
        return isinstance(value, list) and all(isinstance(block, dict) for block in entries_in(value))
    return name in SIGNATURE_FIELDS and isinstance(value, dict)


_WHOLE: dict[str, Callable[[Json], bool]] = {
    OPENAI: _is_whole_chat,
    RESPONSES: _is_whole_responses,
    ANTHROPIC: _is_whole_anthropic,
    GEMINI: _is_whole_gemini,
}
