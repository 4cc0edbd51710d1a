"""The hooks of a draft: of what it records they hear when it is merged, of all else at once."""

from quire.session.events import (
    BEFORE,
    Added,
    Adding,
    Cleared,
    Clearing,
    Event,
    Evicted,
    Evicting,
    Removed,
    Removing,
)
from quire.session.hooks import Hooks

RECORDING = (Adding, Added, Removing, Removed, Clearing, Cleared, Evicting, Evicted)
"""The events that come to nothing when a draft does."""


class Held(Hooks):
    """Hands on what happens whatever becomes of the draft, and holds back what may come to nothing."""

    def __init__(self, hooks: Hooks) -> None:
        super().__init__(hooks.given())
        self._outer = hooks
        self._held: list[Event] = []

    @property
    def before(self) -> list[Event]:
        """What may still be refused."""
        return [event for event in self._held if isinstance(event, BEFORE)]

    @property
    def after(self) -> list[Event]:
        """What is a fact once the draft is merged."""
        return [event for event in self._held if not isinstance(event, BEFORE)]

    def fire(self, event: Event) -> None:
        """Hold an event back, or hand it on."""
        if isinstance(event, RECORDING):
            self._held.append(event)
        else:
            self._outer.fire(event)

    async def fire_and_wait(self, event: Event) -> None:
        """Hold an event back, or hand it on and wait."""
        if isinstance(event, RECORDING):
            self._held.append(event)
        else:
            await self._outer.fire_and_wait(event)
