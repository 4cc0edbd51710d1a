"""What is about to happen with turns, which may be refused, and what has happened, which is a fact."""

from typing import TYPE_CHECKING, Any, NamedTuple, cast

from quire.session import Event, Hook, Hooks

if TYPE_CHECKING:
    from quire.agent.turns.turn import Turn


class Queueing(NamedTuple):
    """A turn is about to be put at the end of the queue."""

    turn: "Turn"


class Queued(NamedTuple):
    """A turn was put at the end of the queue."""

    turn: "Turn"


class Beginning(NamedTuple):
    """A turn is about to begin; refused, it stays where it is."""

    turn: "Turn"


class Gave(NamedTuple):
    """A turn gave a value, which is kept already where it belongs."""

    turn: "Turn"
    value: Any


class Completed(NamedTuple):
    """A turn came to its end."""

    turn: "Turn"


class Failed(NamedTuple):
    """A turn ended in an error."""

    turn: "Turn"
    fault: BaseException


class TimedOut(NamedTuple):
    """A turn took too long and was stopped."""

    turn: "Turn"


class Cancelled(NamedTuple):
    """A turn was broken off: nobody waits for what it would give."""

    turn: "Turn"


class Paused(NamedTuple):
    """The next turn waits, because of a pause."""


class Resumed(NamedTuple):
    """A pause is over."""


TurnEvent = (
    Queueing | Queued | Beginning | Gave | Completed | Failed | TimedOut | Cancelled | Paused | Resumed
)


class TurnHooks(Hooks):
    """Hooks that hear of turns too: `Hook(function, (Completed, Failed))`."""

    async def hear(self, event: TurnEvent) -> None:
        """Call the hooks of an event, one after the other."""
        await self.fire(cast(Any, event))

    def _report(self, one: Hook, event: Event, fault: BaseException) -> None:
        if isinstance(event, Queueing | Beginning):
            raise fault
        super()._report(one, event, fault)
