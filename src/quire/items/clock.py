"""The one clock, and ids that sort by it.

Everything that asks for the time asks here, so that a test can set it. An id is sixteen hexadecimal digits of
time and a counter, then twelve that are this process's own: ids of one process sort in the order they were
made as long as the clock does not step back, ids of several processes by the millisecond. After a step back
they are still unique, and sort by the time the clock gave.
"""

import itertools
import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from quire.errors import InvalidValue, QuireError, WrongType

Clock = Callable[[], float]

_COUNTER_BITS = 22  # more ids in a millisecond than can be made: two threads with different times never meet

_clock: Clock = time.time
_next_tick = itertools.count().__next__  # a C call: two threads never get the same number
_process = os.urandom(6).hex()


def now() -> float:
    """The time in UTC epoch seconds."""
    return _clock()


def new_id() -> str:
    """An id that no other item has and that sorts by time."""
    at = _clock()
    try:  # a text times a whole number would be a text
        return "%016x" % ((int(at * 1e3) << _COUNTER_BITS) + _next_tick()) + _process
    except (TypeError, ValueError, OverflowError):
        raise _no_time(at) from None


def _no_time(at: object) -> QuireError:
    if isinstance(at, float):
        return InvalidValue("the clock gave no time: it is infinite, or not a number")
    return WrongType(f"a clock gives the time in seconds, not {type(at).__name__}")


@contextmanager
def use_clock(clock: Clock) -> Generator[None]:
    """Take the time from `clock` for a while, in the whole process."""
    global _clock
    if not callable(clock):
        raise WrongType(f"a clock is called for the time; {type(clock).__name__} is not")
    previous, _clock = _clock, clock
    try:
        yield
    finally:
        _clock = previous


def _renew_process_part() -> None:
    global _process
    _process = os.urandom(6).hex()


if hasattr(os, "register_at_fork"):  # not everywhere can a process be forked
    os.register_at_fork(after_in_child=_renew_process_part)
