"""The command to talk to a model, in a conversation that is kept."""

import logging
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.arguments import KeyFile, StoreUrl
from quire.cli.files import History
from quire.cli.storing import at_store, place_of
from quire.cli.telling import print_note

if TYPE_CHECKING:
    from quire.agent import Agent
    from quire.agent.calls import Approver
    from quire.agent.tools import Tool
    from quire.compactors import Compactor
    from quire.models import AnyModel
    from quire.session import Hook, Session
    from quire.stores import Store

_ADDRESS = "me/chat"
_FOLDER = "quire-files"
_INSTRUCTIONS = "You are a helpful assistant. Answer briefly."


def chat(
    address: Annotated[str, typer.Argument(help="scope/conversation, gone on with or begun")] = _ADDRESS,
    store: StoreUrl = None,
    model: Annotated[
        str | None,
        typer.Option(envvar="QUIRE_MODEL", help="such as openai:gpt-5.6; the embedded one if left out"),
    ] = None,
    instructions: Annotated[str, typer.Option(help="what the model is told before all else")] = _INSTRUCTIONS,
    tools: Annotated[str, typer.Option(help="what it may use: files, time, ask, or several")] = "",
    folder: Annotated[str, typer.Option(help="where the file tools keep what they write")] = _FOLDER,
    key_file: KeyFile = None,
) -> None:
    """Talk to a model; all is kept, and goes on where it was left. In it, /help lists what there is."""
    from quire.cli.answering_models import model_named
    from quire.cli.tool_choice import chosen_tools

    with at_store(store, key_file, make=True) as found:
        place_of(address)
        has_failed = converse(found, address, model_named(model), instructions, chosen_tools(tools, folder))
    if has_failed:
        raise typer.Exit(1)


def converse(store: "Store", address: str, model: "AnyModel", instructions: str, tools: "list[Tool]") -> bool:
    """Talk at the terminal until that ends; whether something failed where nobody was there to see it."""
    from quire.cli.answering_models import closed
    from quire.cli.beside import Beside
    from quire.cli.chat import Chat

    with Beside() as beside, _warnings_told():
        talk = Chat(partial(_opened, store, address), partial(_agent, model, instructions, tools), beside)
        try:
            talk.run()
        finally:
            beside.wait(closed(model))
    return talk.has_failed and not talk.terminal.is_person


def _opened(store: "Store", address: str, hook: "Hook") -> "Session":
    from quire.session import Session

    return Session.open(address, store=store, hooks=[hook])


def _agent(
    model: "AnyModel", instructions: str, tools: "list[Tool]", session: "Session", approver: "Approver"
) -> "Agent":
    from quire.agent import Agent

    return Agent(
        session,
        model=model,
        instructions=instructions,
        tools=tools,
        compactor=_compactor(model),
        approver=approver,
    )


def _compactor(model: "AnyModel") -> "Compactor":
    """Old results cleared, then a summary, before the window is full; a small model is not let write one."""
    from quire.cli.answering_models import is_small
    from quire.compactors import Cascade, ClearToolResults, Summarize, TruncateOldest

    if is_small(model):
        return TruncateOldest(ceiling=0.9)
    return Cascade(ClearToolResults(ceiling=0.7), Summarize(unit="tokens", ceiling=0.8))


class _Notes(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        print_note(History(None), record.getMessage())


@contextmanager
def _warnings_told() -> Generator[None]:
    """Say in a line what the library warns of meanwhile."""
    logger, notes = logging.getLogger("quire"), _Notes(logging.WARNING)
    logger.addHandler(notes)
    try:
        yield
    finally:
        logger.removeHandler(notes)
