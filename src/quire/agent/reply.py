"""What comes back for a question, and what is told on the way to it."""

from typing import Any, Literal, NamedTuple

from quire.items import Item, Message, ToolCall, ToolResult
from quire.tokens import Usage

Stop = Literal["done", "waiting", "interrupted", "requests", "seconds", "calls", "cost", "length", "refused"]
"""Why a reply ends where it does: the model was done, a person is asked, another message came first, a limit
was reached, the model ran out of room, or it was not to say more."""


class Reply(NamedTuple):
    """The answer to a question. Its text is what the model said last.

    `items` are all that was recorded for it, `waiting` the calls that a person has to answer or approve, and
    `output` is the value, where one was asked for by type. `agent` is who said it.
    """

    items: tuple[Item, ...]
    stop: Stop
    usage: Usage
    cost: float
    agent: str
    waiting: tuple[ToolCall, ...] = ()
    output: Any = None

    def __str__(self) -> str:
        return self.text

    @property
    def text(self) -> str:
        """What the model said last, without its thoughts."""
        for item in reversed(self.items):
            if isinstance(item, Message) and item.role == "assistant":
                return item.text
        return ""


class Words(NamedTuple):
    """Words of the model, as they come."""

    text: str


class Thoughts(NamedTuple):
    """Thoughts of the model, as they come."""

    text: str


class Began(NamedTuple):
    """A tool is being run."""

    call: ToolCall


class Ended(NamedTuple):
    """A tool has given its result."""

    result: ToolResult


class Recorded(NamedTuple):
    """An answer of the model is whole, and kept."""

    items: tuple[Item, ...]


class Done(NamedTuple):
    """All is said: the last that is told."""

    reply: Reply


Delta = Words | Thoughts | Began | Ended | Recorded | Done
"""What is told of a question on its way to its answer."""
