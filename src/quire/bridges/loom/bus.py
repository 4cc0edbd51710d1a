"""Loom's event bus: tasks are published, handlers do them, and what was published can be asked for."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from quire.bridges.loom.events import MOST_EVENTS, Events, Label
from quire.bridges.loom.items import item_of, task_in
from quire.bridges.loom.letters import in_order
from quire.bridges.loom.task import Action, Task, TaskStatus, nodes_of, parent_of, targets_of, words_said
from quire.errors import WrongType
from quire.items import Item, now
from quire.sections import checked_function, maybe_await
from quire.tokens import whole

logger = logging.getLogger("quire.bridges.loom")

Doing = Callable[[Task], Any | Awaitable[Any]]
"""What handles a task: it gives a result, the task with one, or nothing."""

_NODE, _ACTION, _TASK, _TARGET = "node", "action", "task", "target"


class EventBus:
    """The newest tasks that were published, and who does them. It lives in this process."""

    def __init__(self, max_history: int = MOST_EVENTS) -> None:
        self._events = Events(max_history)
        self._doing: dict[str, list[Doing]] = {}
        self._background: set[asyncio.Task[None]] = set()

    def register_handler(self, action: str, handler: Doing) -> None:
        """Have tasks of an action done by a function, beside those that do them already."""
        self._doing.setdefault(action, []).append(checked_function(handler, "what handles a task"))

    def unregister_handler(self, action: str, handler: Doing) -> None:
        """Have them done by it no more."""
        if handler in self._doing.get(action, ()):
            self._doing[action].remove(handler)

    async def publish(self, task: Task, wait_result: bool = True) -> Task:
        """Make a task known, and have it done by all that handle its action, in the order they came.

        Errors are told by the task, which has failed then. Without `wait_result` it is done beside. Where
        nobody handles it, it is news, and stays as it is.
        """
        if not isinstance(task, Task):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"a bus publishes a Task, not {type(task).__name__}")
        several = tuple(self._doing.get(task.action, ()))
        self._keep(task)
        if not several:
            return task
        task.touch(TaskStatus.RUNNING)
        self._keep(task)
        if wait_result:
            await self._do(task, several)
        else:
            doing = asyncio.get_running_loop().create_task(self._do(task, several))
            self._background.add(doing)  # a loop holds its tasks weakly
            doing.add_done_callback(self._background.discard)
        return task

    async def join(self) -> None:
        """Wait for what is being done beside."""
        while self._background:
            await asyncio.wait(self._background)

    def query_by_node(
        self,
        node_id: str,
        action_filter: str | None = None,
        limit: int | None = None,
        session_id: str | None = None,
    ) -> list[Task]:
        """What a node did, the newest last."""
        return self._newest([(_NODE, node_id)], limit, action_filter, session_id)

    def query_by_action(
        self,
        action: str,
        node_filter: str | None = None,
        limit: int | None = None,
        session_id: str | None = None,
    ) -> list[Task]:
        """Tasks of an action, the newest last."""
        if node_filter is not None:
            return self.query_by_node(node_filter, action, limit, session_id)
        return self._newest([(_ACTION, action)], limit, None, session_id)

    def query_by_task(
        self,
        task_id: str,
        action_filter: str | None = None,
        limit: int | None = None,
        session_id: str | None = None,
    ) -> list[Task]:
        """A task and those that belong to it, the newest last."""
        return self._newest([(_TASK, task_id)], limit, action_filter, session_id)

    def query_recent(
        self,
        limit: int = 10,
        action_filter: str | None = None,
        node_filter: str | None = None,
        session_id: str | None = None,
    ) -> list[Task]:
        """What was published last, the newest last; so many as are asked for, whatever the filters."""
        labels = [] if node_filter is None else [(_NODE, node_filter)]
        return self._newest(labels, limit, action_filter, session_id)

    def query_thinking_process(
        self,
        node_id: str | None = None,
        task_id: str | None = None,
        limit: int | None = None,
        session_id: str | None = None,
    ) -> list[str]:
        """What a node thought, or what was thought about a task, in words, the newest last."""
        most = None if limit is None else whole(limit, "a limit", least=1)
        labels = [(_TASK, task_id)] if task_id else [(_NODE, node_id)] if node_id else []
        thoughts = self._newest(labels, None, Action.THINKING, session_id)
        own = [one for one in thoughts if not node_id or node_id in nodes_of(one)]
        return [words for one in own if (words := words_said(one))][-most if most else None :]

    def query_by_target(
        self,
        target_agent: str | None = None,
        target_node_id: str | None = None,
        action_filter: str | None = None,
        limit: int | None = None,
        session_id: str | None = None,
    ) -> list[Task]:
        """What is for an agent or a node: by priority, then the newest first; nothing that has expired."""
        labels: list[Label] = [(_TARGET, one) for one in (target_agent, target_node_id) if one]
        if not labels:
            return []
        found = self._events.newest(*labels, where=_asked(action_filter, session_id))
        most = None if limit is None else whole(limit, "a limit", least=1)
        return _tasks(in_order(found, now())[:most])

    def _newest(
        self, labels: list[Label], limit: int | None, action: str | None, session_id: str | None
    ) -> list[Task]:
        most = None if limit is None else whole(limit, "a limit", least=1)
        return _tasks(self._events.newest(*labels, limit=most, where=_asked(action, session_id)))

    def _keep(self, task: Task) -> None:
        """Note a task as it is now."""
        about = (task.task_id, parent_of(task))
        self._events.put(
            item_of(task),
            [
                (_ACTION, task.action),
                *((_NODE, one) for one in nodes_of(task)),
                *((_TASK, one) for one in about if one),
                *((_TARGET, one) for one in targets_of(task)),
            ],
        )

    async def _do(self, task: Task, several: tuple[Doing, ...]) -> None:
        errors: list[str] = []
        for do in several:
            try:
                _take_result(task, await maybe_await(do(task)))
            except asyncio.CancelledError:
                task.touch(TaskStatus.CANCELLED)
                self._keep(task)
                raise
            except Exception as fault:  # the others are asked all the same
                errors.append(f"{type(fault).__name__}: {fault}")
                logger.warning("a handler of %s failed: %s", task.action, type(fault).__name__)
        if errors:
            task.error = "; ".join(errors)
        task.touch(TaskStatus.FAILED if errors or task.error else TaskStatus.COMPLETED)
        self._keep(task)


def _take_result(task: Task, given: object) -> None:
    if isinstance(given, Task):
        task.result, task.error = given.result, given.error or task.error
    elif given is not None:
        task.result = given


def _asked(action: str | None, session_id: str | None) -> Callable[[Item], bool] | None:
    if action is None and session_id is None:
        return None

    def where(item: Item) -> bool:
        task = task_in(item)
        return (
            task is not None
            and action in (None, task.action)
            and (session_id is None or task.session_id == session_id)
        )

    return where


def _tasks(items: list[Item]) -> list[Task]:
    return [task for item in items if (task := task_in(item)) is not None]
