"""Tools: functions that a model may call, and how they are run."""

from quire.agent.tools.capping import Allowance
from quire.agent.tools.declaring import Toolset, tool, tools_of
from quire.agent.tools.gathering import Route
from quire.agent.tools.options import MAX_OUTPUT
from quire.agent.tools.outcome import Outcome, StopReason
from quire.agent.tools.running import run
from quire.agent.tools.tool import Tool

__all__ = [
    "MAX_OUTPUT",
    "Allowance",
    "Outcome",
    "Route",
    "StopReason",
    "Tool",
    "Toolset",
    "run",
    "tool",
    "tools_of",
]
