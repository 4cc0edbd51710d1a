"""Asks about random conversations, the sections that the laws are tested with, and how to ask them."""

from collections.abc import Callable
from typing import Any

from quire.errors import QuireError
from quire.items import Address, Item, Message, Note, Reasoning, ToolCall, ToolResult, thaw
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
    items_of,
)
from quire.state import Pool, View
from tests.context.building import done
from tests.providers.conversations import TOOLS


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

NOTES = [
    Note({"margin": [1, 2.5, None]}, key="a", description="margins", id="na"),
    Note("words", key="b", id="nb"),
    Note(None, key="none", id="nc"),
    Note([True, {"deep": {"er": "✓"}}], key="list", description="two\nlines", id="nd"),
    Note(3, key="x" * 90, id="ne"),
    Note(b"bytes", key="bytes", id="nf"),
]
INBOX = [
    Message("user", "late", id="m1", created_at=1.0, address=Address("us", 0.9, 5.0)),
    Message("user", "soon", id="m2", created_at=2.0, address=Address("us", 0.9, 50.0)),
    Message("user", "whenever", id="m3", created_at=3.0, address=Address("us")),
    Message("user", "not ours", id="m4", created_at=4.0, address=Address("them", 1.0)),
    Message("user", "first", id="m5", created_at=1.5, address=Address("us", 0.9)),
    Message("user", "for nobody", id="m6"),
]


def ask_about(view: View, number: int = 0) -> Ask:
    """An ask with some of everything; some have an input and some have none."""
    last = view[-1] if len(view) and number % 3 else None
    return Ask(
        views={"main": view},
        pool=Pool(NOTES[: number % (len(NOTES) + 1)]),
        tools=thaw(TOOLS) if number % 2 else (),
        scope="ana",
        conversation="q3",
        input=last,
        inbox=INBOX,
        now=5.0,
    )


def asked(section: Section, ask: Ask) -> Any:
    """What a section returns; none here waits for anything."""
    return done(section.items(ask))


def items_from(section: Section, ask: Ask) -> list[Item]:
    return list(items_of(asked(section, ask), section.name))


def error_of(call: Callable[[], Any]) -> type[QuireError] | None:
    """The class of the error that a call raises."""
    try:
        call()
    except QuireError as error:
        return type(error)
    return None
