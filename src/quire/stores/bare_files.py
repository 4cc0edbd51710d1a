"""Files of SQLite that are read as bytes.

Who closes a file gives up all locks that his process has on it, those of SQLite too. So a file is opened once
for all who have it open here, and closed after the last of them.
"""

import os
from dataclasses import dataclass
from threading import Lock
from weakref import finalize

Identity = tuple[int, int]
"""Which file it is, whatever it is called."""


@dataclass
class _Shared:
    count: int = 0
    fd: int | None = None


_lock = Lock()
_shared: dict[Identity, _Shared] = {}


def identity_of(path: str) -> Identity | None:
    """Which file a path leads to, if any."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def share(owner: object, identity: Identity) -> "finalize[[Identity], object]":
    """Count one who has a file open, until what this gives is called, or he is no more."""
    with _lock:
        _shared.setdefault(identity, _Shared()).count += 1
    letting_go = finalize(owner, _let_go, identity)
    letting_go.atexit = False  # the system closes it
    return letting_go


def bare(path: str, identity: Identity) -> int:
    """What to read a file by that somebody has open."""
    with _lock:
        shared = _shared[identity]
        if shared.fd is None:
            shared.fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        return shared.fd


def _let_go(identity: Identity) -> None:
    with _lock:
        shared = _shared[identity]
        shared.count -= 1
        if not shared.count:
            del _shared[identity]
            if shared.fd is not None:
                os.close(shared.fd)


def _unlock() -> None:
    global _lock
    _lock = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock)
