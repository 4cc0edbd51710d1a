"""Interrupts from the keyboard: who hears them meanwhile."""

import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interrupts_to(hears: Callable[[], object]) -> Generator[None]:
    """Have a function called at an interrupt, and nothing raised unless it raises. One thread has a say."""

    def heard(_number: int, _frame: FrameType | None) -> None:
        hears()

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, heard)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def raising() -> None:
    """Raise `KeyboardInterrupt`, as usual."""
    raise KeyboardInterrupt
