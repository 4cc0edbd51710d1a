"""Loom's memory in four tiers, over the pools of sessions, and its knowledge base over vectors."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from heapq import nlargest
from itertools import takewhile
from math import hypot
from pathlib import Path
from typing import Any, NamedTuple

from quire.bridges.loom.tasks import EXECUTE, THINKING, TOOL_CALL, TOOL_RESULT, Task, check_task, is_expired
from quire.errors import InvalidValue, cut
from quire.items import Note, new_id, thaw
from quire.memory import IMPORTANCE, Leaf, Memory, Tier, is_reserved
from quire.session import Session, SessionPool, open_store
from quire.stores import MemoryStore, Store
from quire.stores.threads import RECALLING
from quire.tokens import number, whole

_IMPORTANCE = {
    "node.error": 0.9,
    "node.planning": 0.8,
    TOOL_RESULT: 0.75,
    TOOL_CALL: 0.7,
    EXECUTE: 0.65,
    "node.complete": 0.6,
    THINKING: 0.55,
}
_DEFAULT_IMPORTANCE = 0.5
_VERSION_MARK = "#"  # in the id of a note, between the id of its task and that of the version


def importance_of(task: Task) -> float:
    """`metadata["importance"]`, or a default by the task's action; at most 1."""
    importance = task.metadata.get("importance")
    if importance is None:
        return _IMPORTANCE.get(task.action, _DEFAULT_IMPORTANCE)
    return min(float(number(importance, "metadata.importance", least=0)), 1.0)


class TaskSummary(NamedTuple):
    """A summary of some tasks of a session."""

    summary: str
    task_ids: tuple[str, ...]
    created_at: datetime
    session_id: str | None


class LoomMemory:
    """The tasks of a node. Each session has one log, and tiers are queries over it.

    A task is a note in the pool of its session, under its id: adding a task again replaces the note. Without
    a `store`, the memory is in this process alone. A node cannot read the tasks of another.
    """

    def __init__(
        self,
        node_id: str = "default",
        max_l1_size: int = 50,
        max_l2_size: int = 100,
        max_l3_size: int = 500,
        importance_threshold: float = 0.6,
        *,
        store: str | Path | Store | None = None,
    ) -> None:
        self.node_id = node_id
        self.max_l1_size = whole(max_l1_size, "max_l1_size", least=1)
        self.max_l2_size = whole(max_l2_size, "max_l2_size", least=1)
        self.max_l3_size = whole(max_l3_size, "max_l3_size", least=1)
        self.importance_threshold = number(importance_threshold, "importance_threshold", least=0)
        self._store = MemoryStore() if store is None else open_store(store)
        self._memory = Memory.of(self._store, node_id)

    def add_task(self, task: Task) -> None:
        """Add a task. It replaces a task with the same id in the same session."""
        check_task(task)
        if is_reserved(task.session_id or ""):
            raise InvalidValue(f"the session {cut(str(task.session_id))!r} has a name reserved for documents")
        note = Note(
            _searchable_text(task),
            key=task.task_id,
            id=f"{task.task_id}{_VERSION_MARK}{new_id()}",
            created_at=task.created_at.timestamp(),
            agent_id=task.source_agent or task.action,
            extras={"task": task.to_dict(), IMPORTANCE: importance_of(task)},
        )
        self._pool(task.session_id or "").keep(note)

    def get_task(self, task_id: str) -> Task | None:
        """The task with this id, or `None`."""
        pools = map(self._pool, self._store.conversations(self.node_id))
        return next((_task_in(pool[task_id]) for pool in pools if task_id in pool), None)

    def get_l1_tasks(self, limit: int = 10, session_id: str | None = None) -> list[Task]:
        """The newest tasks of one session or of all, oldest first, without expired messages."""
        limit = min(whole(limit, "limit", least=1), self.max_l1_size)
        newest_first = self._tasks(limit, lambda count: self._memory.recent(session_id, count)[::-1])
        return newest_first[::-1]

    def get_l2_tasks(self, limit: int = 10, session_id: str | None = None) -> list[Task]:
        """The tasks of one session or of all that are above the threshold, the most important first."""

        def important(count: int) -> list[Leaf]:
            leaves = self._memory.working(session_id, count)
            return list(takewhile(lambda leaf: leaf.importance > self.importance_threshold, leaves))

        return self._tasks(min(whole(limit, "limit", least=1), self.max_l2_size), important)

    def get_l3_summaries(self, limit: int = 20, session_id: str | None = None) -> list[TaskSummary]:
        """Summaries of one session or of all, oldest first. They are made by rules, without a model."""
        limit = min(whole(limit, "limit", least=1), self.max_l3_size)
        return [
            TaskSummary(
                episode.text,
                tuple(dict.fromkeys(map(_task_id, episode.ids))),
                datetime.fromtimestamp(episode.at, UTC),
                episode.source or None,
            )
            for episode in self._memory.episodes(session_id, limit)
        ]

    async def search_tasks(self, query: str, limit: int = 5, session_id: str | None = None) -> list[Task]:
        """The tasks of all sessions, or of one, that answer a question best."""
        tier: Tier = "knowledge" if session_id is None else "recent"

        def search(count: int) -> list[Leaf]:
            result = self._memory.search(query, tiers=tier, conversation=session_id, limit=count)
            return [hit.leaf for hit in result.hits]

        return await RECALLING.do(self._tasks, whole(limit, "limit", least=1), search)

    def _tasks(self, limit: int, fetch: Callable[[int], Sequence[Leaf]]) -> list[Task]:
        """The first `limit` tasks that are found, each once and without expired ones.

        `fetch(count)` returns the first `count` leaves. It is called with twice the count until there are
        enough tasks.
        """
        count, pools = limit, dict[str, SessionPool]()
        while True:
            leaves = fetch(count)
            tasks: dict[str, Task] = {}
            for leaf in leaves:
                if leaf.source not in pools:
                    pools[leaf.source] = self._pool(leaf.source)
                pool, task_id = pools[leaf.source], _task_id(leaf.key)
                if task_id in pool and not is_expired(task := _task_in(pool[task_id])):
                    tasks.setdefault(task_id, task)
            if len(tasks) >= limit or len(leaves) < count:
                return list(tasks.values())[:limit]
            count *= 2

    def _pool(self, conversation: str) -> SessionPool:
        return Session.open(scope=self.node_id, conversation=conversation, store=self._store).pool


def _task_in(note: Note) -> Task:
    return Task.from_dict(thaw(note.extras["task"]))


def _task_id(note_id: str) -> str:
    return note_id.rpartition(_VERSION_MARK)[0]


def content_or_parameters(task: Task) -> str:
    """The content of a task or, if it has none, all its parameters."""
    return task.content or ", ".join(f"{name}: {value}" for name, value in task.parameters.items())


def _searchable_text(task: Task) -> str:
    parts = (content_or_parameters(task) or task.action, task.result, task.error)
    return "\n".join(str(part) for part in parts if part is not None)


# Knowledge


@dataclass(frozen=True, slots=True)
class KnowledgeItem:
    """A piece of knowledge, which cannot change. A query returns copies with their `relevance`."""

    id: str
    content: str
    source: str = ""
    relevance: float = 0.0
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])


class VectorMatch(NamedTuple):
    """A vector that a search found; `score` is the cosine of the angle between it and the query."""

    id: str
    score: float
    metadata: Mapping[str, Any]


class InMemoryVectorStore:
    """Vectors by id. Each search compares all of them: for thousands, not for millions."""

    def __init__(self) -> None:
        self._vectors: dict[str, tuple[tuple[float, ...], dict[str, Any]]] = {}

    async def add(
        self, id: str, embedding: Sequence[float], metadata: Mapping[str, Any] | None = None
    ) -> None:
        """Add a vector, in place of one with the same id."""
        self._vectors[id] = _unit(embedding), dict(metadata or {})

    async def search(self, query_embedding: Sequence[float], top_k: int = 5) -> list[VectorMatch]:
        """The `top_k` nearest vectors, nearest first; `ValueError` if vectors differ in length."""
        query = _unit(query_embedding)
        matches = [
            VectorMatch(name, sum(a * b for a, b in zip(query, vector, strict=True)), metadata)
            for name, (vector, metadata) in self._vectors.items()
        ]
        return nlargest(whole(top_k, "top_k", least=1), matches, key=lambda match: match.score)

    async def clear(self) -> None:
        """Remove all vectors."""
        self._vectors.clear()


def _unit(vector: Sequence[float]) -> tuple[float, ...]:
    """The vector scaled to length 1. A vector of zeros is not changed."""
    length = hypot(*vector) or 1.0
    return tuple(part / length for part in vector)


class VectorKnowledgeBase:
    """Knowledge that is searched by vectors. Items are in this process, vectors in the vector store.

    The provider has `async embed(text)`. The store has `async add(id, embedding, metadata)` and
    `async search(query_embedding, top_k)`, which returns objects with an `id` and a `score`.
    """

    def __init__(self, embedding_provider: Any, vector_store: Any) -> None:
        self.embedding_provider, self.vector_store = embedding_provider, vector_store
        self.items: dict[str, KnowledgeItem] = {}

    async def add_item(self, item: KnowledgeItem) -> None:
        """Add an item, in place of one with the same id."""
        vector = await self.embedding_provider.embed(item.content)
        await self.vector_store.add(id=item.id, embedding=vector, metadata=_metadata(item))
        self.items[item.id] = item

    async def query(
        self, query: str, limit: int = 5, filters: Mapping[str, Any] | None = None
    ) -> list[KnowledgeItem]:
        """The items nearest to a question, the most relevant first.

        `filters` are values that the metadata of an item, or its `source`, must have.
        """
        whole(limit, "limit", least=1)
        vector = await self.embedding_provider.embed(query)
        top_k = max(limit, len(self.items)) if filters else limit
        items = [
            replace(self.items[match.id], relevance=float(match.score))
            for match in await self.vector_store.search(vector, top_k=top_k)
            if match.id in self.items and match.score > 0
        ]
        return [item for item in items if (filters or {}).items() <= _metadata(item).items()][:limit]

    async def get_by_id(self, knowledge_id: str) -> KnowledgeItem | None:
        """An item by its id."""
        return self.items.get(knowledge_id)


def _metadata(item: KnowledgeItem) -> dict[str, Any]:
    return {"source": item.source, **item.metadata}
