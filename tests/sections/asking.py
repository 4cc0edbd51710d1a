"""The sections that the laws are tested with, and how to ask them."""

import asyncio
from typing import Any

from quire.items import Item, Message, Reasoning, ToolCall, ToolResult
from quire.sections import (
    Ask,
    Catalogue,
    Content,
    Custom,
    History,
    Inbox,
    Input,
    Instructions,
    Pooled,
    Section,
    ToolGuide,
)


def shorter(item: Item) -> Item | None:
    """A transform that changes, keeps and drops items, and may separate a call from its result."""
    if isinstance(item, Reasoning):
        return None
    if isinstance(item, Message) and item.content == "hello":
        return Message(item.role, "hi")
    if isinstance(item, ToolCall) and item.call_id == "c2":
        return None
    if isinstance(item, ToolResult) and item.is_error:
        return None
    return item


def named_result(item: Item) -> bool:
    return not isinstance(item, ToolResult) or item.name != "look_up"


async def first_two(catalogue: str, ask: Ask) -> list[str]:
    return [note.key or "" for note in ask.pool][:2]


class Plain:
    """A section that inherits nothing."""

    name = "plain"
    enabled = True

    async def items(self, ask: Ask) -> Content:
        return [{"role": "system", "content": {"text": f"{ask.scope} speaks", "type": "text"}}]


HISTORIES: list[History] = [
    History(),
    History(messages=1),
    History(messages=7),
    History(turns=1),
    History(turns=3),
    History(where=lambda item: not isinstance(item, ToolCall | ToolResult)),
    History(where=named_result),
    History(where=lambda item: getattr(item, "role", "") == "assistant" or item.agent_id == "second"),
    History(transform=shorter),
    History(where=named_result, transform=shorter, messages=4),
    History(where=lambda item: item.agent_id != "second", turns=2),
]
SECTIONS: list[Section] = [
    Instructions("Be brief."),
    Instructions([{"role": "system", "content": "One."}, Message("developer", "Two.", id="two")]),
    ToolGuide(),
    ToolGuide(lambda tools: "Use them sparingly."),
    *HISTORIES,
    Catalogue(),
    Pooled(),
    Pooled(["b", "gone", "a"]),
    Pooled(first_two),
    Instructions([{"role": "user", "content": "The market is closed."}], "more"),
    Inbox("us"),
    Inbox(),
    Input(),
    Custom("custom", lambda ask: [Message("user", "hm", id="hm", created_at=0.0)]),
    Plain(),
]


def asked(section: Section, ask: Ask) -> Any:
    """What a section returns."""
    return asyncio.run(section.items(ask))
