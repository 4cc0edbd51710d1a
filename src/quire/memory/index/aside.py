"""A file that should be an index and cannot be read as one: taken away, since an index is only a copy.

What is surely ours is deleted: it may hold words that are to be forgotten. What may be another's is renamed.
"""

import logging
import os
from itertools import count

from quire.memory.index.lasting.tables import APPLICATION

logger = logging.getLogger("quire.memory")

_BEGINNING = b"SQLite format 3\0"
_APPLICATION_AT = 68
_BESIDE = ("", "-wal", "-shm")


def set_aside(path: str) -> None:
    """Take an index away, with the files beside it."""
    if not os.path.exists(path):  # another was first
        return
    if _is_ours(path):
        for ending in _BESIDE:
            if os.path.exists(path + ending):
                os.unlink(path + ending)
        logger.warning("the index %s was damaged, and is made anew", path)
        return
    other = next(name for nth in count(1) if not os.path.exists(name := f"{path}-aside-{nth}"))
    for ending in _BESIDE:
        if os.path.exists(path + ending):
            os.replace(path + ending, other + ending)
    logger.warning("%s is no index of ours: it is %s now, and the index is made anew", path, other)


def _is_ours(path: str) -> bool:
    with open(path, "rb") as file:
        head = file.read(_APPLICATION_AT + 4)
    return head.startswith(_BEGINNING) and head[_APPLICATION_AT:] == APPLICATION.to_bytes(4, "big")
