"""Loom's memory in four tiers, over the pools of sessions; and its knowledge base over vectors."""

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
_BEFORE_VERSION = "#"


def importance_of(task: Task) -> float:
    """`metadata["importance"]`, or else a value by the action."""
    given = task.metadata.get("importance")
    if given is None:
        return _IMPORTANCE.get(task.action, _DEFAULT_IMPORTANCE)
    return min(float(number(given, "metadata.importance", least=0)), 1.0)


class TaskSummary(NamedTuple):
    """What some tasks of a session were about."""

    summary: str
    task_ids: tuple[str, ...]
    created_at: datetime
    session_id: str | None


class LoomMemory:
    """What a node did. Tiers are queries over one log for each session; nothing is moved between them.

    A task is a note in the pool of its session, under its id: adding a task again replaces the note. The
    memory is in this process alone, unless `store` says where it is kept. Nodes see only their own tasks.
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
        """Keep a task; a task with the same id in the same session is replaced."""
        check_task(task)
        if is_reserved(task.session_id or ""):
            raise InvalidValue(f"the session {cut(str(task.session_id))!r} has a name reserved for documents")
        note = Note(
            _searchable_text(task),
            key=task.task_id,
            id=f"{task.task_id}{_BEFORE_VERSION}{new_id()}",
            created_at=task.created_at.timestamp(),
            agent_id=task.source_agent or task.action,
            extras={"task": task.to_dict(), IMPORTANCE: importance_of(task)},
        )
        self._pool(task.session_id or "").keep(note)

    def get_task(self, task_id: str) -> Task | None:
        """A task by its id."""
        pools = map(self._pool, self._store.conversations(self.node_id))
        return next((_task_in(pool[task_id]) for pool in pools if task_id in pool), None)

    def get_l1_tasks(self, limit: int = 10, session_id: str | None = None) -> list[Task]:
        """The newest tasks of a session, or of all, oldest first, without expired messages."""
        most = min(whole(limit, "limit", least=1), self.max_l1_size)
        return self._tasks(most, lambda count: self._memory.recent(session_id, count)[::-1])[::-1]

    def get_l2_tasks(self, limit: int = 10, session_id: str | None = None) -> list[Task]:
        """The tasks above the threshold in a session, or in all, the most important first."""

        def important(count: int) -> list[Leaf]:
            leaves = self._memory.working(session_id, count)
            return list(takewhile(lambda leaf: leaf.importance > self.importance_threshold, leaves))

        return self._tasks(min(whole(limit, "limit", least=1), self.max_l2_size), important)

    def get_l3_summaries(self, limit: int = 20, session_id: str | None = None) -> list[TaskSummary]:
        """What a session, or all, were about, oldest first; made by rule, without a model."""
        most = min(whole(limit, "limit", least=1), self.max_l3_size)
        return [
            TaskSummary(
                one.text,
                tuple(dict.fromkeys(map(_task_id, one.ids))),
                datetime.fromtimestamp(one.at, UTC),
                one.source or None,
            )
            for one in self._memory.episodes(session_id, most)
        ]

    async def search_tasks(self, query: str, limit: int = 5, session_id: str | None = None) -> list[Task]:
        """The tasks that answer a question best, of all sessions unless one is named."""
        tier: Tier = "knowledge" if session_id is None else "recent"

        def found(count: int) -> list[Leaf]:
            hits = self._memory.search(query, tiers=tier, conversation=session_id, limit=count)
            return [hit.leaf for hit in hits.hits]

        return await RECALLING.do(self._tasks, whole(limit, "limit", least=1), found)

    def _tasks(self, most: int, fetch: Callable[[int], Sequence[Leaf]]) -> list[Task]:
        """The tasks of the first leaves; more leaves are fetched in place of expired and repeated tasks."""
        count, pools = most, dict[str, SessionPool]()
        while True:
            leaves = fetch(count)
            tasks: dict[str, Task] = {}
            for leaf in leaves:
                if leaf.source not in pools:
                    pools[leaf.source] = self._pool(leaf.source)
                pool, task_id = pools[leaf.source], _task_id(leaf.key)
                if task_id in pool and not is_expired(task := _task_in(pool[task_id])):
                    tasks.setdefault(task_id, task)
            if len(tasks) >= most or len(leaves) < count:
                return list(tasks.values())[:most]
            count *= 2

    def _pool(self, conversation: str) -> SessionPool:
        return Session.open(scope=self.node_id, conversation=conversation, store=self._store).pool


def _task_in(note: Note) -> Task:
    return Task.from_dict(thaw(note.extras["task"]))


def _task_id(note_id: str) -> str:
    return note_id.rpartition(_BEFORE_VERSION)[0]


def content_or_parameters(task: Task) -> str:
    """The content of a task, or else all its parameters."""
    return task.content or ", ".join(f"{name}: {value}" for name, value in task.parameters.items())


def _searchable_text(task: Task) -> str:
    parts = (content_or_parameters(task) or task.action, task.result, task.error)
    return "\n".join(str(part) for part in parts if part is not None)


# Knowledge


@dataclass(frozen=True, slots=True)
class KnowledgeItem:
    """A piece of knowledge. It never changes: a query returns copies with their `relevance`."""

    id: str
    content: str
    source: str = ""
    relevance: float = 0.0
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])


class VectorMatch(NamedTuple):
    """A vector that was found; `score` is the cosine."""

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
        """Keep a vector; one with the same id is replaced."""
        self._vectors[id] = _unit(embedding), dict(metadata or {})

    async def search(self, query_embedding: Sequence[float], top_k: int = 5) -> list[VectorMatch]:
        """The nearest, nearest first; a `ValueError` if the vectors differ in length."""
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
    """The vector at length one; one of zeros stays as it is."""
    length = hypot(*vector) or 1.0
    return tuple(part / length for part in vector)


class VectorKnowledgeBase:
    """Knowledge found by vectors. The items are in this process, their vectors in the vector store.

    The provider has `async embed(text)`. The store has `add(id, embedding, metadata)` and
    `search(query_embedding, top_k)`, to be awaited; what it finds has an `id` and a `score`.
    """

    def __init__(self, embedding_provider: Any, vector_store: Any) -> None:
        self.embedding_provider, self.vector_store = embedding_provider, vector_store
        self.items: dict[str, KnowledgeItem] = {}

    async def add_item(self, item: KnowledgeItem) -> None:
        """Keep an item; one with the same id is replaced."""
        vector = await self.embedding_provider.embed(item.content)
        await self.vector_store.add(id=item.id, embedding=vector, metadata=_metadata(item))
        self.items[item.id] = item

    async def query(
        self, query: str, limit: int = 5, filters: Mapping[str, Any] | None = None
    ) -> list[KnowledgeItem]:
        """What is nearest to a question, the most relevant first; `filters` apply to metadata and source."""
        most, wanted = whole(limit, "limit", least=1), dict(filters or {})
        vector = await self.embedding_provider.embed(query)
        matches = await self.vector_store.search(vector, top_k=max(most, len(self.items)) if wanted else most)
        found = [
            replace(self.items[match.id], relevance=float(match.score))
            for match in matches
            if match.id in self.items and match.score > 0
        ]
        return [item for item in found if wanted.items() <= _metadata(item).items()][:most]

    async def get_by_id(self, knowledge_id: str) -> KnowledgeItem | None:
        """An item by its id."""
        return self.items.get(knowledge_id)


def _metadata(item: KnowledgeItem) -> dict[str, Any]:
    return {"source": item.source, **item.metadata}
