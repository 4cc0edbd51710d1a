"""The command that writes a conversation in another format."""

import os
from contextlib import suppress
from typing import Annotated

import typer

from quire.cli import formats
from quire.cli.arguments import Address, KeyFile, Model, Output, StoreUrl, Transcript
from quire.cli.files import History
from quire.cli.storing import at_store, known_session, recorded
from quire.cli.telling import print_downgrades
from quire.cli.writing import write_json

ITEMS = "items"
AUTO = "auto"

Format = Annotated[str, typer.Option(help="items, openai, openai-responses, anthropic or gemini")]


def known_format(name: str) -> str:
    """A format by the name that conversations are exported under; items are what `convert` calls quire."""
    return formats.guessed(None, formats.OWN if name == ITEMS else name)


def export(
    address: Address,
    format: Format = ITEMS,
    output: Output = None,
    store: StoreUrl = None,
    transcript: Transcript = "main",
    model: Model = None,
    key_file: KeyFile = None,
) -> None:
    """Write a conversation: as items, all that was recorded with its edits; as a payload, what is shown.

    What a format cannot carry is said on standard error.
    """
    with at_store(store, key_file) as found:
        wanted = known_format(format)
        session = known_session(found, address)
        items = list(session.view(transcript))  # an error where there is none
        if wanted == formats.OWN:
            items = recorded(found, session.place, transcript)
        payload, downgrades = formats.written(items, wanted, model=model, tools=[])
        _make_private(output)
        write_json(payload, output)
        print_downgrades(History(None), downgrades)


def _make_private(name: str | None) -> None:
    """Make a file that only its owner reads, as a store is; one that is there already stays as it is."""
    if name not in (None, "-"):
        with suppress(OSError):  # who writes to it says what is wrong
            os.close(os.open(name, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
