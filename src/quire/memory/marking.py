"""How far a place was read, so that one can go on from there, and tell that something was forgotten since."""

from collections.abc import Mapping, Sequence
from hashlib import blake2b

import msgspec

from quire.stores import Stored
from quire.stores.streams import FORGOTTEN


class Mark(msgspec.Struct, frozen=True, array_like=True):
    """How far a conversation was read: its version then, and what its last entry was.

    For documents, `documents` says by name which content was read.
    """

    version: int
    last: bytes
    log: str = ""
    documents: Mapping[str, bytes] = {}


def goes_on(stored: Sequence[Stored], mark: Mark, at: int) -> bool:
    """Whether the entry at a place is the last that was read, and nothing was forgotten after it."""
    if len(stored) <= at or told(stored[at]) != mark.last:
        return False
    return not any(entry.stream == FORGOTTEN for entry in stored[at + 1 :])


def told(entry: Stored) -> bytes:
    """What an entry was, in a few bytes."""
    return blake2b(entry.body, digest_size=16, key=entry.stream.encode()[:64]).digest()
