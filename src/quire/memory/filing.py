"""Keeping an index up with the documents of a scope: it gets what is new in those that changed."""

from collections.abc import Mapping, Sequence
from hashlib import blake2b

import msgspec

from quire.memory.documents import Chunk
from quire.memory.index import Gone
from quire.memory.knowledge import KNOWLEDGE, Knowledge
from quire.memory.leaf import Leaf, leaves_of_document

_Known = tuple[str, str, int | None]
"""The id of a chunk, and the title and the page that are told with it."""


class Filing:
    """The documents of a scope, and what an index has of them."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        self._had: dict[str, tuple[_Known, ...]] = {}  # of documents: what is known of their chunks, in order
        self._now: dict[str, tuple[_Known, ...]] = {}

    def let_go(self) -> None:
        """Nothing is known of what the index has."""
        self._had = {}

    def changed(self, known: Mapping[str, bytes]) -> tuple[dict[str, bytes], list[Gone], list[Leaf]]:
        """What each document is now, and what goes and is to be put of those that are not as they were known.

        Once that is done, `was_put` says so.
        """
        now = self._knowledge.all_chunks()
        told = _told(now)
        had, self._had = self._had, {}  # where this fails, nothing is known of what the index has
        gone: list[Gone] = []
        leaves: list[Leaf] = []
        for name in {**known, **told}:
            if known.get(name) == told.get(name):
                continue
            goes, comes = _anew(name, now.get(name, ()), had.get(name))
            gone += goes if name in known else ()
            leaves += comes
        self._now = {name: tuple(map(_known_of, now[name])) for name in told}
        return told, gone, leaves

    def unlike(self, known: Mapping[str, bytes]) -> set[str]:
        """The names of those documents that are not as they were known, or not there any more."""
        now = _told(self._knowledge.all_chunks())
        return {name for name, told in known.items() if now.get(name) != told}

    def was_put(self) -> None:
        """Note that the index has what was given last."""
        self._had = self._now


def _anew(name: str, chunks: Sequence[Chunk], had: Sequence[_Known] | None) -> tuple[list[Gone], list[Leaf]]:
    """What is gone from a document, or stands elsewhere now, and what is to be put of it.

    Where it is not known what it had, that is all of it.
    """
    leaves = leaves_of_document(chunks)
    if had is None or not leaves:
        return [Gone(source=KNOWLEDGE, transcript=name)], leaves
    stays = {chunk.id for known, chunk in zip(had, chunks, strict=False) if known == _known_of(chunk)}
    left = frozenset(key for key, *_ in had if key not in stays)
    gone = [Gone(source=KNOWLEDGE, keys=left)] if left else []
    return gone, [leaf for leaf in leaves if leaf.key not in stays]


def _told(documents: Mapping[str, Sequence[Chunk]]) -> dict[str, bytes]:
    return {name: _digest(chunks) for name, chunks in documents.items() if chunks}


def _known_of(chunk: Chunk) -> _Known:
    return chunk.id, chunk.title, chunk.page


def _digest(chunks: Sequence[Chunk]) -> bytes:
    return blake2b(msgspec.json.encode(list(map(_known_of, chunks))), digest_size=16).digest()
