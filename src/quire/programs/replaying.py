"""Calls that were made for one answer: a later program that makes one again is given what it gave.

A run that fails leaves behind what its calls did. So a call is made once in an answer, however many programs
are run for it, unless its tool is declared idempotent or has said itself that it did nothing.
"""

import json
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from quire.agent import Tool
from quire.agent.tools.arguments import read_json
from quire.agent.tools.shapes import Misfit
from quire.items import ToolCall, ToolResult
from quire.programs.values import plain

REPLAYED = "quire.replayed"
"""The key of `extras` that marks a result as that of an earlier call, by the `call_id` of that."""


class Made(NamedTuple):
    """A call that was made in an attempt, what is recorded of it, and the value or the error that it gave."""

    attempt: str
    call: ToolCall
    result: ToolResult
    value: Any = None
    fault: Exception | None = None

    def given(self) -> Any:
        """What a program is given of it; where it failed, that is raised."""
        if self.fault is not None:
            raise self.fault
        return self.value

    def result_for(self, call: ToolCall) -> ToolResult:
        """The same result for another call, marked as this one's."""
        of, extras = self.result, {**self.result.extras, REPLAYED: self.call.call_id}
        return ToolResult(call.call_id, call.name, of.content, is_error=of.is_error, extras=extras)


class MadeCalls:
    """All calls that were made for one answer, in order, by whichever program."""

    def __init__(self) -> None:
        self._made: list[Made] = []
        self._lasting: list[tuple[Tool, Made]] = []

    def __len__(self) -> int:
        return len(self._made)

    def since(self, count: int) -> Sequence[Made]:
        """Those that were made after so many."""
        return self._made[count:]

    def counted(self, attempt: str) -> Mapping[str, int]:
        """How often each tool was called in an attempt, by name."""
        return Counter(made.call.name for made in self._made if made.attempt == attempt)

    def add(self, tool: Tool, made: Made, *, may_be_repeated: bool) -> None:
        """Add a call; one that may not be repeated is replayed from now on."""
        self._made.append(made)
        if not (may_be_repeated or tool.is_idempotent):
            self._lasting.append((tool, made))

    def for_a_run(self) -> "Replays":
        """What one more run is given of them."""
        left: dict[str, deque[Made]] = {}
        for tool, made in self._lasting:
            left.setdefault(_key(tool, made.call.arguments), deque()).append(made)
        return Replays(left)


class Replays:
    """Earlier calls as one run makes them again, each once: who calls more often than before calls anew."""

    def __init__(self, left: Mapping[str, deque[Made]]) -> None:
        self._left = left

    def next(self, tool: Tool, arguments: str) -> Made | None:
        """The earlier call that is the same, if one is left."""
        left = self._left.get(_key(tool, arguments)) if self._left else None
        return left.popleft() if left else None


def _key(tool: Tool, arguments: str) -> str:
    """A call by all that it says, whether or not it names what is the default anyway."""
    properties: Mapping[str, Any] = tool.definition["parameters"].get("properties", {})
    defaults = {name: schema["default"] for name, schema in properties.items() if "default" in schema}
    try:
        read: Any = plain({**defaults, **tool.signature.read(read_json(arguments))})
    except Misfit:
        read = arguments
    return f"{tool.name} {json.dumps(read, sort_keys=True)}"
