"""Tasks as items of the engine, and back: the whole task goes along in `extras`."""

from collections.abc import Mapping
from typing import Any

from quire.bridges.loom.converting import Spoken, spoken
from quire.bridges.loom.task import Action, Task, address_of, words_said
from quire.errors import WrongType
from quire.items import NOTHING, Item, Message, Note, thaw
from quire.memory import IMPORTANCE
from quire.tokens import number

_TASK, _RESULT = "task", "task_result"
_USUAL = 0.5
_IMPORTANCES: dict[str, float] = {
    Action.ERROR: 0.9,
    Action.PLANNING: 0.8,
    Action.TOOL_RESULT: 0.75,
    Action.TOOL_CALL: 0.7,
    Action.EXECUTE: 0.65,
    Action.COMPLETE: 0.6,
    Action.THINKING: 0.55,
}


def importance_of(task: Task) -> float:
    """How much a task matters: as it says, or else by its action."""
    given = task.metadata.get("importance")
    if given is None:
        return _IMPORTANCES.get(task.action, _USUAL)
    return min(float(number(given, "metadata.importance", least=0)), 1.0)


def item_of(task: Task, item_id: str | None = None) -> Message | Note:
    """A task as an item: what is said to the model is a message, and all else a note."""
    if not isinstance(task, Task):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"expected a Task, not {type(task).__name__}")
    written = task.to_dict() | {"status": str(task.status)}
    own_id = task.task_id if item_id is None else item_id
    extras = {_TASK: written, IMPORTANCE: importance_of(task)}
    return message_of(task, own_id, extras) or Note(
        _told(task),
        description=task.action,
        id=own_id,
        created_at=task.created_at,
        agent_id=task.source_agent or None,
        extras=extras,
    )


def message_of(task: Task, item_id: str | None = None, extras: Mapping[str, Any] = NOTHING) -> Message | None:
    """What a task says to a model; nothing where it says nothing."""
    found = spoken(task)
    if found is None:
        return None
    return Message(
        found.role,
        found.words,
        address=address_of(task),
        id=task.task_id if item_id is None else item_id,
        created_at=task.created_at,
        agent_id=task.source_agent or None,
        extras=extras,
    )


def result_of(task: Task, item: Message | Note) -> Note | None:
    """What a task that is said came to, as a note beside it: it is found by this, too."""
    if task.result is None or isinstance(item, Note):
        return None
    return Note(
        str(task.result),
        id=result_id(item.id),
        created_at=item.created_at,
        agent_id=item.agent_id,
        extras={_RESULT: item.extras[_TASK], IMPORTANCE: 0.0},
    )


def result_id(item_id: str) -> str:
    """The id of the note with what the task of an item came to."""
    return f"{item_id}/result"


def is_result(item: Item) -> bool:
    """Whether it is such a note."""
    return _RESULT in item.extras


def current_item(task: Task, after: float) -> Message:
    """The task to be done now, as what the user says last."""
    found = spoken(task) or Spoken("user", words_said(task) or task.action)
    return Message("user", found.words, id=task.task_id, created_at=max(task.created_at, after))


def task_id_in(item: Item) -> str | None:
    """The id of the task that an item was made of, without all the rest."""
    written: object = item.extras.get(_TASK) or item.extras.get(_RESULT)
    return written["taskId"] if isinstance(written, Mapping) else None  # pyright: ignore


def task_in(item: Item) -> Task | None:
    """The task that an item was made of; none where it was made of something else."""
    written: object = item.extras.get(_TASK) or item.extras.get(_RESULT)
    return Task.from_dict(thaw(written)) if isinstance(written, Mapping) else None


def _told(task: Task) -> str:
    """What a task that is not said is found by."""
    if task.action == Action.TOOL_RESULT:
        named = task.parameters.get("tool_name", "tool")
        return f"{named}: {task.parameters.get('result', task.result)}"
    said = words_said(task) or ", ".join(f"{key}: {value}" for key, value in task.parameters.items())
    came_to = [str(one) for one in (task.result, task.error) if one is not None]
    return "\n".join([said, *came_to])
