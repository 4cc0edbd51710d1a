"""Turns: a tool with what it is called with, over the engine's turns."""

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Self

from quire.agent.turns import Beginning, Completed, Failed, Gave, Player, TimedOut, Turn as EngineTurn
from quire.agent.turns.turn import checked_timeout
from quire.bridges.pygents.declared import DeclaredHook, HookType, TurnHook, now_of
from quire.bridges.pygents.errors import SafeExecutionError, WrongRunMethodError
from quire.bridges.pygents.hook_lists import checked_hooks, saved_hooks_of, saved_names
from quire.bridges.pygents.listening import Called, Listening
from quire.bridges.pygents.registry import ToolRegistry
from quire.bridges.pygents.tool import Tool
from quire.bridges.pygents.turn_dicts import read_turn, written_turn
from quire.errors import WrongType, cut
from quire.session import Failure

_FIXED = frozenset(("tool", "args", "kwargs", "timeout", "hooks"))
"""What cannot be changed while a turn is under way."""


class StopReason(StrEnum):
    """How a turn ended."""

    COMPLETED = "completed"
    TIMEOUT = "timeout"
    ERROR = "error"
    CANCELLED = "cancelled"


@dataclass(frozen=True)
class TurnMetadata:
    """When a turn began and ended, and how."""

    start_time: datetime | None
    end_time: datetime | None
    stop_reason: StopReason | None


class _TurnListening(Listening):
    """The hooks of a turn. Of values they hear where there may be several."""

    async def hear(self, event: Any) -> None:
        if not isinstance(event, Gave) or not isinstance(turn := event.turn, Turn) or turn.tool.is_generator:
            await super().hear(event)


class Turn(EngineTurn):
    """A tool, by its name or itself, with arguments and a time; those that are functions are called late."""

    _events: Mapping[HookType, type] = {
        TurnHook.BEFORE_RUN: Beginning,
        TurnHook.AFTER_RUN: Completed,
        TurnHook.ON_TIMEOUT: TimedOut,
        TurnHook.ON_ERROR: Failed,
        TurnHook.ON_VALUE: Gave,
    }

    def __init__(
        self,
        tool: Tool | str | Callable[..., Any],
        timeout: float | None = 60,
        args: Iterable[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        hooks: Iterable[DeclaredHook] | None = None,
    ) -> None:
        self.tool = _found(tool)
        super().__init__(self.tool.name, timeout=timeout)
        self.args = list(args)
        self.kwargs = dict(kwargs or {})
        self.hooks = list(checked_hooks(hooks))
        self.listening = _TurnListening(lambda: self.hooks, self._events, _told)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FIXED and self.__dict__.get("hooks") is not None and self.is_running:
            raise SafeExecutionError(f"the {name} of a turn cannot change while it is under way")
        super().__setattr__(name, value)

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments as they are now."""
        kwargs = {name: now_of(value) for name, value in self.kwargs.items()}
        return {"args": tuple(now_of(value) for value in self.args), "kwargs": kwargs}

    @property
    def timeout(self) -> float | None:
        """Seconds that the tool may take."""
        return self._timeout

    @timeout.setter
    def timeout(self, seconds: float | None) -> None:
        self._timeout = checked_timeout(seconds)

    @property
    def metadata(self) -> TurnMetadata:
        """When it began and ended, in UTC, and how."""
        reason = None if self.stop_reason is None else StopReason(self.stop_reason)
        return TurnMetadata(_moment(self.started_at), _moment(self.ended_at), reason)

    @property
    def failures(self) -> list[Failure]:
        """What failed of its hooks after the fact, the latest last."""
        return list(self.listening.failures)

    async def returning(self) -> Any:
        """Run a tool that returns, and give its result."""
        if self.tool.is_generator:
            raise WrongRunMethodError(f"{cut(self.tool.name)!r} yields: use yielding()")
        async with aclosing(self._played()) as values:
            return await anext(values)

    async def yielding(self) -> AsyncGenerator[Any, None]:
        """Run a tool that yields, and give each of its values."""
        if not self.tool.is_generator:
            raise WrongRunMethodError(f"{cut(self.tool.name)!r} returns: use returning()")
        async with aclosing(self._played()) as values:
            async for value in values:
                yield value

    def copy(self) -> Self:
        """The same turn, still to be run."""
        return type(self)(self.tool, self.timeout, self.args, self.kwargs, self.hooks)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON; the tool and the hooks by their names."""
        return {**written_turn(self, self.arguments), "hooks": saved_names(self.hooks)}

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """The turn that was written as these values; its tool and its hooks have to be declared."""
        fields = read_turn(data)
        turn = cls(fields.tool, fields.timeout, fields.args, fields.kwargs, saved_hooks_of(data))
        if fields.ended_at is not None:
            turn.started_at, turn.ended_at = fields.started_at, fields.ended_at
            turn.stop_reason, turn.output = fields.stop_reason, fields.output
        return turn

    async def _played(self) -> AsyncGenerator[Any, None]:
        if self.is_running:
            raise SafeExecutionError(f"the turn of {cut(self.tool.name)!r} is under way")
        await self.listening.hear(Beginning(self))
        player = Player(self.listening)
        async with aclosing(player.play(self, self.tool.for_engine(_as_given))) as values:
            async for value in values:
                yield value


def _found(tool: object) -> Tool:
    name = tool if isinstance(tool, str) else getattr(tool, "__name__", None)
    if not isinstance(name, str):
        raise WrongType(f"a turn is of a tool or of the name of one, not {type(tool).__name__}")
    return ToolRegistry.get(name)


def _as_given(
    _tool: Tool, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return args, kwargs


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def _told(event: Any) -> Called:
    match event:
        case Gave():
            return Called((event.turn, event.value))
        case Failed():
            return Called((event.turn, event.fault))
        case _:
            return Called((event.turn,))
