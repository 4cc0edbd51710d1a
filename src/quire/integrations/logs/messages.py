"""What the message formats of frameworks have in common: items as whole turns, and what does not go in."""

from collections.abc import Sequence
from typing import Any

import msgspec

from quire.integrations.logs.conversation import Json, Target
from quire.items import Item, Message, Reasoning, ToolCall, ToolResult
from quire.providers import Downgrade, Pairing, json_text, unpack
from quire.state import Scroll, Transcript, is_edit


def turns_of(items: Sequence[Item], target: Target) -> tuple[list[Item], list[Downgrade]]:
    """What is shown, or with `whole` recorded, with results behind their calls; and what is none of it."""
    shown = [item for item in items if not is_edit(item)] if target.whole else list(Transcript(items).view)
    ids = {item.id for item in shown}
    paired = [item for item in Pairing().pair(Scroll(tuple(shown))) if item.id in ids]
    written = {item.id: item for item in paired}
    lost = list[Downgrade]()
    for item in shown:
        if item.id not in written and isinstance(item, ToolResult):
            lost.append(
                Downgrade(item.id, "result_left_out", f"no open call {item.call_id!r} for this result")
            )
        elif item.id not in written:
            reason = "a record for the program, without text for a model"
            lost.append(Downgrade(item.id, "not_rendered", reason))
        elif isinstance(item, ToolResult) and not isinstance(written[item.id], ToolResult):
            lost.append(Downgrade(item.id, "text_moved", "the model had gone on without this result"))
    return paired, lost


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
