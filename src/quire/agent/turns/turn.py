"""A turn: one call of a tool that is to be made, and what became of it."""

from collections.abc import Mapping
from typing import Any, Self

from quire.agent.tools import StopReason, Tool
from quire.agent.turns.saving import OUTPUTS, read_turn
from quire.errors import InvalidLimit, TurnBusy, WrongType, cut
from quire.items import freeze, now, to_json
from quire.tokens import named, number


class Turn:
    """One call of a tool, named or given, with its arguments and the seconds it may take.

    Without a `timeout` it has that of its tool. What became of it is there as soon as it has ended.
    """

    def __init__(
        self,
        tool: Tool | str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
    ) -> None:
        if not isinstance(tool, Tool | str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"a turn is of a tool or of the name of one, not {type(tool).__name__}")
        if not isinstance(arguments, Mapping | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"arguments are given by name, not as {type(arguments).__name__}")
        self.tool_name = named(tool if isinstance(tool, str) else tool.name, "the name of a tool")
        self.given_tool = None if isinstance(tool, str) else tool
        self._arguments = dict(arguments or {})
        self._timeout = checked_timeout(timeout)
        self.output: Any = None
        self.stop_reason: StopReason | None = None
        self.fault: str | None = None
        self.started_at: float | None = None
        self.ended_at: float | None = None

    def __repr__(self) -> str:
        state = "under way" if self.is_running else self.stop_reason or "waiting"
        return f"<Turn of {cut(self.tool_name)!r}, {state}>"

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments by name."""
        return dict(self._arguments)

    @property
    def timeout(self) -> float | None:
        """Seconds that its tool may take; `None` leaves it to the tool."""
        return self._timeout

    @property
    def is_running(self) -> bool:
        """Whether it has begun and not ended."""
        return self.started_at is not None and self.ended_at is None

    def begin(self) -> None:
        """It begins now; what became of it before is no more."""
        if self.is_running:
            raise TurnBusy(f"the turn of {cut(self.tool_name)!r} is under way")
        self.output, self.stop_reason, self.fault = None, None, None
        self.started_at, self.ended_at = now(), None

    def give(self, value: Any, *, is_whole: bool) -> None:
        """It gave a value: all that its tool returned, or one of those it yields."""
        if is_whole:
            self.output = value
        else:
            self.output = self.output if self.output is not None else []
            self.output.append(value)

    def end(self, reason: StopReason, fault: BaseException | None = None) -> None:
        """It ends now."""
        self.stop_reason, self.ended_at = reason, now()
        self.fault = None if fault is None else type(fault).__name__

    def copy(self) -> Self:
        """The same call, still to be made."""
        return type(self)(self.given_tool or self.tool_name, self._arguments, timeout=self._timeout)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON; the tool by its name. What is still under way has no output yet."""
        return {
            "tool": self.tool_name,
            "arguments": to_json(freeze(dict(self._arguments)), "$.arguments"),
            "timeout": self._timeout,
            "output": None if self.is_running else OUTPUTS.written(self.output, "$.output"),
            "stop_reason": self.stop_reason,
            "fault": self.fault,
            "started_at": self.started_at,
            "ended_at": self.ended_at,
        }

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """The turn that was written as these values; one that was under way is still to be made."""
        fields = read_turn(data)
        turn = cls(fields.tool, fields.arguments, timeout=fields.timeout)
        turn.output, turn.stop_reason, turn.fault = fields.output, fields.stop_reason, fields.fault
        if fields.ended_at is not None:
            turn.started_at, turn.ended_at = fields.started_at, fields.ended_at
        return turn


def checked_timeout(timeout: float | None) -> float | None:
    """A timeout that can be kept; `None` is one."""
    if timeout is not None and number(timeout, "a timeout", 0) == 0:
        raise InvalidLimit("a timeout is more than 0 seconds; None leaves it to the tool")
    return timeout
