"""Tools: functions that a model may call, and how they are run."""

from quire.agent.tools.arguments import Json, Misfit, read_json, read_value
from quire.agent.tools.output import (
    MAX_OUTPUT,
    Allowance,
    Outcome,
    Room,
    Route,
    StopReason,
    ends,
    failed,
    given_now,
)
from quire.agent.tools.run import run, run_or_stop
from quire.agent.tools.schema import Fields, hints_of, read_as, schema_of
from quire.agent.tools.tool import Bound, Options, Signature, Tool, Toolset, tool, tools_of, written_function

__all__ = [
    "MAX_OUTPUT",
    "Allowance",
    "Bound",
    "Fields",
    "Json",
    "Misfit",
    "Options",
    "Outcome",
    "Room",
    "Route",
    "Signature",
    "StopReason",
    "Tool",
    "Toolset",
    "ends",
    "failed",
    "given_now",
    "hints_of",
    "read_as",
    "read_json",
    "read_value",
    "run",
    "run_or_stop",
    "schema_of",
    "tool",
    "tools_of",
    "written_function",
]
