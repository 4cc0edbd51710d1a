"""From a thread to an event loop: what work that blocks gives, piece by piece."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from typing import Any

Take = Callable[[Any], bool]
"""Takes a piece, and says whether the work is to stop."""

_END = object()


class _Raised:
    def __init__(self, error: BaseException) -> None:
        self.error = error


async def handed(work: Callable[[Take], None], name: str) -> AsyncGenerator[Any, None]:
    """What `work` hands on, from a thread of its own that ends with it.

    Whoever stops reading, or is cancelled, does not wait: the work is told at the next piece that it takes.
    """
    loop = asyncio.get_running_loop()
    pieces: asyncio.Queue[Any] = asyncio.Queue()
    stopped = threading.Event()

    def hand(piece: Any) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody listens any more
            loop.call_soon_threadsafe(pieces.put_nowait, piece)

    def take(piece: Any) -> bool:
        if not stopped.is_set():
            hand(piece)
        return stopped.is_set()

    def run() -> None:
        try:
            work(take)
        except BaseException as error:
            hand(_Raised(error))
        else:
            hand(_END)

    # Not a daemon: one that is killed in the middle of foreign code takes the process with it.
    threading.Thread(target=run, name=name).start()
    try:
        while (piece := await pieces.get()) is not _END:
            if isinstance(piece, _Raised):
                raise piece.error
            yield piece
    finally:
        stopped.set()
