"""The command that has a task done by a program that a model writes, or has the program kept."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quire.cli.arguments import AsJson, KeyFile, StoreUrl
from quire.cli.escaping import readable
from quire.cli.files import as_json, write_text
from quire.cli.storing import at_store, place_of
from quire.cli.telling import clear_errors, print_error
from quire.errors import StoreFailed

if TYPE_CHECKING:
    from quire.cli.program_approving import Approving
    from quire.cli.program_files import Defined
    from quire.cli.program_telling import Telling
    from quire.programs import Answer, Coder, KeptProgram, Tell
    from quire.session import Session

_FOLDER = "programs"
_ADDRESS = "me/program"


def program(
    agent_file: Annotated[str, typer.Argument(help="a Python file with a task, or an agent")],
    input: Annotated[list[str] | None, typer.Option(help="name=value, as often as it takes")] = None,
    input_json: Annotated[
        str | None, typer.Option("--input-json", help="a JSON file with the input; - is standard input")
    ] = None,
    model: Annotated[
        str | None, typer.Option(envvar="QUIRE_MODEL", help="who writes; else the file says, or it is local")
    ] = None,
    candidates: Annotated[int, typer.Option(min=1, help="programs that are written side by side")] = 3,
    rounds: Annotated[int, typer.Option(min=1, help="how often each may be written again")] = 3,
    keep: Annotated[bool, typer.Option("--keep", help="keep a program for any input")] = False,
    folder: Annotated[str, typer.Option(help="where programs are kept")] = _FOLDER,
    json: AsJson = False,
    store: StoreUrl = None,
    conversation: Annotated[str | None, typer.Option(help="scope/conversation to record it in")] = None,
    key_file: KeyFile = None,
) -> None:
    """Have a task done by a program that a model writes; attempts, checks, prices and calls are shown."""
    from quire.cli.program_approving import Approving
    from quire.cli.program_files import defined_in, given_to
    from quire.cli.program_telling import Telling
    from quire.cli.terminal import Terminal
    from quire.programs.events import nobody

    with clear_errors(), _session(store, conversation, key_file) as session:
        defined = defined_in(agent_file)
        given = given_to(defined.task, input or (), input_json)
        has_input = bool(given) or not keep
        telling = Telling(Terminal())
        approving, tell = Approving(telling), nobody if json else telling
        coder = _coder(defined, model, session, candidates, rounds, folder if keep else None, approving)
        with _faults_told(telling):
            done = asyncio.run(_done(coder, defined, given if has_input else None, keep, tell))
    write_text(as_json(done if json else done.get("value", done.get("path"))), None)


@contextmanager
def _session(store: str | None, conversation: str | None, key_file: str | None) -> "Generator[Session]":
    """The conversation that is named; where none is, one that nobody keeps."""
    from quire.session import Session

    if store is None and conversation is None:
        yield Session.open(store="memory:")
        return
    with at_store(store, key_file, make=True) as found:
        place = place_of(conversation or _ADDRESS)
        yield Session.open(scope=place.scope, conversation=place.conversation, store=found)


def _coder(
    defined: "Defined",
    name: str | None,
    session: "Session",
    candidates: int,
    rounds: int,
    kept: str | None,
    approver: "Approving",
) -> "Coder":
    from quire.cli.answering_models import model_named
    from quire.programs import Coder

    given = defined.model if name is None else name
    return Coder(
        model_named(given) if given is None or isinstance(given, str) else given,
        session=session,
        candidates=candidates,
        rounds=rounds,
        kept=kept,
        approver=approver,
    )


async def _done(
    coder: "Coder", defined: "Defined", given: dict[str, Any] | None, keep: bool, tell: "Tell"
) -> dict[str, Any]:
    """What there is to say of it at the end."""
    from quire.cli.answering_models import closed
    from quire.programs.values import plain

    try:
        if not keep:
            return _told(await coder.answer(defined.task, given, tell=tell))
        kept = await coder.keep(defined.task, tell=tell)
        if given is not None:
            return {**_kept(kept), "value": plain(await kept.run(given, tell=tell))}
        if kept.path is None:
            raise StoreFailed(
                "the program was written, and could not be kept: there is no place for its file"
            )
        return _kept(kept)
    finally:
        if coder.model is not None:
            await closed(coder.model)


def _told(answer: "Answer") -> dict[str, Any]:
    from quire.programs.values import plain

    tries = [
        {"attempt": tried.attempt, "faults": [*map(str, tried.faults)], "calls": dict(tried.calls)}
        for tried in answer.attempts
    ]
    return {
        "value": plain(answer.value),
        "program": answer.program.code,
        "printed": answer.printed,
        "price": plain(answer.price),
        "attempts": tries,
    }


def _kept(kept: "KeptProgram") -> dict[str, Any]:
    from quire.programs.values import plain

    return {
        "path": None if kept.path is None else str(kept.path),
        "program": kept.program.code,
        "version": kept.version,
        "price": plain(kept.price),
    }


@contextmanager
def _faults_told(telling: "Telling") -> "Generator[None]":
    """Say why no program came to an answer, with exit status 1."""
    from quire.programs import ProgramFailed, ProgramFault

    try:
        try:
            yield
        finally:
            telling.end_line()
    except (ProgramFailed, ProgramFault) as fault:
        _print_fault(fault)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        print_error("this was interrupted")
        raise typer.Exit(1) from None


def _print_fault(fault: Exception) -> None:
    """What became of it, line by line: an error of several attempts has one for each."""
    first, *rest = str(fault).split("\n")
    print_error(first)
    for line in rest:
        typer.secho(readable(line), err=True, fg="red")
