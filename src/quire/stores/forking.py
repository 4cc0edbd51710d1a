"""What is open here when the process is forked: nobody uses it at that moment, and the child begins anew."""

import os
from threading import RLock
from typing import Protocol
from weakref import WeakSet


class Forkable(Protocol):
    """Something with locks, which a child must not inherit from a thread that it does not have."""

    def hold(self) -> None:
        """Wait for those who use it, and let nobody begin."""

    def let_go(self) -> None:
        """The end of `hold`."""

    def begin_anew(self) -> None:
        """In the child, while it is held: leave to the parent what is the parent's."""


_open: WeakSet[Forkable] = WeakSet()
_held: list[Forkable] = []
_turn = RLock()
"""Held from before a fork until after it: one at a time, and nothing is opened meanwhile."""


def watch(one: Forkable) -> None:
    """Hold this at every fork, for as long as it lives."""
    with _turn:
        _open.add(one)


def _before() -> None:
    _turn.acquire()
    for one in list(_open):
        one.hold()
        _held.append(one)


def _after() -> None:
    while _held:
        _held.pop().let_go()
    _turn.release()


def _after_in_child() -> None:
    try:
        for one in _held:
            one.begin_anew()
    finally:
        _after()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after_in_child)
