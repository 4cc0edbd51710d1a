"""What the message formats of frameworks have in common: items as whole turns, and what does not go in."""

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


def role_and_parts(item: Item, lost: list[Downgrade]) -> tuple[str, tuple[Part, ...]]:
    """The role and the parts of an item that is addressed to the model."""
    if isinstance(item, ConfigChange):
        item = Message("system", item.instructions or "", origin=item.origin)
    if not isinstance(item, Message | Note | Summary):
        return "system", ("",)
    is_quoted = is_instruction(item) and own_origin(item) != "system"
    role = item.role if isinstance(item, Message) and not is_quoted else "user"
    lost += state_left_out(item) if isinstance(item, Message) else []
    return "system" if role == "developer" else role, parts_of(content_for_model(item))


def state_left_out(item: Message | Reasoning | ToolCall, carried: bool = False) -> list[Downgrade]:
    """That opaque state of an item is not in the file, where there is some."""
    blocks = [] if carried else unpack(item.state)
    if not blocks or all(block.keys() <= {"reasoning_content", "reasoning"} for block in blocks):
        return []  # no more than the text says
    assert item.state is not None
    return [
        Downgrade(item.id, "state_foreign", f"made by {item.state.provider}, and the format has no place")
    ]


def signed_thought(item: Reasoning) -> Json | None:
    """The one thinking block of Anthropic that a thought stands for."""
    is_signed = item.state is not None and item.state.provider == "anthropic"
    blocks = unpack(item.state) if is_signed else []
    return blocks[0] if len(blocks) == 1 and blocks[0].get("type") == "thinking" else None


def value_of(text: str) -> Any:
    """JSON in a text, where reading it again gives the same text; else the text."""
    try:
        value: Any = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
    return value if text[:1] in ("{", "[") and json_text(value, "$") == text else text
