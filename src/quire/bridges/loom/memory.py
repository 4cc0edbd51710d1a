"""Loom's memory: four tiers of what a node did, over sessions of the engine and what it remembers of them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from itertools import takewhile
from pathlib import Path

from quire.bridges.loom.items import task_id_in, task_in
from quire.bridges.loom.letters import is_good
from quire.bridges.loom.places import Kept, item_in
from quire.bridges.loom.task import Task
from quire.errors import InvalidValue, WrongType, cut
from quire.items import Item, now
from quire.memory import Episode, Leaf, Memory, Tier, is_reserved
from quire.memory.times import zone_of
from quire.state import View
from quire.stores import Store
from quire.stores.threads import RECALLING
from quire.tokens import number, whole

Fetch = Callable[[int], Sequence[Leaf]]

_LOOKS = 50
"""So often is looked again, where others write all the while."""


@dataclass(frozen=True, slots=True)
class TaskSummary:
    """What some tasks of a session were about."""

    summary: str
    task_ids: tuple[str, ...]
    created_at: float
    session_id: str | None


class LoomMemory:
    """What a node did. Tiers are questions about one log for each session: nothing is moved between them.

    It is in this process alone, unless a `store` says where it rests: then all memories of a node have the
    same, also those of other processes. Nodes do not see each other's.
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
        zone: str | tzinfo | None = None,
    ) -> None:
        """Days that a query names are those of a `zone` ("Europe/Paris" or a `datetime.tzinfo`), or UTC's.

        Another memory of the node may have another.
        """
        self.node_id = node_id
        self.max_l1_size = whole(max_l1_size, "max_l1_size", least=1)
        self.max_l2_size = whole(max_l2_size, "max_l2_size", least=1)
        self.max_l3_size = whole(max_l3_size, "max_l3_size", least=1)
        self._threshold = number(importance_threshold, "importance_threshold", least=0)
        self._kept = Kept(node_id, store)
        self._memory = Memory.of(self._kept.store, node_id)
        self._zone = None if zone is None else zone_of(zone)

    def add_task(self, task: Task) -> None:
        """Keep a task. One that was added before is put in the place of what it was then.

        It is in all tiers where it belongs as soon as this returns.
        """
        if not isinstance(task, Task):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"a memory keeps a Task, not {type(task).__name__}")
        self._kept.put(task, _conversation(task.session_id))

    def get_task(self, task_id: str) -> Task | None:
        """A task by its id, as it was added last."""
        return self._kept.get(task_id)

    def get_l1_tasks(self, limit: int = 10, session_id: str | None = None) -> list[Task]:
        """The newest tasks of a session, or of all, the oldest of them first; no message that has expired."""
        most, within = min(whole(limit, "a limit", least=1), self.max_l1_size), _within(session_id)
        newest = self._enough(most, lambda many: self._memory.recent(within, many)[::-1])
        return newest[::-1]

    def get_l2_tasks(self, limit: int = 10, session_id: str | None = None) -> list[Task]:
        """The tasks that matter in a session, or in all, the most important first.

        Those above the threshold are among them, as far as there is room: the least important give way.
        """
        most, within = min(whole(limit, "a limit", least=1), self.max_l2_size), _within(session_id)
        return self._enough(most, lambda many: list(self._weighty(within, many)))

    def get_l3_summaries(self, limit: int = 20, session_id: str | None = None) -> list[TaskSummary]:
        """What a session, or all, were about, in short, the oldest first."""
        most = min(whole(limit, "a limit", least=1), self.max_l3_size)
        return [self._summary(one) for one in self._memory.episodes(_within(session_id), most)]

    async def search_tasks(self, query: str, limit: int = 5, session_id: str | None = None) -> list[Task]:
        """The tasks that answer a question best, of all sessions unless one is named."""
        most = whole(limit, "a limit", least=1)
        within = _within(session_id)

        def fetch(many: int) -> list[Leaf]:
            tier: Tier = "knowledge" if within is None else "recent"
            found = self._memory.search(query, tiers=tier, conversation=within, limit=many, zone=self._zone)
            return [hit.leaf for hit in found.hits]

        return await RECALLING.do(self._enough, most, fetch)

    def _weighty(self, within: str | None, many: int) -> Iterator[Leaf]:
        weightiest = self._memory.working(within, many)
        return takewhile(lambda leaf: leaf.importance > self._threshold, weightiest)

    def _enough(self, most: int, fetch: Fetch) -> list[Task]:
        """So many tasks, each as it is now: of those that were added again, leaves tell how they were."""
        many = most
        while True:
            found, count = self._found(fetch, many)
            if len(found) >= most or count < many:
                return found[:most]
            many *= 2

    def _found(self, fetch: Fetch, many: int) -> tuple[list[Task], int]:
        """Tasks of a moment, and of how many leaves: what changes meanwhile would be in none, new or old."""
        found, count = list[Task](), 0
        before = self._kept.catch_up()
        for _ in range(_LOOKS):
            leaves = fetch(many)
            found, count = self._tasks(leaves), len(leaves)
            after = self._kept.catch_up()
            if after == before:
                break
            before = after
        return found, count

    def _tasks(self, leaves: Sequence[Leaf]) -> list[Task]:
        views: dict[str, View] = {}
        found: dict[str | None, Item] = {}
        at = now()
        for leaf in leaves:
            if is_reserved(leaf.source):
                continue
            if leaf.source not in views:
                views[leaf.source] = self._kept.session(leaf.source).view()
            item = item_in(views[leaf.source], leaf.key)
            if item is not None and is_good(item, at) and self._kept.is_now(item):
                found.setdefault(task_id_in(item), item)
        return [task for item in found.values() if (task := task_in(item)) is not None]

    def _summary(self, episode: Episode) -> TaskSummary:
        view = self._kept.session(episode.source).view()
        items = (item for one in episode.ids if (item := item_in(view, one)) is not None)
        ids = dict.fromkeys(filter(None, map(task_id_in, items)))
        return TaskSummary(episode.text, tuple(ids), episode.at, episode.source or None)


def _conversation(session_id: str | None) -> str:
    """The conversation of a session; tasks without one have one of their own."""
    if session_id is not None and is_reserved(session_id):
        raise InvalidValue(f"the session {cut(session_id)!r} begins as those that are kept for documents")
    return session_id or ""


def _within(session_id: str | None) -> str | None:
    return None if session_id is None else _conversation(session_id)
