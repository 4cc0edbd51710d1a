"""What hooks hear of an agent, and of the turns it runs."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from quire.agent.turns import (
    Beginning,
    Completed,
    Failed,
    Gave,
    Paused,
    Queued,
    Queueing,
    Resumed,
    TimedOut,
)
from quire.bridges.pygents.declared import AgentHook, DeclaredHook, HookType
from quire.bridges.pygents.listening import Called, Listening
from quire.bridges.pygents.turn import Turn

_EVENTS: Mapping[HookType, type] = {
    AgentHook.BEFORE_TURN: Beginning,
    AgentHook.AFTER_TURN: Completed,
    AgentHook.ON_TURN_VALUE: Gave,
    AgentHook.ON_TURN_ERROR: Failed,
    AgentHook.ON_TURN_TIMEOUT: TimedOut,
    AgentHook.BEFORE_PUT: Queueing,
    AgentHook.AFTER_PUT: Queued,
    AgentHook.ON_PAUSE: Paused,
    AgentHook.ON_RESUME: Resumed,
}


class AgentListening(Listening):
    """The hooks of an agent, and with them those of the turn that something happens to."""

    def __init__(self, agent: object, listed: Callable[[], Iterable[DeclaredHook]]) -> None:
        super().__init__(listed, _EVENTS, lambda event: _told(agent, event))

    async def hear(self, event: Any) -> None:
        """Before a turn the agent's hooks are called first, afterwards the turn's own."""
        turn = getattr(event, "turn", None)
        if isinstance(turn, Turn) and not isinstance(event, Beginning):
            await turn.listening.hear(event)
        await super().hear(event)
        if isinstance(turn, Turn) and isinstance(event, Beginning):
            await turn.listening.hear(event)


def _told(agent: object, event: Any) -> Called:
    match event:
        case Beginning() | Paused() | Resumed():
            return Called((agent,))
        case Gave():
            return Called((agent, event.turn, event.value))
        case Failed():
            return Called((agent, event.turn, event.fault))
        case _:
            return Called((agent, event.turn))
