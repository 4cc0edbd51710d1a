"""Loom's task: one thing that an agent is to do, does, or tells another."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Any, Self

from quire.errors import InvalidValue, WrongType, cut
from quire.items import FAR_PAST, Address, new_id, now
from quire.tokens import number


class Action(StrEnum):
    """What a task does, where the rest depends on it. A task may do anything else."""

    EXECUTE = "execute"
    THINKING = "node.thinking"
    TOOL_CALL = "node.tool_call"
    TOOL_RESULT = "node.tool_result"
    MESSAGE = "node.message"
    PLANNING = "node.planning"
    ERROR = "node.error"
    COMPLETE = "node.complete"


class TaskStatus(StrEnum):
    """How far a task is."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(slots=True)
class Task:
    """What is to be done or was done. Times are UTC epoch seconds; a `datetime` is taken as well."""

    task_id: str = field(default_factory=new_id)
    source_agent: str = ""
    target_agent: str = ""
    action: str = Action.EXECUTE.value
    parameters: dict[str, Any] = field(default_factory=dict[str, Any])
    status: TaskStatus = TaskStatus.PENDING
    created_at: float = field(default_factory=now)
    updated_at: float | None = None
    result: Any = None
    error: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    parent_task_id: str | None = None
    session_id: str | None = None

    def __post_init__(self) -> None:
        for name in ("task_id", "action"):
            if not isinstance(getattr(self, name), str) or not getattr(self, name):
                raise WrongType(f"Task.{name} is a text that is not empty")
        for name in ("parameters", "metadata"):
            if not isinstance(getattr(self, name), Mapping):
                raise WrongType(f"Task.{name} is a dictionary, not {type(getattr(self, name)).__name__}")
        if self.status not in list(TaskStatus):
            raise InvalidValue(f"Task.status is one of {', '.join(TaskStatus)}")
        self.status = TaskStatus(self.status)
        self.created_at = _seconds(self.created_at, "Task.created_at")
        changed = self.created_at if self.updated_at is None else self.updated_at
        self.updated_at = _seconds(changed, "Task.updated_at")

    def touch(self, status: TaskStatus) -> None:
        """Note how far it is, and when that was."""
        self.status, self.updated_at = status, now()

    def to_dict(self) -> dict[str, Any]:
        """All of it, with the keys that Loom writes."""
        return {key: getattr(self, name) for key, name in _names().items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The task that was written."""
        known = _names()
        unknown = [key for key in data if key not in known]
        if unknown:
            raise InvalidValue(f"a task has no field {cut(str(unknown[0]))!r}")
        return cls(**{known[key]: value for key, value in data.items()})


def words_said(task: Task) -> str:
    """The content of a task in words, as far as it has any."""
    content: object = task.parameters.get("content")
    return content if isinstance(content, str) else "" if content is None else str(content)


def parent_of(task: Task) -> str | None:
    """The task that this one belongs to; a direct message says so in its parameters."""
    return task.parent_task_id or _text(task.parameters.get("parent_task_id"))


def nodes_of(task: Task) -> list[str]:
    """Whose doing it is: the node that it names, and the agent that sent it."""
    return [one for one in (_text(task.parameters.get("node_id")), task.source_agent) if one]


def targets_of(task: Task) -> list[str]:
    """Whom it is for, by agent and by node."""
    return [one for one in (task.target_agent, _text(task.parameters.get("target_node_id"))) if one]


def address_of(task: Task) -> Address | None:
    """Whom a direct message is for, how much it matters and until when it is good; none for other tasks."""
    if task.action != Action.MESSAGE:
        return None
    needed = {
        "source_agent": task.source_agent,
        "target_agent": task.target_agent,
        "parameters.content": words_said(task).strip(),
    }
    missing = [name for name, value in needed.items() if not value]
    if missing:
        raise InvalidValue(f"a direct message needs {' and '.join(missing)}: see task {cut(task.task_id)!r}")
    return Address(task.target_agent, _priority(task), _expiry(task))


def _priority(task: Task) -> float | None:
    given = task.parameters.get("priority")
    if given is None:
        return None
    priority = float(number(given, "parameters.priority", least=0))
    if priority > 1:
        raise InvalidValue("parameters.priority is from 0 to 1")
    return priority


def _expiry(task: Task) -> float | None:
    lives = task.parameters.get("ttl_seconds")
    return (
        None if lives is None else task.created_at + float(number(lives, "parameters.ttl_seconds", least=0))
    )


def _seconds(value: object, what: str) -> float:
    if isinstance(value, datetime):
        return value.timestamp()
    return float(number(value, what, least=FAR_PAST))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


@cache
def _names() -> dict[str, str]:
    """The fields of a task by their keys."""
    return {_camel(one.name): one.name for one in fields(Task)}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
