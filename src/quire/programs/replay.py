"""Calls made for one answer: a later program that makes the same call receives the earlier result.

A program that fails leaves the effects of its calls behind. So within one answer a call has its effect once,
however many programs are run, unless its tool is idempotent or failed without acting.
"""

import dataclasses
import json
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NamedTuple, cast

import msgspec

from quire.agent.tools import Misfit, Tool, read_json
from quire.items import Item, ToolCall, ToolResult

REPLAYED = "quire.replayed"
"""The key in the extras of a replayed result; its value is the `call_id` of the earlier call."""


def call_key(tool: Tool, arguments: str) -> str:
    """The identity of a call: canonical JSON of its validated arguments, with defaults filled in.

    Arguments that differ each time they are read (a record that draws an id) and arguments that do not fit
    are identified by what was given.
    """
    try:
        given = read_json(arguments)
    except Misfit:
        return f"{tool.name} {arguments}"
    try:
        readings = {_canonical(tool.signature.read(given)) for _ in range(2)}
    except Exception:  # the types of a tool have code of their own
        readings = set[str]()
    return f"{tool.name} {readings.pop() if len(readings) == 1 else _canonical(given)}"


def _canonical(value: Any) -> str:
    """JSON with sorted keys, and one form for each number and moment."""
    return json.dumps(_unified(value), sort_keys=True)


def _unified(value: Any) -> Any:
    match value:
        case float() if value.is_integer():
            return int(value)
        case Decimal():
            return str(value.normalize())
        case datetime():
            return (value.astimezone(UTC) if value.tzinfo else value).isoformat()
        case dict():
            return {str(key): _unified(one) for key, one in cast("Mapping[Any, Any]", value).items()}
        case list() | tuple():
            return [*map(_unified, cast("Sequence[Any]", value))]
        case _:
            fields = _fields_of(value)
            return msgspec.to_builtins(value) if fields is None else _unified(fields)


def _fields_of(value: Any) -> dict[str, Any] | None:
    """The fields of a record, also those that pydantic does not dump, or the content of a secret."""
    kind = value.__class__
    if dataclasses.is_dataclass(kind):
        return {one.name: getattr(value, one.name) for one in dataclasses.fields(kind)}
    if hasattr(kind, "model_fields"):
        return {**value.__dict__, **(value.model_extra or {})}
    return {"secret": value.get_secret_value()} if hasattr(kind, "get_secret_value") else None


class Made(NamedTuple):
    """A call that was made: its record, and the value or the error that the program received.

    One that `lasts` is not made again. `within` are calls and questions of a program that ran within it.
    """

    attempt: str
    call: ToolCall
    result: ToolResult
    key: str
    value: Any = None
    error: Exception | None = None
    lasts: bool = False
    within: tuple[Item, ...] = ()

    def outcome(self) -> Any:
        """The value for the program, or its error, raised."""
        if self.error is not None:
            raise self.error
        return self.value

    def result_for(self, call: ToolCall) -> ToolResult:
        """The same result for a later call, marked as a replay."""
        extras = {**self.result.extras, REPLAYED: self.call.call_id}
        return ToolResult(
            call.call_id, call.name, self.result.content, is_error=self.result.is_error, extras=extras
        )


class MadeCalls:
    """All calls made for one answer, in order, by any of its programs."""

    def __init__(self) -> None:
        self._made: list[Made] = []

    def add(self, made: Made) -> None:
        """Add a call."""
        self._made.append(made)

    def since(self, count: int) -> Sequence[Made]:
        """The calls after the first `count`."""
        return self._made[count:]

    def counted(self, attempt: str) -> Mapping[str, int]:
        """How often each tool was called in an attempt."""
        return Counter(made.call.name for made in self._made if made.attempt == attempt)

    def replays(self) -> dict[str, deque[Made]]:
        """The lasting calls by their identities: one more program takes each once, and makes others anew."""
        left: dict[str, deque[Made]] = {}
        for one in self._made:
            if one.lasts:
                left.setdefault(one.key, deque()).append(one)
        return left
