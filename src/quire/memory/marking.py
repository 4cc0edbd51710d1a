"""How far a place was read, so that one can go on from there, and tell that something was forgotten since."""

from collections.abc import Mapping, Sequence
from hashlib import blake2b

import msgspec

from quire.stores import Place, Store, Stored
from quire.stores.streams import FORGOTTEN


class Mark(msgspec.Struct, frozen=True, array_like=True):
    """How far a conversation was read: its version then, and what its last entry was.

    For documents, `documents` says by name which content was read. What was forgotten up to the version
    `seen` is heeded: so far its log had come when it was read, which may be further than was put.
    """

    version: int
    last: bytes
    log: str = ""
    documents: Mapping[str, bytes] = {}
    seen: int = 0


def goes_on(stored: Sequence[Stored], mark: Mark, at: int) -> bool:
    """Whether the entry at a place is the last that was read, and nothing was forgotten since."""
    if len(stored) <= at or told(stored[at]) != mark.last:
        return False
    return not any(entry.stream == FORGOTTEN and entry.version > mark.seen for entry in stored[at + 1 :])


def told_at(store: Store, place: Place, version: int) -> bytes:
    """What the entry of a version is, if it is there."""
    stored = store.read(place, after=version - 1)
    return told(stored[0]) if stored else b""


def told(entry: Stored) -> bytes:
    """What an entry was, in a few bytes."""
    return blake2b(entry.body, digest_size=16, key=entry.stream.encode()[:64]).digest()
