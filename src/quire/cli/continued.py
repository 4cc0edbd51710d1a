"""The command `continue`: continues a session of another program in a chat."""

from pathlib import Path
from typing import Annotated

import typer

from quire.cli.chat import (
    FOLDER,
    INSTRUCTIONS,
    Folder,
    InstructionsText,
    ModelName,
    ToolGroups,
    converse,
    model_named,
    tools_named,
)
from quire.cli.options import File, KeyFile, StoreUrl
from quire.cli.phrases import plural
from quire.cli.stores import at_store
from quire.cli.terminal import errors_reported, note
from quire.cli.transfer import Incoming, ReadFormat, note_faults, read_incoming
from quire.errors import Conflict
from quire.items import Item, kind_of
from quire.reading.files import append_history
from quire.session import Session
from quire.stores import Store, place_at


def continue_(
    file: File,
    address: Annotated[
        str | None,
        typer.Option("--as", help="scope/conversation to store it as; by default me and the file's name"),
    ] = None,
    format: ReadFormat = None,
    store: StoreUrl = None,
    model: ModelName = None,
    instructions: InstructionsText = INSTRUCTIONS,
    tools: ToolGroups = "",
    folder: Folder = FOLDER,
    key_file: KeyFile = None,
) -> None:
    """Continue a conversation that another program wrote: its log, its messages, or its requests.

    The file stays as it is. The next time, the conversation continues where it ended here.
    """
    with errors_reported():
        place = place_at(address) if address else place_at(scope="me", conversation=Path(file).stem)
        incoming, *others = read_incoming(file, place, format)
        incoming = incoming._replace(place=place)
    if others:
        note(f"{file}: the first of {plural(len(others) + 1, 'conversation')} is continued")
    with at_store(store, key_file, make=True) as opened:
        _import(opened, incoming)
        failed = converse(opened, str(place), model_named(model), instructions, tools_named(tools, folder))
    if failed:
        raise typer.Exit(1)


def _import(store: Store, incoming: Incoming) -> None:
    """Import a file the first time; later, refuse one that differs from what was imported."""
    version, session = store.version(incoming.place), Session.open(str(incoming.place), store=store)
    if not version:
        append_history(session, incoming.history, incoming.items, version)
        note_faults(incoming)
        return
    imported = session.view().recorded()[: len(incoming.items)]
    if list(map(_content, imported)) != list(map(_content, incoming.items)):
        difference = f"{incoming.place} does not begin with what {incoming.title} has now"
        raise Conflict(f"{difference}: name another address with --as")


def _content(item: Item) -> tuple[str, str | None, str | None]:
    return kind_of(item), getattr(item, "text", None), getattr(item, "arguments", None)
