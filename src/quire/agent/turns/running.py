"""A queue of turns at work, as those see it who loop over it."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any, Generic, TypeVar

from quire.agent.turns.turn import Turn

Pair = tuple[Turn, Any]

T = TypeVar("T", bound=Turn)


class Running(AsyncIterator[tuple[T, Any]], Generic[T]):
    """Each turn with each value it gives. Who drops it has left, and the queue may be run again at once.

    A plain generator would be closed some time later, and meanwhile the queue would still be at work.
    """

    def __init__(
        self,
        pairs: AsyncGenerator[tuple[T, Any], None],
        leave: Callable[[AsyncGenerator[tuple[T, Any], None]], None],
    ) -> None:
        self._pairs = pairs
        self._leave = leave

    async def __anext__(self) -> tuple[T, Any]:
        return await anext(self._pairs)

    async def aclose(self) -> None:
        """Leave now, and wait until the turn that is under way has stopped."""
        await self._pairs.aclose()

    def __del__(self) -> None:
        self._leave(self._pairs)
