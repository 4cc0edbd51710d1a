"""The clock of the library, and ids that sort by time.

All code reads the time here, so that a test can set it. An id is sixteen hexadecimal digits of time and a
counter, followed by twelve random digits of the process. Ids of one process sort in the order in which they
were made, ids of several processes by the millisecond. When the clock steps back, ids stay unique and sort by
the time that the clock gave.
"""

import itertools
import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

_COUNTER_BITS = 22  # more than one millisecond can use up, so ids of different milliseconds never collide

_clock: Callable[[], float] = time.time
_next_tick = itertools.count().__next__  # a C call: two threads never get the same number
_process = os.urandom(6).hex()


def now() -> float:
    """The time in UTC epoch seconds."""
    return _clock()


def new_id() -> str:
    """A unique id that sorts by time."""
    return ((int(_clock() * 1e3) << _COUNTER_BITS) + _next_tick()).to_bytes(8, "big").hex() + _process


@contextmanager
def use_clock(clock: Callable[[], float]) -> Generator[None]:
    """Take the time from `clock` inside the `with` block, in the whole process."""
    global _clock
    previous, _clock = _clock, clock
    try:
        yield
    finally:
        _clock = previous


def _renew_process_digits() -> None:
    global _process
    _process = os.urandom(6).hex()


if hasattr(os, "register_at_fork"):  # not available on Windows
    os.register_at_fork(after_in_child=_renew_process_digits)
