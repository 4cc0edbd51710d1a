"""Loom's knowledge base: items found by what an embedding makes of them, in any vector store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from quire.errors import WrongType
from quire.tokens import whole

_WIDER = 4


@dataclass(frozen=True, slots=True)
class KnowledgeItem:
    """One piece of knowledge. It never changes: what a question finds is a copy with its `relevance`."""

    id: str
    content: str
    source: str = ""
    relevance: float = 0.0
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])


class EmbeddingProvider(Protocol):
    """Makes vectors of texts."""

    async def embed(self, text: str) -> Sequence[float]:
        """The vector of one text."""
        ...

    async def embed_batch(self, texts: list[str]) -> Sequence[Sequence[float]]:
        """The vectors of several."""
        ...


class VectorStore(Protocol):
    """Keeps vectors. What it finds has an id, a score and metadata."""

    async def add(self, id: str, embedding: Sequence[float], metadata: Mapping[str, Any]) -> None:
        """Keep a vector."""
        ...

    async def search(self, query_embedding: Sequence[float], top_k: int) -> Sequence[Any]:
        """The nearest, nearest first."""
        ...


class KnowledgeBase(Protocol):
    """Whatever can be asked for knowledge."""

    async def query(
        self, query: str, limit: int = 5, filters: Mapping[str, Any] | None = None
    ) -> Sequence[KnowledgeItem]:
        """What answers a question, the most relevant first."""
        ...


class VectorKnowledgeBase:
    """Knowledge by vectors. Each item is whole in the vector store, so a lasting one is all it needs."""

    def __init__(self, embedding_provider: EmbeddingProvider, vector_store: VectorStore) -> None:
        self._embedding, self._vectors = embedding_provider, vector_store
        self._items: dict[str, KnowledgeItem] = {}

    async def add_item(self, item: KnowledgeItem) -> None:
        """Keep an item, in place of the one with the same id."""
        await self._keep(item, await self._embedding.embed(_checked(item).content))

    async def add_items(self, items: Sequence[KnowledgeItem]) -> None:
        """Keep several: their vectors are made at once."""
        texts = [_checked(item).content for item in items]
        vectors = await self._embedding.embed_batch(texts) if texts else ()
        for item, vector in zip(items, vectors, strict=True):
            await self._keep(item, vector)

    async def query(
        self, query: str, limit: int = 5, filters: Mapping[str, Any] | None = None
    ) -> list[KnowledgeItem]:
        """What is nearest to a question, the most relevant first; `filters` are for metadata and source."""
        most = whole(limit, "a limit", least=1)
        vector = await self._embedding.embed(query)
        many = most
        while True:
            matches = await self._vectors.search(vector, many)
            found = [item for match in matches if (item := self._found(match)) and _passes(item, filters)]
            if len(found) >= most or len(matches) < many:
                return found[:most]
            many *= _WIDER

    async def get_by_id(self, id: str) -> KnowledgeItem | None:
        """An item by its id, if it was added or found here."""
        return self._items.get(id)

    async def _keep(self, item: KnowledgeItem, vector: Sequence[float]) -> None:
        whole_item = {"content": item.content, "source": item.source, "metadata": dict(item.metadata)}
        await self._vectors.add(item.id, vector, whole_item)
        self._items[item.id] = item

    def _found(self, match: Any) -> KnowledgeItem | None:
        """The item of a match; none where the store has something else there, or far off."""
        if not match.score > 0:
            return None
        known = self._items.get(match.id) or _read(match.id, match.metadata)
        if known is None:
            return None
        self._items.setdefault(match.id, known)
        return replace(known, relevance=float(match.score))


def _read(item_id: str, told: Any) -> KnowledgeItem | None:
    if not isinstance(told, Mapping) or not isinstance(told.get("content"), str):  # pyright: ignore
        return None
    return KnowledgeItem(item_id, told["content"], told.get("source", ""), metadata=told.get("metadata", {}))  # pyright: ignore


def _passes(item: KnowledgeItem, filters: Mapping[str, Any] | None) -> bool:
    has = {"source": item.source, **item.metadata}
    return all(key in has and has[key] == value for key, value in (filters or {}).items())


def _checked(item: object) -> KnowledgeItem:
    if not isinstance(item, KnowledgeItem):
        raise WrongType(f"a knowledge base has KnowledgeItems, not {type(item).__name__}")
    return item
