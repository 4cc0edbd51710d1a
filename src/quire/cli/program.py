"""The command `program`: a model writes a program that does a task, and the program can be kept."""

import asyncio
import json as json_module
import runpy
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from quire.agent import Agent
from quire.cli.chat import approved, closed, model_named
from quire.cli.options import AsJson, KeyFile, StoreUrl
from quire.cli.phrases import beginning, call, named, outcome, plural
from quire.cli.stores import at_store
from quire.cli.terminal import Terminal, error, errors_reported, read_bytes, say, write_json
from quire.errors import Damaged, InvalidValue, QuireError, cut
from quire.items import Message, ToolCall
from quire.models import AnyModel
from quire.programs import (
    REPLAYED,
    Answer,
    Answered,
    Asked,
    Called,
    Checked,
    Coder,
    Event,
    Faulted,
    Found,
    Gave,
    KeptProgram,
    Printed,
    ProgramFailed,
    ProgramFault,
    SetAside,
    Started,
    Task,
    Written,
)
from quire.programs.values import plain
from quire.providers import fields_in
from quire.sections import Instructions
from quire.session import Session
from quire.stores.threads import COMPUTING

_FOLDER = "programs"
_ADDRESS = "me/program"
_LONGEST_FAULT = 400


class Watching:
    """Shows what happens to programs on standard error, and asks the person to approve calls."""

    def __init__(self, *, is_silent: bool) -> None:
        self._is_silent = is_silent
        self._terminal = Terminal()
        self._printed = ""
        self._asking = asyncio.Lock()

    def __call__(self, event: Event) -> None:
        """Show an event on a line; lines that a program prints begin with a bar."""
        if self._is_silent:
            return
        if isinstance(event, Printed):
            *lines, self._printed = (self._printed + event.text).split("\n")
            for line in lines:
                self._terminal.note(f"  | {line}")
            return
        self.end_line()
        self._terminal.note(_phrased(event))

    def end_line(self) -> None:
        """Show what was printed without the end of its line."""
        if self._printed:
            self._terminal.note(f"  | {self._printed}")
            self._printed = ""

    async def approve(self, made: ToolCall) -> bool | str:
        """Ask the person, one call at a time; without a person nothing is approved."""
        if not self._terminal.is_person:
            return "nobody is there to approve of it"
        async with self._asking:
            return await COMPUTING.do(approved, self._terminal, made)


def _phrased(event: Event) -> str:
    """Something that happened to a program, on one line; what it prints is shown as it is."""
    match event:
        case Printed():
            return event.text
        case Found():
            return "kept before" if event.path is None else f"kept before in {event.path}: no model is asked"
        case SetAside():
            return f"{event.path} is set aside: {beginning(event.why, _LONGEST_FAULT)}"
        case Called():
            return f"· {call(event.call)}"
        case Asked():
            return f"· asks {named(event.model)}, in {named(event.transcript)}"
        case Gave():
            before = ", made before" if REPLAYED in event.result.extras else ""
            return f"· {outcome(event.result, before)}"
        case Written():
            lines = plural(len(event.text.strip().splitlines()), "line")
            return f"{named(event.attempt)}: round {event.round}, {lines} written"
        case Checked():
            money, calls = event.price.money, plural(round(event.price.calls), "call")
            price = f"{money:.4f} USD, {calls}" if money else calls
            return f"{named(event.attempt)}: passed the checks, about {price}"
        case Faulted():
            fault = getattr(event.fault, "kind", type(event.fault).__name__)
            return f"{named(event.attempt)}: {fault}: {beginning(str(event.fault), _LONGEST_FAULT)}"
        case Started():
            return f"{named(event.attempt)}: runs"
        case Answered():
            return f"{named(event.attempt)}: answered"


def program(
    agent_file: Annotated[str, typer.Argument(help="a Python file that defines a task or an agent")],
    input: Annotated[list[str] | None, typer.Option(help="name=value; may be repeated")] = None,
    input_json: Annotated[
        str | None, typer.Option("--input-json", help="a JSON file with the input; - is standard input")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(envvar="QUIRE_MODEL", help="writes the program; by default the model of the file"),
    ] = None,
    candidates: Annotated[int, typer.Option(min=1, help="programs that are written side by side")] = 3,
    rounds: Annotated[int, typer.Option(min=1, help="how often each may be rewritten")] = 3,
    keep: Annotated[bool, typer.Option("--keep", help="keep a program for any input")] = False,
    folder: Annotated[str, typer.Option(help="where programs are kept")] = _FOLDER,
    json: AsJson = False,
    store: StoreUrl = None,
    conversation: Annotated[str | None, typer.Option(help="scope/conversation to record it in")] = None,
    key_file: KeyFile = None,
) -> None:
    """Have a model write a program that does a task; attempts, checks, prices and calls are shown."""
    with errors_reported(), _session(store, conversation, key_file) as session:
        task, of_file = _defined_in(agent_file)
        given = _input(task, input or (), input_json)
        writer = model or of_file
        watching = Watching(is_silent=json)
        coder = Coder(
            model_named(writer) if writer is None or isinstance(writer, str) else writer,
            session=session,
            candidates=candidates,
            rounds=rounds,
            kept=folder if keep else None,
            approver=watching.approve,
        )
        with _faults_reported():
            done = asyncio.run(_done(coder, task, given, keep, watching))
        write_json(done if json else done.get("value", done.get("path")))


async def _done(
    coder: Coder, task: Task, given: dict[str, Any], keep: bool, tell: Watching
) -> dict[str, Any]:
    try:
        if not keep:
            return _answer_as_data(await coder.answer(task, given, tell=tell))
        kept = await coder.keep(task, tell=tell)
        value = {"value": plain(await kept.run(given, tell=tell))} if given else {}
        return {**_program_as_data(kept), **value}
    finally:
        tell.end_line()
        if coder.model is not None:
            await closed(coder.model)


def _answer_as_data(answer: Answer) -> dict[str, Any]:
    tries = [
        {"attempt": tried.attempt, "faults": [*map(str, tried.faults)], "calls": dict(tried.calls)}
        for tried in answer.attempts
    ]
    return {
        "value": plain(answer.value),
        "program": answer.code,
        "printed": answer.printed,
        "price": plain(answer.price),
        "attempts": tries,
    }


def _program_as_data(kept: KeptProgram) -> dict[str, Any]:
    return {
        "path": str(kept.path),
        "program": kept.code,
        "version": kept.version,
        "price": plain(kept.price),
    }


@contextmanager
def _session(store: str | None, conversation: str | None, key_file: str | None) -> Generator[Session]:
    """The conversation that is named; without a name, one in memory."""
    if store is None and conversation is None:
        yield Session.open(store="memory:")
        return
    with at_store(store, key_file, make=True) as found:
        yield Session.open(conversation or _ADDRESS, store=found)


@contextmanager
def _faults_reported() -> Generator[None]:
    """Report why no program succeeded, with exit status 1."""
    try:
        yield
    except (ProgramFailed, ProgramFault) as fault:
        first, *rest = str(fault).split("\n")  # a line for each attempt
        error(first)
        for line in rest:
            say(line, to_errors=True, fg="red")
    except KeyboardInterrupt:
        error("this was interrupted")
    else:
        return
    raise typer.Exit(1)


# The task and its input


def _defined_in(file: str) -> tuple[Task, AnyModel | str | None]:
    """The `task` of a Python file, or that of its `agent`, and the `model` that writes."""
    names = _run(file)
    task, agent, model = (names.get(name) for name in ("task", "agent", "model"))
    if isinstance(task, Task):
        return task, model
    if isinstance(agent, Agent):
        return Task(agent.name, _instructions(agent), tools=agent.tools), model or agent.model
    raise InvalidValue(f"{file} defines no `task` that is a quire.programs.Task, and no `agent`")


def _run(file: str) -> dict[str, Any]:
    """The names that a Python file defines; it can import from its own folder."""
    if not Path(file).is_file():
        raise InvalidValue(f"there is no file {file}")
    sys.path.insert(0, folder := str(Path(file).resolve().parent))
    try:
        return runpy.run_path(file, run_name="quire_program")
    except QuireError:
        raise
    except (Exception, SystemExit) as fault:
        raise InvalidValue(f"{file} cannot be run: {type(fault).__name__}: {fault}") from fault
    finally:
        sys.path.remove(folder)


def _instructions(agent: Agent) -> str:
    async def read() -> list[Any]:
        sections = (one for one in agent.speaker.template.sections if isinstance(one, Instructions))
        return [item for section in sections for item in await section.items(cast(Any, None))]

    return "\n\n".join(item.text for item in asyncio.run(read()) if isinstance(item, Message))


def _input(task: Task, pairs: Sequence[str], file: str | None) -> dict[str, Any]:
    """The fields of a JSON file, and over them `name=value` pairs."""
    given = {} if file is None else _fields(file)
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise InvalidValue(f"an input is given as name=value, not as {cut(pair)!r}")
        given[name] = _value(text, task.input.get("properties", {}).get(name, {}))
    return given


def _value(text: str, schema: Mapping[str, Any]) -> Any:
    """A text where the schema wants one or the value is not JSON; else the JSON value."""
    if schema.get("type") == "string":
        return text
    try:
        return json_module.loads(text)
    except (ValueError, RecursionError):
        return text


def _fields(file: str) -> dict[str, Any]:
    try:
        value = json_module.loads(read_bytes(file))
    except (ValueError, RecursionError):
        raise Damaged("it is not JSON", file) from None
    if not isinstance(value, dict):
        raise Damaged("the input is an object with a value for each name", file)
    return fields_in(value)
