"""A file that should be an index and cannot be read as one: taken away, since an index is only a copy.

What is ours, be it torn at its very beginning, is deleted: it may hold words that are to be forgotten. What
may be another's is renamed, and nobody looks into it again.
"""

import logging
import os
from itertools import count

from quire.memory.index.lasting.tables import APPLICATION, SCHEMA

logger = logging.getLogger("quire.memory")

_APPLICATION_AT = 68
_PAGE = 4_096
_READ = 16 * _PAGE
"""So much of a file is looked at: what SQLite writes of its tables is in the first pages."""

_STATEMENTS = tuple(one.encode() for one in SCHEMA if one.startswith("CREATE INDEX"))
"""Those that SQLite keeps as they were given, and no other file has."""

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
    told = "%s is no index of ours: it is %s now, where nothing is forgotten, and the index is made anew"
    logger.warning(told, path, other)


def _is_ours(path: str) -> bool:
    """Whether its mark or its tables are there, or its first page is empty, as that of no other file is."""
    with open(path, "rb") as file:
        begins = file.read(_READ)
    if begins[_APPLICATION_AT:].startswith(APPLICATION.to_bytes(4, "big")):
        return True
    return any(one in begins for one in _STATEMENTS) or not any(begins[:_PAGE])
