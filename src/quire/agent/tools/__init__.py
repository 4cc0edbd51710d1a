"""Tools: functions that a model may call, and how they are called."""

from quire.agent.tools.call import call_tool, run
from quire.agent.tools.output import (
    MAX_OUTPUT,
    Allowance,
    Outcome,
    Room,
    ends,
    failed,
    shortened,
    with_new_id,
)
from quire.agent.tools.schema import Fields, Json, Misfit, read_as, read_json, read_value, schema_of
from quire.agent.tools.tool import IF_UNTRUSTED, Approve, Signature, Tool, Toolset, tool, tools_of

__all__ = [
    "IF_UNTRUSTED",
    "MAX_OUTPUT",
    "Allowance",
    "Approve",
    "Fields",
    "Json",
    "Misfit",
    "Outcome",
    "Room",
    "Signature",
    "Tool",
    "Toolset",
    "call_tool",
    "ends",
    "failed",
    "read_as",
    "read_json",
    "read_value",
    "run",
    "schema_of",
    "shortened",
    "tool",
    "tools_of",
    "with_new_id",
]
