"""What each kind of block must hold, and in whose message it may stand."""

import re
from collections.abc import Callable

from quire.providers.checking.anthropic.history import Block, Message, read_blocks
from quire.providers.checking.anthropic.media import check_media
from quire.providers.checking.reading import as_list, as_object, short, type_of

THINKING = ("thinking", "redacted_thinking")
_CALL_ID = re.compile(r"[a-zA-Z0-9_-]+")
_CALLED = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_OWNERS = {"tool_use": "assistant", "tool_result": "user", "image": "user"} | dict.fromkeys(
    THINKING, "assistant"
)
# Tools of the API come and go, and what they leave is named alike: one unknown here may be known there.
_NEWER = ("_tool_use", "_tool_result")
_MEDIA = ("image", "document", "search_result")
_KINDS = frozenset(
    (
        *("text", "tool_use", "tool_result", "container_upload", "compaction", "fallback"),
        *("tool_addition", "tool_removal", "mcp_tool_listing", *_MEDIA, *THINKING),
    )
)
_IN_RESULTS = frozenset(("text", "tool_reference", "browser_state", *_MEDIA))


def check_blocks(message: Message, *, signed: bool | None) -> int:
    """Note what is wrong with the blocks of a message, each by itself; how many images there are.

    `signed` says whether thinking has a signature; where nobody can tell, it has one or an empty one.
    """
    images = 0
    for block in message.blocks:
        owner = _OWNERS.get(block.kind)
        if message.role == "system":
            if block.kind != "text":
                block.fields.add("type", "system_content", f"{short(block.kind)} in a system message")
                continue
        elif owner is not None and message.role and owner != message.role:
            block.fields.add("type", "block_role", f"{short(block.kind)} in a message of the {message.role}")
            continue
        if block.kind == "thinking" and _may_be_unsigned(block, signed):
            block.fields.text("thinking")
        else:
            images += check_block(block)
    return images


def _may_be_unsigned(block: Block, signed: bool | None) -> bool:
    return signed is False or (signed is None and block.fields.get("signature") == "")


def check_block(block: Block) -> int:
    """Note what is wrong with one block; how many images are in it."""
    if block.kind not in _KINDS and not block.kind.endswith(_NEWER):
        block.fields.add("type", "unknown_block", f"no block is of type {short(block.kind)}")
    elif block.kind == "tool_result":
        return _check_result(block)
    elif block.kind in ("image", "document"):
        return check_media(block)
    elif block.kind in _CHECKS:
        _CHECKS[block.kind](block)
    return 0


def _check_text(block: Block) -> None:
    text = block.fields.text("text")
    if text is not None and not text.strip():
        block.fields.add("", "empty_text", "the text is blank" if text else "the text is empty")


def _check_call(block: Block) -> None:
    fields = block.fields
    call_id = fields.text("id")
    if call_id is not None and not _CALL_ID.fullmatch(call_id):
        fields.add("id", "call_id", f"id {short(call_id)} has characters that are not allowed, or none")
    name = fields.text("name")
    if name is not None and not _CALLED.fullmatch(name):
        fields.add("name", "call_name", f"{short(name)} is no name for a tool")
    if as_object(fields.get("input")) is None:
        fields.add("input", "call_input", f"must be an object, is {type_of(fields.get('input'))}")


def _check_thinking(block: Block) -> None:
    block.fields.text("thinking")
    _check_sealed(block, "signature")


def _check_redacted(block: Block) -> None:
    _check_sealed(block, "data")


def _check_sealed(block: Block, key: str) -> None:
    value = block.fields.get(key)
    if not isinstance(value, str) or not value:
        block.fields.add(key, "thinking_signature", f"the block has no {key}")


def _check_result(block: Block) -> int:
    fields = block.fields
    fields.text("tool_use_id")
    content, is_error = fields.get("content"), fields.get("is_error")
    if is_error is not None and not isinstance(is_error, bool):
        fields.add("is_error", "shape", f"must be a boolean, is {type_of(is_error)}")
    if content is None or isinstance(content, str):
        return 0
    if as_list(content) is None:
        fields.add(
            "content", "result_content", f"must be a string or a list of blocks, is {type_of(content)}"
        )
        return 0
    inner = list(read_blocks(fields.findings, fields.at("content"), content, block.message))
    if is_error is True:
        for part in inner:
            if part.kind in _MEDIA:
                part.fields.add("type", "failed_result", f"{short(part.kind)} in a result that is an error")
    return sum(map(_check_inner, inner))


def _check_inner(block: Block) -> int:
    if block.kind not in _IN_RESULTS:
        block.fields.add("type", "result_content", f"{short(block.kind)} in a result")
    elif block.kind == "text":
        # Whether one of whitespace is refused in here too is not known: tools give such.
        if block.fields.text("text") == "":
            block.fields.add("", "empty_text", "the text is empty")
    elif block.kind in _MEDIA:
        return check_block(block)
    return 0


_CHECKS: dict[str, Callable[[Block], None]] = {
    "text": _check_text,
    "tool_use": _check_call,
    "thinking": _check_thinking,
    "redacted_thinking": _check_redacted,
}
