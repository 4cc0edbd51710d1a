"""Helps to write items as messages of a framework, and to report what its format cannot hold."""

from typing import Any

import msgspec

from quire.integrations.logs.conversation import Json
from quire.items import (
    ConfigChange,
    Item,
    Message,
    Note,
    Part,
    Reasoning,
    Summary,
    ToolCall,
    own_origin,
    parts_of,
)
from quire.providers import Downgrade, content_for_model, json_text, unpack
from quire.state import is_instruction


def role_and_parts(item: Item, downgrades: list[Downgrade]) -> tuple[str, tuple[Part, ...]]:
    """The role and the parts of an item that is no output; what it loses is added to `downgrades`."""
    if isinstance(item, ConfigChange):
        item = Message("system", item.instructions or "", origin=item.origin)
    if not isinstance(item, Message | Note | Summary):
        return "system", ("",)
    is_quoted = is_instruction(item) and own_origin(item) != "system"
    role = item.role if isinstance(item, Message) and not is_quoted else "user"
    downgrades += state_left_out(item) if isinstance(item, Message) else []
    return "system" if role == "developer" else role, parts_of(content_for_model(item))


def state_left_out(item: Message | Reasoning | ToolCall, carried: bool = False) -> list[Downgrade]:
    """The downgrade for an item whose opaque state is not written; empty if it has none."""
    blocks = [] if carried else unpack(item.state)
    if not blocks or all(block.keys() <= {"reasoning_content", "reasoning"} for block in blocks):
        return []  # the state has nothing but the item's text
    assert item.state is not None
    reason = f"made by {item.state.provider}, and the format has no place"
    return [Downgrade(item.id, "state_foreign", reason)]


def signed_thought(item: Reasoning) -> Json | None:
    """The thinking block of Anthropic in a thought's state; None if there is no single one."""
    is_signed = item.state is not None and item.state.provider == "anthropic"
    blocks = unpack(item.state) if is_signed else []
    return blocks[0] if len(blocks) == 1 and blocks[0].get("type") == "thinking" else None


def value_of(text: str) -> Any:
    """The JSON object or list in a text, if encoding it gives the same text again; else the text."""
    try:
        value: Any = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
    return value if text[:1] in ("{", "[") and json_text(value, "$") == text else text
