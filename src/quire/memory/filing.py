"""Keeping an index up with the documents of a scope: it gets what is new in those that changed."""

from collections.abc import Mapping, Sequence
from hashlib import blake2b

from quire.memory.documents import Chunk
from quire.memory.index import Index
from quire.memory.knowledge import KNOWLEDGE, Knowledge
from quire.memory.leaf import Leaf, leaves_of_document


class Filing:
    """The documents of a scope, and what an index has of them."""

    def __init__(self, index: Index, knowledge: Knowledge) -> None:
        self._index, self._knowledge = index, knowledge
        self._had: dict[str, tuple[str, ...]] = {}  # of documents: the ids of their chunks, in order
        self._now: dict[str, tuple[str, ...]] = {}

    def let_go(self) -> None:
        """Nothing is known of what the index has."""
        self._had = {}

    def changed(self, known: Mapping[str, bytes]) -> tuple[dict[str, bytes], list[Leaf]]:
        """What each document is now, and what is to be put of those that are not as they were known.

        What is gone from them is taken out. Once the rest is put, `was_put` says so.
        """
        now = self._knowledge.all_chunks()
        told = {name: _digest(chunks) for name, chunks in now.items() if chunks}
        had, self._had = self._had, {}  # where this fails, nothing is known of what the index has
        leaves: list[Leaf] = []
        for name in {**known, **told}:
            if known.get(name) != told.get(name):
                leaves += self._put_anew(name, now.get(name, ()), had.get(name))
        self._now = {name: tuple([chunk.id for chunk in now[name]]) for name in told}
        return told, leaves

    def was_put(self) -> None:
        """Note that the index has what was given last."""
        self._had = self._now

    def _put_anew(self, name: str, chunks: Sequence[Chunk], had: Sequence[str] | None) -> list[Leaf]:
        """What is to be put of a document; what is gone from it, or stands elsewhere now, is taken out.

        Where it is not known what it had, that is all of it.
        """
        leaves = leaves_of_document(chunks)
        if had is None or not leaves:
            self._index.drop(KNOWLEDGE, name)
            return leaves
        stays = {leaf.key for key, leaf in zip(had, leaves, strict=False) if key == leaf.key}
        if left := [key for key in had if key not in stays]:
            self._index.remove(KNOWLEDGE, left)
        return [leaf for leaf in leaves if leaf.key not in stays]


def _digest(chunks: Sequence[Chunk]) -> bytes:
    return blake2b("\0".join(chunk.id for chunk in chunks).encode(), digest_size=16).digest()
