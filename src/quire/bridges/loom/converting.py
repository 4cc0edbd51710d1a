"""Loom's message converter: what a task is to a model."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple, TypedDict

from msgspec import ValidationError
from msgspec.json import encode

from quire.bridges.loom.task import Action, Task, address_of, words_said


class Said(TypedDict):
    """A message as it is sent."""

    role: Literal["system", "user", "assistant"]
    content: str


class Spoken(NamedTuple):
    """Who says a task to the model, and in which words."""

    role: Literal["user", "assistant"]
    words: str


def spoken(task: Task) -> Spoken | None:
    """A task in words. Results are left out, and so is what has no words: a model is not to echo them."""
    match task.action:
        case Action.EXECUTE:
            found = Spoken("user", words_said(task))
        case Action.THINKING:
            found = Spoken("assistant", words_said(task))
        case Action.TOOL_CALL:
            found = Spoken("assistant", f"[Calling {_name(task)}({_arguments(task)})]")
        case Action.MESSAGE:
            address_of(task)  # one that lacks something is told of, and not left out
            # It was said to this agent, and not by it.
            found = Spoken("user", f"[Direct message from {task.source_agent}] {words_said(task)}")
        case _:
            return None
    return found if found.words.strip() else None


class MessageConverter:
    """Tasks as messages with a role and content."""

    def convert_task_to_message(self, task: Task) -> Said | None:
        """The message of a task; none for results, and for what has no words."""
        found = spoken(task)
        return None if found is None else Said(role=found.role, content=found.words)

    def convert_tasks_to_messages(self, tasks: Iterable[Task]) -> list[Said]:
        """The messages of some tasks, in their order."""
        return [said for task in tasks if (said := self.convert_task_to_message(task)) is not None]


def _name(task: Task) -> str:
    return str(task.parameters.get("tool_name") or task.parameters.get("tool") or "tool")


def _arguments(task: Task) -> str:
    """The arguments of a call; three dots where nobody said what they are."""
    given: Any = task.parameters.get("tool_args", task.parameters.get("arguments"))
    if given is None:
        return "..."
    if not isinstance(given, Mapping):
        return str(given)
    return ", ".join(f"{name}={_written(value)}" for name, value in given.items())  # pyright: ignore


def _written(value: object) -> str:
    try:
        return encode(value).decode()
    except (TypeError, ValueError, ValidationError):
        return repr(value)
