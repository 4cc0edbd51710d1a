"""OpenAI Responses: what only the model can read, as it is kept in items and sent back.

Reasoning is kept with its id, to which the service binds its encrypted content; that of open models has its
words in its place. Whatever else a model puts
out and nobody has to answer (a search that it ran, a compaction) is kept whole. Ids of messages and calls
are not kept: an item that has one is refused without its reasoning, and one that has none never is.
"""

import re
from typing import Any

import msgspec

from quire.items import Message, Opaque, Reasoning
from quire.providers.binding import Asked, unusable
from quire.providers.downgrades import Change
from quire.providers.json_values import entries_in, fields_in, json_text
from quire.providers.sheet import Json, Sheet

NAME = "openai-responses"

SEALS = ("encrypted_content", "signature", "format")
"""What a service sealed its reasoning with: OpenAI has the first, routers to other models the rest."""

_UNREADABLE = "its state cannot be read"

_REASONING_ID = re.compile(r"rs[A-Za-z0-9_-]{0,62}")
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
KEPT = frozenset(("compaction", "mcp_list_tools", "mcp_approval_request", "agent_message", "program"))
"""What a model puts out and nobody answers, beside its reasoning and what tools of the service left."""

_FROM_ITEMS = frozenset(
    ("function_call", "custom_tool_call", "function_call_output", "custom_tool_call_output")
)
_decode = msgspec.json.Decoder(dict[str, Any]).decode


def packed(model: str, data: Json, prefix: str | None, path: str) -> Opaque:
    """A state of this wire."""
    return Opaque(NAME, model, json_text(data, path, ordered=True), prefix)


def unpacked(state: Opaque | None) -> Json:
    """What a state holds; nothing where it cannot be read."""
    if state is None or not state.data:
        return {}
    try:
        return _decode(state.data)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return {}


def phase_of(message: Message, asked: Asked) -> str | None:
    """Which part of a turn the model said a message was, for the same model to read again."""
    state = message.state
    if state is None or state.provider != NAME or not asked.made(state):
        return None
    phase = unpacked(state).get("phase")
    return phase if phase in ("commentary", "final_answer") else None


def block_of(reasoning: Reasoning, sheet: Sheet) -> Json | None:
    """What goes back for a reasoning, right before its turn is written; why nothing does is noted."""
    fault = _fault(reasoning.state, sheet)
    if fault:
        sheet.note(reasoning, *fault)
        return None
    data = unpacked(reasoning.state)
    if isinstance(data.get("id"), str) and sheet.ids.give(data["id"]) != data["id"]:
        sheet.note(reasoning, "state_foreign", "the same state has gone before")
        return None
    if data.get("type", "reasoning") != "reasoning":
        return data
    told = {name: data[name] for name in (*SEALS, "content") if name in data}
    return {"type": "reasoning", "id": data["id"], "summary": data.get("summary") or [], **told}


def _fault(state: Opaque | None, sheet: Sheet) -> tuple[Change, str] | None:
    if state is None or not state.data:
        return "reasoning_left_out", "this wire carries only sealed reasoning"
    fault = unusable(state, NAME, sheet.asked, lambda: _prefix(sheet, state.prefix), sheet.doubt(state))
    if fault:
        return fault
    data = unpacked(state)
    kind = data.get("type", "reasoning")
    if kind != "reasoning":
        return None if _goes_back(kind, data.get("id")) else ("reasoning_left_out", _UNREADABLE)
    content = data.get("content")
    if not isinstance(data.get("id"), str) or not (isinstance(data.get(SEALS[0]), str) or content):
        return "reasoning_left_out", "its encrypted content was not kept"
    readable = _REASONING_ID.fullmatch(data["id"]) and _is_summary(data.get("summary") or [])
    whole = readable and (content is None or is_texts(content))
    return None if whole else ("reasoning_left_out", _UNREADABLE)


def _goes_back(kind: Any, item_id: Any) -> bool:
    """Whether an item that the service made may be sent as it came."""
    if not isinstance(kind, str) or kind in _FROM_ITEMS:
        return False
    named = item_id is None or (isinstance(item_id, str) and _ID.fullmatch(item_id) is not None)
    return named and (kind in KEPT or kind.endswith(("_call", "_output")))


def is_texts(content: Any) -> bool:
    """Whether reasoning has its words beside it, as open models give them."""
    return bool(content) and _is_summary(content)


def _is_summary(summary: Any) -> bool:
    return isinstance(summary, list) and all(
        isinstance(fields_in(part).get(key), str) for part in entries_in(summary) for key in ("type", "text")
    )


def _prefix(sheet: Sheet, wanted: str | None) -> str:
    """The digest of all before this turn, or before the words that its answer began with, where that fits."""
    messages, start = sheet.messages, len(sheet.messages)
    while start and messages[start - 1].get("role") == "assistant":
        start -= 1
    if not start:
        return ""  # an answer to nothing was one to a turn that was made up, and is not there any more
    # The shorter one first: digests are cheap only going forward.
    if start < len(messages) and sheet.prefix.of(messages[:start]) == wanted and wanted is not None:
        return wanted
    return sheet.prefix.of(messages)
