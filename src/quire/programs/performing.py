"""Running a program: in the sandbox, with the calls of its task, to an answer of its type."""

from collections.abc import Callable
from typing import Any, NamedTuple

from quire.agent.speaker import Approver
from quire.items import Item, Message
from quire.programs.bounds import Bounds
from quire.programs.calling import Calls
from quire.programs.checking import Program
from quire.programs.events import Answered, Printed, Started, Tell
from quire.programs.faults import ProgramFault
from quire.programs.prompting import RUN, program_in_words, told_of_fault
from quire.programs.recording import ATTEMPT, begin, record_run
from quire.programs.replaying import MadeCalls
from quire.programs.sandbox import Sandbox
from quire.programs.task import Task
from quire.programs.values import as_text
from quire.session import Session


class Stage(NamedTuple):
    """Where programs are run: the conversation that they belong to, and what they may.

    `main` is the transcript of what succeeded, or says which it is when there is something to record. `made`
    are the calls that were made for the same answer.
    """

    session: Session
    main: str | Callable[[], str]
    sandbox: Sandbox
    bounds: Bounds
    approver: Approver | None
    made: MadeCalls | None = None


class Performance(NamedTuple):
    """A run that came to an answer."""

    value: Any
    text: str
    printed: str
    deeds: tuple[Item, ...]


async def perform(
    stage: Stage, task: Task, program: Program, values: dict[str, Any], transcript: str | None, tell: Tell
) -> Performance:
    """Run a program. What it does is recorded in a transcript, where there is one, and nowhere else."""
    calls = Calls(task, stage.session, transcript, stage.approver, tell, stage.made)
    name = transcript or task.name
    tell(Started(name, program))
    try:
        ran = await stage.sandbox.run(
            program.code,
            inputs=task.variables(values),
            functions=calls.functions,
            bounds=stage.bounds,
            tell=lambda text: _ignore(tell(Printed(name, text))),
        )
    except ProgramFault as fault:
        raise calls.broken or fault from None
    if calls.broken is not None:
        raise calls.broken
    value = _answer(task, ran.value, ran.printed)
    text = as_text(value)
    tell(Answered(name, text))
    return Performance(value, text, ran.printed, tuple(calls.deeds))


async def perform_in_main(
    stage: Stage, task: Task, program: Program, values: dict[str, Any], tell: Tell
) -> Performance:
    """Run a program that is at hand, in an attempt of its own; where it succeeds, it is all in `main`."""
    given = Message("user", as_text(values))
    written = Message("assistant", program_in_words(program.code))
    name, _ = await begin(stage.session, ATTEMPT, given, written, Message("user", RUN))
    try:
        done = await perform(stage, task, program, values, name, tell)
    except ProgramFault as fault:
        await stage.session.add(Message("user", told_of_fault(fault)), to=name)
        raise
    await record_run(stage.session, stage.main, done.deeds, given, done.text)
    return done


def _ignore(_: object) -> None:
    pass


def _answer(task: Task, value: Any, printed: str) -> Any:
    try:
        return task.answer(value)
    except ProgramFault as fault:
        raise ProgramFault(fault.kind, str(fault), fault.line, printed) from None
