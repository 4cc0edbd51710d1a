"""What a store is. Nothing here keeps anything.

A store holds one log of entries per place. An entry is one item as JSON, in a stream: a transcript by its
name, or one of the session's own. The version of a place is how many entries it has; the first has version 1.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

from quire.stores.place import Place
from quire.stores.wiping import Wiping

Durability = Literal["process", "power"]
"""What an append that returned has survived: the end of this process, or also the loss of power."""

_SHORTEST_NAP, _LONGEST_NAP = 0.005, 0.05


class Entry(NamedTuple):
    """What is handed to a store: an item as JSON, which is an object, and the stream it belongs to."""

    stream: str
    body: bytes


class Stored(NamedTuple):
    """What a store gives back."""

    version: int
    stream: str
    body: bytes


class Standing(NamedTuple):
    """How far a conversation has come.

    `log` is another where one was forgotten whole and another begun at its address; empty where a store
    cannot tell.
    """

    version: int
    log: str = ""


class Store(ABC):
    """Where items rest. Every verb may be called from any thread; a verb that returned is done."""

    reports: tuple[str, ...] = ()
    """What was found damaged and mended since the store was opened, such as the torn end of a file."""

    is_quick: bool = False
    """Whether a write never waits for a disk or for others, so that no thread is worth its while."""

    wiping: Wiping = Wiping(lambda _: None)
    """What wipes files: within `wiping.once()` that is left to the end, and done once for all `forget`s."""

    memories: Any = None
    """What the room above remembers scopes by, once it does: there for as long as the store is."""

    @staticmethod
    def open(
        url: "str | Path | Store",
        *,
        durable: Durability | None = None,
        key: bytes | None = None,
    ) -> "Store":
        """The store of an address: `memory:`, `sqlite:///file.db`, `postgresql://…`, or a path by its ending.

        Where `durable` is not given, it is `"process"`. With a `key` of 32 bytes, content is encrypted before
        it is written. A store that is open already is given back as it is.
        """
        from quire.stores.opening import opened

        return opened(url, durable=durable, key=key)

    @cached_property
    def remembered(self) -> dict[Place, Any]:
        """What the room above knows of places, for as long as the store is there."""
        return {}

    @abstractmethod
    def append(self, place: Place, entries: Sequence[Entry], *, expected: int) -> int:
        """Add entries, all or none, where the version is the expected one, and give the new version.

        `Conflict` where another came first, and then nothing is added.
        """

    @abstractmethod
    def read(self, place: Place, *, after: int = 0) -> list[Stored]:
        """The entries of a place from a version on, in order; none for a place nobody wrote to."""

    @abstractmethod
    def version(self, place: Place) -> int:
        """How many entries a place has."""

    @abstractmethod
    def conversations(self, scope: str) -> list[str]:
        """The names of the conversations of one scope, sorted."""

    def standings(self, scope: str) -> dict[str, Standing]:
        """How far every conversation of one scope has come, by name."""
        return {name: Standing(self.version(Place(scope, name))) for name in self.conversations(scope)}

    @abstractmethod
    def scopes(self) -> list[str]:
        """All scopes, sorted: for whoever runs the store, never for a tenant."""

    @abstractmethod
    def forget(self, place: Place, bodies: Mapping[int, bytes] | None = None) -> None:
        """Put other bodies in the place of those at some versions; `None` takes away the whole conversation.

        What was there is wiped from the files of an embedded store; a server may keep it in its own log and
        in backups for a while. Versions stay as they are, and one that is not there is `OutOfRange`. After
        the whole conversation is gone, its version is 0 again and it is listed no more; but `~recalled`, by
        which forgetting finds what was recalled, stays until the last other of its scope is gone.
        """

    def wait(self, place: Place, version: int, timeout: float) -> int:
        """The version of a place, as soon as it is another than this one or the time is over.

        It looks again and again; a store that is told of what others write does better.
        """
        until, nap = time.monotonic() + timeout, _SHORTEST_NAP
        while (found := self.version(place)) == version and (left := until - time.monotonic()) > 0:
            time.sleep(min(nap, left))
            nap = min(2 * nap, _LONGEST_NAP)
        return found

    @abstractmethod
    def close(self) -> None:
        """Let go of files and connections; closing twice is fine. Other verbs are then `StoreFailed`."""

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
