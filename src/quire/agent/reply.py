"""The reply to a question, and the deltas of a stream."""

from typing import Any, Literal, NamedTuple

from quire.guesses import hint_attributes
from quire.items import Item, Message, ToolCall, ToolResult
from quire.tokens import Usage

Stop = Literal[
    "done", "waiting", "interrupted", "cancelled", "requests", "seconds", "calls", "cost", "length", "refused"
]
"""Why a turn ended.

- "done": the model has answered.
- "waiting": the caller or a person has to answer or approve a call.
- "interrupted": another message or `Agent.interrupt` stopped it; "cancelled": its job was cancelled.
- "requests", "seconds", "calls", "cost": a limit was reached.
- "length": the model ran out of output tokens; "refused": the provider refused to answer.
"""


@hint_attributes
class Reply(NamedTuple):
    """The reply to a question. `str(reply)` is its text.

    `items` are all items that the turn recorded, except the message that it answers. `waiting` are calls that
    the caller or a person has to answer or approve. `output` is the value of a typed answer. `agent` is the
    name of the agent that replied.
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
        """The last text of the model, without its reasoning."""
        for item in reversed(self.items):
            if isinstance(item, Message) and item.role == "assistant":
                return item.text
        return ""


class TextDelta(NamedTuple):
    """A piece of the model's text."""

    text: str


class ThinkingDelta(NamedTuple):
    """A piece of the model's reasoning."""

    text: str


class CallStarted(NamedTuple):
    """A tool call begins to run."""

    call: ToolCall


class CallEnded(NamedTuple):
    """A tool call has its result."""

    result: ToolResult


class Recorded(NamedTuple):
    """A response of the model is complete and recorded."""

    items: tuple[Item, ...]


class TurnEnded(NamedTuple):
    """The turn has ended; the last delta of a stream."""

    reply: Reply


Delta = TextDelta | ThinkingDelta | CallStarted | CallEnded | Recorded | TurnEnded
"""One event of a stream."""
