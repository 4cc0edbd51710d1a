"""One at a time, whichever thread or event loop they come from; those who wait go in the order they came."""

import asyncio
import threading
from collections import deque

_Waiting = tuple[asyncio.AbstractEventLoop, "asyncio.Future[None]"]


class Turnstile:
    """Lets one through at a time. Who goes through says when it is done, from any thread."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: deque[_Waiting] = deque()
        self._is_taken = False

    async def enter(self) -> None:
        """Go through, as soon as all that came before are done."""
        with self._guard:
            if not self._is_taken:
                self._is_taken = True
                return
            loop = asyncio.get_running_loop()
            mine: _Waiting = (loop, loop.create_future())
            self._waiting.append(mine)
        try:
            await mine[1]
        except asyncio.CancelledError:
            self._give_up(mine)
            raise

    def leave(self) -> None:
        """Let the next one through."""
        with self._guard:
            while self._waiting:
                loop, turn = self._waiting.popleft()
                try:
                    loop.call_soon_threadsafe(self._call, turn)
                    return  # it is taken still, by the next one
                except RuntimeError:
                    continue  # its loop is closed: nobody waits there any more
            self._is_taken = False

    def _call(self, turn: "asyncio.Future[None]") -> None:
        if turn.cancelled():  # between the call and now, so that it knows nothing of its turn
            self.leave()
        else:
            turn.set_result(None)

    def _give_up(self, mine: _Waiting) -> None:
        with self._guard:
            if mine in self._waiting:
                self._waiting.remove(mine)
                return
        if mine[1].done() and not mine[1].cancelled():
            self.leave()  # its turn had come
