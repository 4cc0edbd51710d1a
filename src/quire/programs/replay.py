"""Calls for one answer: a later program that makes the same call receives the earlier result.

The effects of calls outlive a program that fails. So within one answer a call has its effect once, however
many programs run, unless its tool is idempotent or failed without acting.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from quire.agent.tools import Tool
from quire.items import Item, ToolCall, ToolResult

REPLAYED = "quire.replayed"
"""The key in the extras of a replayed result; its value is the `call_id` of the earlier call."""


class PastCall(msgspec.Struct, kw_only=True):
    """A call of a tool, and the value or error that the program received."""

    attempt: str
    call: ToolCall
    result: ToolResult
    arguments: Any
    """The validated arguments; equal calls have equal ones."""
    value: Any = None
    error: Exception | None = None
    has_effect: bool = False
    """Whether the call had its effect, or may have had it, and must not be repeated."""
    nested: Sequence[Item] = ()
    """Calls and questions of a program that ran within the call."""

    def result_for(self, call: ToolCall) -> ToolResult:
        """The same result for a later call, marked as a replay."""
        extras = {**self.result.extras, REPLAYED: self.call.call_id}
        return ToolResult(
            call.call_id, call.name, self.result.content, is_error=self.result.is_error, extras=extras
        )


def validated(tool: Tool, arguments: Mapping[str, Any]) -> Any:
    """The arguments as the tool reads them, for comparison with other calls.

    Arguments that do not fit, or that differ each time they are read (a record that draws an id), are
    compared unread.
    """
    try:
        first, second = tool.signature.read(arguments), tool.signature.read(arguments)
        return first if first == second else arguments
    except Exception:  # the tool's types may raise any error
        return arguments


def take_match(calls: list[PastCall], name: str, arguments: Any) -> PastCall | None:
    """Remove and return the first call with equal arguments: each is replayed once."""
    for index, past in enumerate(calls):
        if past.call.name == name and past.arguments == arguments:
            return calls.pop(index)
    return None
