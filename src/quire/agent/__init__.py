"""Agents, which call a model and run its tool calls, and the tools."""

from quire.agent.agent import Agent, Asking, Input
from quire.agent.calls import running_call
from quire.agent.limits import Limits
from quire.agent.loop import Decisions
from quire.agent.reply import (
    CallEnded,
    CallStarted,
    Delta,
    Recorded,
    Reply,
    Stop,
    TextDelta,
    ThinkingDelta,
    TurnEnded,
)
from quire.agent.speaker import Approver
from quire.agent.toolbox import Toolbox
from quire.agent.tools import (
    MAX_OUTPUT as MAX_OUTPUT,
    Allowance,
    Outcome,
    Tool,
    Toolset,
    run,
    shortened as shortened,
    tool,
    tools_of,
)
from quire.agent.window import characters_within as characters_within

__all__ = [
    "Agent",
    "Allowance",
    "Approver",
    "Asking",
    "CallEnded",
    "CallStarted",
    "Decisions",
    "Delta",
    "Input",
    "Limits",
    "Outcome",
    "Recorded",
    "Reply",
    "Stop",
    "TextDelta",
    "ThinkingDelta",
    "Tool",
    "Toolbox",
    "Toolset",
    "TurnEnded",
    "run",
    "running_call",
    "tool",
    "tools_of",
]
