"""Loom's context sources: where the tasks come from that a context is built of."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from quire.bridges.loom.bus import EventBus
from quire.bridges.loom.memory import LoomMemory
from quire.bridges.loom.task import Action, Task, nodes_of, parent_of
from quire.tokens import whole

MOST = 20
_MOST_LETTERS = 50


class ContextSource(Protocol):
    """Whatever has tasks that belong to another."""

    async def get_context(self, current_task: Task, max_items: int = MOST) -> Sequence[Task]:
        """The tasks, the oldest first."""
        ...


class MemoryContextSource:
    """What a node did in the session of a task. Without a session, all that it did."""

    def __init__(self, memory: LoomMemory) -> None:
        self.memory = memory

    async def get_context(self, current_task: Task, max_items: int = MOST) -> list[Task]:
        """The newest tasks, and of those before them the most important, in the order of time."""
        most, session_id = whole(max_items, "max_items", least=1), current_task.session_id
        newest = self.recent(current_task, most - most // 2)
        told = {task.task_id for task in newest} | {current_task.task_id}
        weighty = [
            task for task in self.memory.get_l2_tasks(2 * most, session_id) if task.task_id not in told
        ]
        return _in_time([*weighty[: most - len(newest)], *newest])

    def recent(self, current_task: Task, limit: int | None = None) -> list[Task]:
        """The newest tasks but the one at hand, as many as the first tier holds."""
        most = self.memory.max_l1_size if limit is None else limit
        found = self.memory.get_l1_tasks(most + 1, current_task.session_id)
        return [task for task in found if task.task_id != current_task.task_id][-most:]


class EventBusContextSource:
    """What is thought and called on a bus about a task, and what others say to whoever does it."""

    def __init__(self, event_bus: EventBus) -> None:
        self.event_bus = event_bus

    async def get_context(self, current_task: Task, max_items: int = MOST) -> list[Task]:
        """Thoughts and calls of the task, of the one it belongs to and of its nodes, in order of time."""
        most, session_id = whole(max_items, "max_items", least=1), current_task.session_id
        found: list[Task] = []
        for action in (Action.THINKING, Action.TOOL_CALL):
            for task_id in filter(None, (current_task.task_id, parent_of(current_task))):
                found += self.event_bus.query_by_task(task_id, action, most, session_id)
            for node_id in (*nodes_of(current_task), current_task.target_agent):
                found += self.event_bus.query_by_node(node_id, action, most, session_id) if node_id else []
        others = {task.task_id: task for task in found if task.task_id != current_task.task_id}
        return _in_time(others.values())[-most:]

    def letters(self, current_task: Task, node_ids: Iterable[str]) -> list[Task]:
        """Direct messages to some nodes, the most important first."""
        found: dict[str, Task] = {}
        for node_id in dict.fromkeys(filter(None, node_ids)):
            for task in self.event_bus.query_by_target(
                node_id, node_id, Action.MESSAGE, _MOST_LETTERS, current_task.session_id
            ):
                found.setdefault(task.task_id, task)
        found.pop(current_task.task_id, None)
        return list(found.values())


def _in_time(tasks: Iterable[Task]) -> list[Task]:
    return sorted(tasks, key=lambda task: task.created_at)
