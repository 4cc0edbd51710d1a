"""Chat Completions: what services that speak this wire want back from whoever calls their models.

OpenAI's own models give none of it here, and none goes to them. Others give thoughts beside a message
under one of two names, blocks of thoughts, thoughts in the content, or a signature on a call, and some answer
400 to a message that comes back without. It is kept as state and goes back under the names that it came by,
to the same model.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

import msgspec

from quire.items import Opaque, Reasoning, ToolCall
from quire.providers.binding import unusable
from quire.providers.json_values import entries_in, fields_in, json_text
from quire.providers.openai_chat.chunks import CONTENT, is_thinking, thinking_in, thought_in
from quire.providers.openai_chat.wishes import THOUGHTS, Wishes, in_place_of, wishes_of
from quire.providers.provider import words_in
from quire.providers.sheet import Json, Sheet

NAME = "openai"
BLOCKS = ("reasoning_details", "thinking_blocks")
"""The names of thoughts in blocks, which are not to be changed."""

SIGNED = ("extra_content", "provider_specific_fields")
"""Where a signature is, on a call or on a message."""

_SIGNATURE, _SIGNATURES = "thought_signature", "thought_signatures"
_IN_ID = "__thought__"
"""What LiteLLM has between the id of a call and the signature of it, for clients that keep nothing else."""
_NO_WAY = "this wire carries only what a service of its own wants back"
_NOT_TAKEN = "the model gives no such thoughts, and takes none"
_decode = msgspec.json.Decoder(dict[str, Any]).decode


class Maker(NamedTuple):
    """Who made a message and after what; what its tools are really called, and its calls that have no id."""

    model: str
    prefix: str | None
    tool: Callable[[str], str]
    call_id: Callable[[], str]


def thought_of(message: Json, maker: Maker, path: str) -> Reasoning | None:
    """What the model thought, with all of the message that its service may want back."""
    said = {name: text for name in THOUGHTS if isinstance(text := message.get(name), str)}
    chunks = thinking_in(message.get(CONTENT))
    text = next(filter(str.strip, (*said.values(), thought_in(chunks))), "")
    if not text and not message.get("tool_calls"):
        said = {}  # that there were no thoughts is asked for again beside calls alone
    # What the item itself says is not said twice.
    fields: Json = {name: None if words == text else words for name, words in said.items()}
    fields |= {name: blocks for name in BLOCKS if isinstance(blocks := message.get(name), list) and blocks}
    fields |= signed_in(message) | ({CONTENT: chunks} if chunks else {})
    return Reasoning(text, _packed(fields, maker, path)) if fields else None


def state_of(call: Json, maker: Maker, path: str) -> Opaque | None:
    """The state of a call: the fields that hold its signature, which may be in its function or in its id."""
    fields = signed_in(call) or signed_in(fields_in(call.get("function")))
    _, _, signature = words_in(call.get("id")).partition(_IN_ID)
    if signature and not fields:
        fields = {SIGNED[1]: {_SIGNATURE: signature}}
    return _packed(fields, maker, path) if fields else None


def unsigned_id(call_id: str) -> str:
    """The id of a call without a signature in it."""
    return call_id.partition(_IN_ID)[0] or call_id


def signed_in(holder: Mapping[str, Any]) -> Json:
    """The fields of a message, a call or a piece of one that hold a signature."""
    return {name: holder[name] for name in SIGNED if _is_signed(holder.get(name))}


def goes_back(item: Reasoning | ToolCall, sheet: Sheet, has_calls: bool) -> Json:
    """The fields that the model is to have again beside a message or a call; why it has none is noted."""
    state = item.state
    if state is None or not state.data or state.provider != NAME:
        if isinstance(item, Reasoning):
            sheet.unsent(item, _NO_WAY)
        return {}
    wishes, held = wishes_of(sheet.asked.name), _unpacked(item, state)
    fields = _taken(held, wishes)
    fault = unusable(state, NAME, sheet.asked, lambda: _before(sheet), sheet.doubt(state))
    if fault is None and not fields:
        fault = "reasoning_left_out", _NOT_TAKEN if held else "its state cannot be read"
    if fault is not None:
        sheet.note(item, *fault)
        return in_place_of(fields) if fault[0] == "state_stale" and has_calls else {}
    if not has_calls and wishes.only_with_calls:
        sheet.note(item, "thoughts_left_out", "its service takes them back only beside calls")
        return {}
    return fields


def _taken(fields: Json, wishes: Wishes) -> Json:
    """The fields that a service takes back; a history may say that a model made what another did."""
    if wishes.nothing:
        return {}
    return {name: value for name, value in fields.items() if name != CONTENT or wishes.in_chunks}


def _packed(fields: Json, maker: Maker, path: str) -> Opaque:
    return Opaque(NAME, maker.model, json_text({"fields": fields}, path, ordered=True), maker.prefix)


def _unpacked(item: Reasoning | ToolCall, state: Opaque) -> Json:
    """The fields that a state holds; nothing where it cannot be read."""
    try:
        held: Any = _decode(state.data).get("fields")
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return {}
    if not isinstance(held, dict):
        return {}
    if isinstance(item, ToolCall):
        return signed_in(cast("Json", held))
    return {
        name: item.text if value is None else value
        for name, value in cast("Json", held).items()
        if _is_sound(name, value)
    }


def _is_sound(name: str, value: Any) -> bool:
    if name in THOUGHTS:
        return isinstance(value, str | None)
    if name == CONTENT:
        return isinstance(value, list) and all(map(is_thinking, entries_in(value)))
    return isinstance(value, list) if name in BLOCKS else name in SIGNED and _is_signed(value)


def _is_signed(value: Any) -> bool:
    """Whether there is a signature in a field, or in what one service has in it."""
    if not isinstance(value, Mapping):
        return False
    held = cast("Mapping[str, Any]", value)
    inner = (cast("Mapping[str, Any]", one) for one in held.values() if isinstance(one, Mapping))
    return any(
        isinstance(one.get(_SIGNATURE), str) or bool(entries_in(one.get(_SIGNATURES)))
        for one in (held, *inner)
    )


def _before(sheet: Sheet) -> str:
    """The digest of all before the turn; an answer to nothing was one to a turn that is not there now."""
    return sheet.prefix.of(sheet.messages) if sheet.messages else ""
