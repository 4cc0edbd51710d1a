"""Calls that were made for one answer: a later program that makes the same call receives the earlier result.

A program that fails leaves the effects of its calls behind. So within one answer a call has its effect once,
however many programs are run, unless its tool is idempotent or failed without acting.
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
    """A call of a tool, and what the program received: a value or an error."""

    attempt: str
    call: ToolCall
    result: ToolResult
    arguments: Any
    """What equal calls have in common."""
    value: Any = None
    error: Exception | None = None
    has_effect: bool = False
    """Whether the call had its effect, or may have had it, and must not be made again."""
    nested: Sequence[Item] = ()
    """Calls and questions of a program that ran within the call."""

    def result_for(self, call: ToolCall) -> ToolResult:
        """The same result for a later call, marked as a replay."""
        extras = {**self.result.extras, REPLAYED: self.call.call_id}
        return ToolResult(
            call.call_id, call.name, self.result.content, is_error=self.result.is_error, extras=extras
        )


def validated(tool: Tool, given: Mapping[str, Any]) -> Any:
    """The arguments of a call as the tool reads them, to be compared with those of other calls.

    Arguments that differ each time they are read (a record that draws an id) and arguments that do not fit
    are compared as they were given.
    """
    try:
        first, second = tool.signature.read(given), tool.signature.read(given)
        return first if first == second else given
    except Exception:  # the types of a tool have code of their own
        return given


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

    def counted(self, attempt: str) -> Mapping[str, int]:
        """How often each tool was called in an attempt."""
        return Counter(one.call.name for one in self._calls if one.attempt == attempt)

    def with_effects(self) -> list[PastCall]:
        """The calls that one more program must not make again."""
        return [one for one in self._calls if one.has_effect]


def take_equal(calls: list[PastCall], name: str, arguments: Any) -> PastCall | None:
    """The first call of a tool with equal arguments, removed from the list: each is replayed once."""
    for place, one in enumerate(calls):
        if one.call.name == name and one.arguments == arguments:
            return calls.pop(place)
    return None
