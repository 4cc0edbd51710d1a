"""The log of calls for one answer: a later program that makes the same call receives the earlier result.

The effects of calls outlive a program that fails. So within one answer a call has its effect once, however
many programs run, unless its tool is idempotent or failed without acting.
"""

from collections import Counter
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


class CallLog:
    """All calls made for one answer, in order, by any of its programs."""

    def __init__(self) -> None:
        self._calls: list[PastCall] = []

    def add(self, call: PastCall) -> None:
        """Add a call."""
        self._calls.append(call)

    def since(self, count: int) -> Sequence[PastCall]:
        """The calls after the first `count`."""
        return self._calls[count:]

    def count_calls(self, attempt: str) -> Mapping[str, int]:
        """How often each tool was called in an attempt."""
        return Counter(one.call.name for one in self._calls if one.attempt == attempt)

    def with_effects(self) -> list[PastCall]:
        """The calls that a later program must not repeat."""
        return [one for one in self._calls if one.has_effect]


def take_match(calls: list[PastCall], name: str, arguments: Any) -> PastCall | None:
    """Remove and return the first call with equal arguments: each is replayed once."""
    for index, one in enumerate(calls):
        if one.call.name == name and one.arguments == arguments:
            return calls.pop(index)
    return None
