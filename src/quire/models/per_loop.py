"""One of a kind for each event loop: connections belong to the loop in which they were made."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Generic, Protocol, TypeVar


class Closes(Protocol):
    """Something with connections."""

    def close(self) -> Awaitable[None]:
        """Let go of them."""
        ...


_Held = TypeVar("_Held", bound=Closes)


class PerLoop(Generic[_Held]):
    """Makes what is asked for once in each loop, and closes it when that loop ends, or before."""

    def __init__(self, make: Callable[[], _Held]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._held: dict[asyncio.AbstractEventLoop, tuple[_Held, AsyncGenerator[None, None]]] = {}

    def __len__(self) -> int:
        return len(self._held)

    async def get(self) -> _Held:
        """The one of the running loop."""
        loop = asyncio.get_running_loop()
        with self._lock:
            if loop in self._held:
                return self._held[loop][0]
            # What was held for loops that ended is closed by now.
            self._held = {other: held for other, held in self._held.items() if not other.is_closed()}
            made = self._make()
            keeper = _keeper(made)
            self._held[loop] = made, keeper
        await anext(keeper)
        return made

    async def close(self) -> None:
        """Close the one of the running loop; those of others are closed when their loops end."""
        with self._lock:
            held = self._held.pop(asyncio.get_running_loop(), None)
        if held is not None:
            await held[1].aclose()


async def _keeper(held: Closes) -> AsyncGenerator[None, None]:
    # A loop that ends closes the generators that are open in it. Nothing else tells of its end in time.
    try:
        yield
    finally:
        await held.close()
