"""What a Python file says of a task, and what is given to it on the command line."""

import json
import runpy
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast

from quire.agent import Agent
from quire.agent.tools import Misfit, read_value
from quire.cli.files import fields_of
from quire.errors import Damaged, InvalidValue, QuireError, cut
from quire.items import Message
from quire.models import AnyModel
from quire.programs import Task
from quire.sections import Ask, Instructions


class Defined(NamedTuple):
    """A task, and the model that its file names, if it names one."""

    task: Task
    model: AnyModel | str | None


def defined_in(file: str) -> Defined:
    """The `task` of a Python file, or what its `agent` is told and may use; `model` is who writes."""
    names = _run(file)
    task, agent, model = (names.get(name) for name in ("task", "agent", "model"))
    if isinstance(task, Task):
        return Defined(task, model)
    if isinstance(given := getattr(agent, "task", None), Task):
        return Defined(given, model)  # an agent of a bridge, which is a task to the engine
    if isinstance(agent, Agent):
        return Defined(Task(agent.name, _told(agent), tools=agent.tools), model or agent.model)
    raise InvalidValue(f"{file} defines no `task` that is a quire.programs.Task, and no `agent`")


def given_to(task: Task, pairs: Sequence[str], file: str | None) -> dict[str, Any]:
    """What a task is given: the fields of a JSON file, and over them `name=value` pairs."""
    given = {} if file is None else _fields(file)
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise InvalidValue(f"an input is given as name=value, not as {cut(pair)!r}")
        given[name] = _value(text, task.input.get("properties", {}).get(name, {}))
    return given


def _value(text: str, schema: Mapping[str, Any]) -> Any:
    """A value as it is typed: words where a text is wanted, and JSON where it is none."""
    if schema.get("type") == "string":
        return text
    try:
        return read_value(text)
    except Misfit:
        return text


def _fields(file: str) -> dict[str, Any]:
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        value = json.loads(data)
    except OSError as fault:
        raise Damaged(f"it cannot be read: {fault.strerror}", file) from None
    except (ValueError, RecursionError):
        raise Damaged("it is not JSON", file) from None
    if not isinstance(value, dict):
        raise Damaged("what is given is an object, with a value for each input", file)
    return fields_of(cast(Any, value))


def _run(file: str) -> dict[str, Any]:
    """The names that a file defines, with its own folder to import from."""
    if not Path(file).is_file():
        raise InvalidValue(f"there is no file {file}")
    with _importing_from(str(Path(file).resolve().parent)):
        try:
            return runpy.run_path(file, run_name="quire_program")
        except QuireError:
            raise
        except (Exception, SystemExit) as fault:
            raise InvalidValue(f"{file} cannot be run: {type(fault).__name__}: {fault}") from fault


@contextmanager
def _importing_from(folder: str) -> Generator[None]:
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


def _told(agent: Agent) -> str:
    """The instructions of an agent, in words."""
    sections = (one for one in agent.speaker.template.sections if isinstance(one, Instructions))
    items = [item for section in sections for item in _items(section)]
    return "\n\n".join(item.text for item in items if isinstance(item, Message))


def _items(section: Instructions) -> Sequence[Any]:
    reading = section.items(cast(Ask, None))  # they are the same whatever is asked
    try:
        reading.send(None)
    except StopIteration as done:
        return cast("Sequence[Any]", done.value)
    return ()
