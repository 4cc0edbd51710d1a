"""Loom's vector store in memory, over the engine's vectors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from quire.bridges.loom.nearest import Nearest


@dataclass(frozen=True, slots=True)
class VectorMatch:
    """One vector that was found; `score` is the cosine."""

    id: str
    score: float
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])


class InMemoryVectorStore:
    """Vectors by id, with what is said of each."""

    def __init__(self) -> None:
        self._vectors = Nearest()
        self._metadata: dict[str, dict[str, Any]] = {}

    def __len__(self) -> int:
        return len(self._vectors)

    async def add(
        self, id: str, embedding: Sequence[float], metadata: Mapping[str, Any] | None = None
    ) -> None:
        """Keep a vector, in place of the one with the same id."""
        self._vectors.put(id, embedding)
        self._metadata[id] = dict(metadata or {})

    async def search(self, query_embedding: Sequence[float], top_k: int = 5) -> list[VectorMatch]:
        """The nearest, nearest first."""
        found = self._vectors.nearest(query_embedding, top_k)
        return [VectorMatch(one, score, self._metadata[one]) for one, score in found]

    async def delete(self, id: str) -> None:
        """Let go of a vector, where it is there."""
        self._vectors.remove([id])
        self._metadata.pop(id, None)

    async def clear(self) -> None:
        """Let go of all."""
        self._vectors.clear()
        self._metadata.clear()
