"""Tasks, their conversion to messages, and the bus on which they are published."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Literal, Self, TypedDict

from quire.errors import InvalidValue, WrongType, cut
from quire.items import new_id, now
from quire.sections import checked_function, maybe_await
from quire.tokens import number, whole

logger = logging.getLogger("quire.bridges.loom")

EXECUTE, THINKING, TOOL_CALL, TOOL_RESULT = "execute", "node.thinking", "node.tool_call", "node.tool_result"
MESSAGE = "node.message"
AGENT_MESSAGES = {
    MESSAGE: ("Direct message", "content"),
    "node.delegation_request": ("Delegation request", "subtask"),
    "node.delegation_response": ("Delegation response", "result"),
}
"""Actions by which one agent writes to another: the heading of the message, and the parameter with its text.

The parameter is used if there is no `content`.
"""

_DEFAULT_PRIORITY = 0.5
_TIMES = frozenset(("created_at", "updated_at"))


class TaskStatus(StrEnum):
    """The state of a task."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


def _utc_now() -> datetime:
    return datetime.fromtimestamp(now(), UTC)


@dataclass
class Task:
    """A job, a step or a message of an agent. Times are in UTC; a naive `datetime` is read as local time."""

    task_id: str = field(default_factory=new_id)
    source_agent: str = ""
    target_agent: str = ""
    action: str = EXECUTE
    parameters: dict[str, Any] = field(default_factory=dict[str, Any])
    status: TaskStatus = TaskStatus.PENDING
    created_at: datetime = field(default_factory=_utc_now)
    updated_at: datetime = field(default_factory=_utc_now)
    result: Any = None
    error: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    parent_task_id: str | None = None
    session_id: str | None = None

    def __post_init__(self) -> None:
        self.status = TaskStatus(self.status)
        for name in _TIMES:
            if not isinstance(getattr(self, name), datetime):
                raise WrongType(f"Task.{name} must be a datetime, not {type(getattr(self, name)).__name__}")
            setattr(self, name, getattr(self, name).astimezone(UTC))

    @property
    def content(self) -> str:
        """`parameters["content"]` as text, empty if there is none."""
        content = self.parameters.get("content")
        return "" if content is None else str(content)

    def set_status(self, status: TaskStatus) -> None:
        """Change the status and `updated_at`."""
        self.status, self.updated_at = status, _utc_now()

    def to_dict(self) -> dict[str, Any]:
        """All fields under Loom's keys, such as `taskId`; times are in ISO format."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        values |= {name: values[name].isoformat() for name in _TIMES}
        return {_camel(name): value for name, value in values.items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The task that `to_dict` wrote."""
        names = {_camel(field.name): field.name for field in fields(cls)}
        values: dict[str, Any] = {names.get(key, key): value for key, value in data.items()}
        for name in _TIMES & values.keys():
            values[name] = datetime.fromisoformat(values[name])
        return cls(**values)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


# Checks and parameters of tasks


def check_task(task: Task) -> None:
    """Refuse a direct message without sender, target or content, and a wrong priority or lifetime."""
    if not isinstance(task, Task):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"expected a Task, not {type(task).__name__}")
    required = {
        "source_agent": task.source_agent,
        "target_agent": task.target_agent,
        "parameters.content": task.content.strip(),
    }
    missing = [name for name, value in required.items() if not value]
    if task.action == MESSAGE and missing:
        raise InvalidValue(f"a direct message needs {' and '.join(missing)}: see task {cut(task.task_id)!r}")
    if number(priority_of(task), "parameters.priority", least=0) > 1:
        raise InvalidValue("parameters.priority must be from 0 to 1")
    if task.parameters.get("ttl_seconds") is not None:
        number(task.parameters["ttl_seconds"], "parameters.ttl_seconds", least=0)


def priority_of(task: Task) -> float:
    """`parameters["priority"]`, from 0 to 1."""
    priority = task.parameters.get("priority")
    return _DEFAULT_PRIORITY if priority is None else priority


def is_expired(task: Task) -> bool:
    """Whether the lifetime of the task, `parameters["ttl_seconds"]`, is over."""
    lifetime = task.parameters.get("ttl_seconds")
    return lifetime is not None and task.created_at.timestamp() + lifetime <= now()


def parent_of(task: Task) -> str | None:
    """The id of the parent task."""
    return task.parent_task_id or task.parameters.get("parent_task_id")


def nodes_of(task: Task) -> set[str]:
    """The node that a task names, and the agent that sent it."""
    return {node for node in (task.parameters.get("node_id"), task.source_agent) if node}


# Messages


class ChatMessage(TypedDict):
    """A message for a model."""

    role: Literal["system", "user", "assistant"]
    content: str


class MessageConverter:
    """Converts tasks to messages with a role and content."""

    def convert_task_to_message(self, task: Task) -> ChatMessage | None:
        """The message for a task; `None` for results, unknown actions, and tasks without content."""
        role: Literal["user", "assistant"] = "assistant"
        content = task.content
        match task.action:
            case "execute":
                role = "user"
            case "node.thinking":
                pass
            case "node.tool_call":
                content = f"[Calling {task.parameters.get('tool_name') or 'tool'}({_arguments(task)})]"
            case action if action in AGENT_MESSAGES:
                role = "user"  # another agent wrote it
                heading, name = AGENT_MESSAGES[action]
                sender = f" from {task.source_agent}" if task.source_agent else ""
                text = content or str(task.parameters.get(name) or "")
                content = text and f"[{heading}{sender}] {text}"
            case _:
                return None
        return ChatMessage(role=role, content=content) if content.strip() else None

    def convert_tasks_to_messages(self, tasks: Iterable[Task]) -> list[ChatMessage]:
        """The messages of the tasks that have one, in their order."""
        return [message for message in map(self.convert_task_to_message, tasks) if message is not None]


def _arguments(task: Task) -> str:
    arguments: Mapping[str, Any] | None = task.parameters.get("tool_args")
    if arguments is None:
        return "..."
    return ", ".join(f"{name}={value!r}" for name, value in arguments.items())


# The bus

TaskHandler = Callable[[Task], Any | Awaitable[Any]]
"""A function that runs a task. It returns the result, the task with its result, or `None`."""


class EventBus:
    """The newest published tasks, and the handlers that run them. It exists in this process alone."""

    def __init__(self, max_history: int = 1_000) -> None:
        self.max_history = whole(max_history, "max_history", least=1)
        self._events: dict[str, Task] = {}  # by task id, the newest last
        self._handlers: dict[str, list[TaskHandler]] = {}  # by action
        self._background: set[asyncio.Task[None]] = set()

    def register_handler(self, action: str, handler: TaskHandler) -> None:
        """Add a handler for tasks of an action, after the earlier ones."""
        self._handlers.setdefault(action, []).append(checked_function(handler, "a handler of tasks"))

    async def publish(self, task: Task, wait_result: bool = True) -> Task:
        """Record a task, and run all handlers for its action, one after the other.

        If a handler raises, the task has failed, and the errors are in `task.error`. A task without a handler
        keeps its status. With `wait_result=False` the handlers run in the background; `join` waits for them.
        """
        check_task(task)
        self._events.pop(task.task_id, None)
        self._events[task.task_id] = task
        if len(self._events) > self.max_history:
            del self._events[next(iter(self._events))]
        handlers = tuple(self._handlers.get(task.action, ()))
        if not handlers:
            return task
        task.set_status(TaskStatus.RUNNING)
        if wait_result:
            await _run(task, handlers)
        else:
            running = asyncio.get_running_loop().create_task(_run(task, handlers))
            self._background.add(running)  # an event loop holds its tasks weakly
            running.add_done_callback(self._background.discard)
        return task

    async def join(self) -> None:
        """Wait for the handlers that run in the background."""
        while self._background:
            await asyncio.wait(self._background)

    def query_by_node(
        self, node_id: str, action_filter: str | None = None, limit: int | None = None
    ) -> list[Task]:
        """Tasks that a node sent, or that name it, the newest last."""
        return self._newest(limit, action_filter, node_id=node_id)

    def query_by_action(
        self, action: str, node_filter: str | None = None, limit: int | None = None
    ) -> list[Task]:
        """Tasks of an action, the newest last."""
        return self._newest(limit, action, node_id=node_filter)

    def query_by_task(
        self, task_id: str, action_filter: str | None = None, limit: int | None = None
    ) -> list[Task]:
        """A task and its child tasks, the newest last."""
        return self._newest(limit, action_filter, task_id=task_id)

    def query_recent(
        self,
        limit: int = 10,
        action_filter: str | None = None,
        node_filter: str | None = None,
        session_id: str | None = None,
    ) -> list[Task]:
        """The tasks published last, the newest last; the limit applies after the filters."""
        return self._newest(limit, action_filter, session_id, node_id=node_filter)

    def query_thinking_process(
        self, node_id: str | None = None, task_id: str | None = None, limit: int | None = None
    ) -> list[str]:
        """The contents of thoughts, the newest last."""
        return [task.content for task in self._newest(limit, THINKING, node_id=node_id, task_id=task_id)]

    def query_by_target(
        self,
        target_agent: str | None = None,
        target_node_id: str | None = None,
        action_filter: str | None = None,
        limit: int | None = None,
        session_id: str | None = None,
    ) -> list[Task]:
        """Tasks for an agent or a node that have not expired; highest priority first, then the newest."""

        def is_for_target(task: Task) -> bool:
            by_agent = target_agent and target_agent == task.target_agent
            by_node = target_node_id and target_node_id == task.parameters.get("target_node_id")
            return bool(by_agent or by_node) and not is_expired(task)

        tasks = [task for task in self._newest(None, action_filter, session_id) if is_for_target(task)][::-1]
        tasks.sort(key=lambda task: (priority_of(task), task.created_at.timestamp()), reverse=True)
        return tasks[: None if limit is None else whole(limit, "limit", least=1)]

    def _newest(
        self,
        limit: int | None,
        action: str | None,
        session_id: str | None = None,
        *,
        node_id: str | None = None,
        task_id: str | None = None,
    ) -> list[Task]:
        """The newest tasks that pass all filters, the newest last; `None` is no filter."""
        start = 0 if limit is None else -whole(limit, "limit", least=1)
        return [
            task
            for task in list(self._events.values())
            if action in (None, task.action)
            and session_id in (None, task.session_id)
            and (node_id is None or node_id in nodes_of(task))
            and task_id in (None, task.task_id, parent_of(task))
        ][start:]


async def _run(task: Task, handlers: tuple[TaskHandler, ...]) -> None:
    errors: list[str] = []
    for handler in handlers:
        try:
            result = await maybe_await(handler(task))
        except asyncio.CancelledError:
            task.set_status(TaskStatus.CANCELLED)
            raise
        except Exception as fault:
            errors.append(f"{type(fault).__name__}: {fault}")
            logger.warning("a handler of %s failed: %s", task.action, type(fault).__name__)
            continue
        if isinstance(result, Task):
            task.result, task.error = result.result, result.error or task.error
        elif result is not None:
            task.result = result
    task.error = "; ".join(errors) or task.error
    task.set_status(TaskStatus.FAILED if task.error else TaskStatus.COMPLETED)
