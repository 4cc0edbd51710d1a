"""Running a program: in the sandbox, with the calls of its task, to an answer of its type."""

import logging
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from quire.agent.calls import Approver, having_acted, told_of_calls
from quire.agent.run import shield
from quire.items import Item, Message
from quire.programs.calling import Calls
from quire.programs.check import Program
from quire.programs.events import Answered, Printed, Started, Tell
from quire.programs.faults import LONGEST, ProgramFault
from quire.programs.prompting import RUN, program_in_words, told_of_fault
from quire.programs.recording import ATTEMPT, begin, record_run
from quire.programs.replaying import MadeCalls
from quire.programs.sandbox import Bounds, Sandbox
from quire.programs.task import Task
from quire.programs.values import as_text
from quire.session import Session

logger = logging.getLogger("quire.programs")


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
    stage: Stage, task: Task, program: Program, values: dict[str, Any], transcript: str, tell: Tell
) -> Performance:
    """Run a program. What it does is recorded in a transcript as it happens, and nowhere else."""
    calls = Calls(task, stage.session, transcript, stage.approver, tell, stage.made)
    return await _performed(calls, stage, task, program, values, transcript, tell)


async def perform_in_main(
    stage: Stage, task: Task, program: Program, values: dict[str, Any], tell: Tell
) -> Performance:
    """Run a program that is at hand, in an attempt of its own; where it succeeds, it is all in `main`."""
    said = _said_before(program, values)
    name, _ = await begin(stage.session, ATTEMPT, *said)
    calls = Calls(task, stage.session, name, stage.approver, tell, stage.made)
    try:
        done = await _performed(calls, stage, task, program, values, name, tell)
    except ProgramFault as fault:
        await stage.session.aio.append(Message("user", told_of_fault(fault)), to=name)
        raise _with_calls(fault, calls) from None
    await record_run(stage.session, stage.main, done.deeds, said[0], done.text)
    return done


async def perform_as_tool(
    stage: Stage, task: Task, program: Program, values: dict[str, Any], tell: Tell
) -> Performance:
    """Run a program for whoever records the call of it and what it gave: nothing else is recorded.

    Where it fails, what it had called is, in an attempt: nobody else would ever know of that.
    """
    said = _said_before(program, values)
    calls = Calls(task, stage.session, None, stage.approver, tell, stage.made)
    try:
        return await _performed(calls, stage, task, program, values, task.name, tell)
    except BaseException as fault:
        await shield(_record_failure(stage.session, said, calls, fault))
        if isinstance(fault, ProgramFault):
            raise _with_calls(fault, calls) from None
        raise


async def _performed(
    calls: Calls,
    stage: Stage,
    task: Task,
    program: Program,
    values: dict[str, Any],
    name: str,
    tell: Tell,
) -> Performance:
    tell(Started(name, program))
    try:
        ran = await stage.sandbox.run(
            program.code,
            inputs=task.variables(values),
            functions=calls.functions,
            bounds=stage.bounds,
            tell=lambda text: _ignore(tell(Printed(name, text))),
        )
    except ProgramFault:
        if calls.broken is None:
            raise
        raise _naming_calls(calls.broken, calls) from calls.broken.__cause__
    if calls.broken is not None:
        raise _naming_calls(calls.broken, calls)
    value = _answer(task, ran.value, ran.printed)
    text = as_text(value)
    tell(Answered(name, text))
    return Performance(value, text, ran.printed, tuple(calls.deeds))


def _said_before(program: Program, values: dict[str, Any]) -> tuple[Message, Message, Message]:
    """What stands in an attempt before the calls of a program that is at hand."""
    given = Message("user", as_text(values))
    return given, Message("assistant", program_in_words(program.code)), Message("user", RUN)


async def _record_failure(
    session: Session, said: Sequence[Message], calls: Calls, fault: BaseException
) -> None:
    """Put what was called on the record. Where that cannot be, the fault is still what has to be heard of."""
    called: list[Item] = []
    for call, result, notes in calls.deeds.called():
        called += (call, result, *notes)
    if not called:
        return
    broken_off = f"The program was broken off: {type(fault).__name__}."
    told = told_of_fault(fault) if isinstance(fault, ProgramFault) else broken_off
    try:
        await begin(session, ATTEMPT, *said, *called, Message("user", told))
    except Exception as unkept:  # hooks raise what they like
        kind = type(unkept).__name__
        logger.warning("%d calls of a program that failed are not on the record: %s", len(called), kind)


def _with_calls(fault: ProgramFault, calls: Calls) -> ProgramFault:
    """A fault that also says what was called before: who runs the program again does all of that again."""
    told = _told_of_calls(calls)
    if not told:
        return fault
    text, room = str(fault), max(LONGEST - len(told), 0)
    cause = text if len(text) <= room else f"{text[: room - 1]}…"
    return ProgramFault(fault.kind, cause + told, fault.line, fault.printed, has_acted=True)


def _naming_calls(fault: BaseException, calls: Calls) -> BaseException:
    """What broke a run off, of the type that it is, with words on what was called before."""
    told = _told_of_calls(calls)
    return having_acted(fault, told) if told else fault


def _told_of_calls(calls: Calls) -> str:
    return told_of_calls((call.name, result) for call, result, _ in calls.deeds.called())


def _ignore(_: object) -> None:
    pass


def _answer(task: Task, value: Any, printed: str) -> Any:
    try:
        return task.answer(value)
    except ProgramFault as fault:
        raise ProgramFault(fault.kind, str(fault), fault.line, printed) from None
