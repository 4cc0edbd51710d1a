"""What a program prints: kept up to a limit, told as it comes."""

import asyncio
from collections.abc import Callable


class Printed:
    """The printed text of one run. The worker's thread adds to it; it is told in the thread of the loop."""

    def __init__(self, most: int, tell: Callable[[str], None] | None, stop: Callable[[], None]) -> None:
        self._left = most
        self._tell = tell
        self._stop = stop
        self._loop = asyncio.get_running_loop()
        self._texts: list[str] = []
        self.over = False

    def __str__(self) -> str:
        return "".join(self._texts)

    def take(self, _stream: str, text: str) -> None:
        """Keep what there is room for. An error here would come too late: the program is stopped instead."""
        kept = text[: self._left]
        self._left -= len(kept)
        if kept:
            self._texts.append(kept)
            if self._tell is not None:
                self._loop.call_soon_threadsafe(self._tell, kept)
        if len(kept) < len(text):
            self.over = True
            self._stop()
