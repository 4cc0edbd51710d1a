"""The command that reads histories from files into conversations."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from quire.cli import formats
from quire.cli.arguments import Address, AsJson, KeyFile, Model, StoreUrl, Transcript
from quire.cli.counting import read_items
from quire.cli.escaping import visible
from quire.cli.exporting import AUTO, known_format
from quire.cli.files import History, read_histories
from quire.cli.progress import Advance, progress
from quire.cli.storing import at_store, known_place, place_of, told
from quire.cli.telling import print_note, title
from quire.cli.words import several
from quire.cli.writing import write_json
from quire.errors import Conflict, InvalidValue, QuireError
from quire.items import Item

if TYPE_CHECKING:
    from quire.session import Session
    from quire.stores import Place, Store

_ENDINGS = (".json", ".jsonl")
_MOST_AT_ONCE = 1_000
"""Items between two looks at the bar: it must not cost more than what it tells of."""


class Read(NamedTuple):
    """One history, where it was read and where it goes."""

    title: str
    place: "Place"
    items: list[Item]
    definitions: int


def import_(
    file: Annotated[
        str, typer.Argument(help="a file, a folder of files, or - for standard input", show_default=False)
    ],
    address: Address,
    format: Annotated[
        str, typer.Option(help="auto, items, openai, openai-responses, anthropic or gemini")
    ] = AUTO,
    store: StoreUrl = None,
    transcript: Transcript = "main",
    append: Annotated[bool, typer.Option("--append", help="add to a conversation that is there")] = False,
    model: Model = None,
    key_file: KeyFile = None,
    json: AsJson = False,
) -> None:
    """Read a history of any format into a conversation, all of it or nothing.

    A folder, or a file with a history on each line, becomes several: scope/name-of-file, scope/name-line.
    """
    with told():
        source = None if format == AUTO else known_format(format)
        files = _files(file)
        with progress(2 * len(files)) as advance:
            read = [one for path in files for one in _read(path, file, address, source, model, advance)]
        _check_names(read)
    with at_store(store, key_file, make=True) as found:
        for one in read:
            _check_place(found, one, append)
        with progress(2 * sum(len(one.items) for one in read)) as advance:
            checked = [_checked(found, one, transcript, advance) for one in read]
            for one, expected in zip(read, checked, strict=True):
                _write(found, one, transcript, expected)
                advance("writing", len(one.items))
    _tell(read, json)


def _files(name: str) -> list[str]:
    folder = Path(name)
    if name == "-" or not folder.is_dir():
        return [name]
    files = sorted(str(path) for path in folder.iterdir() if path.suffix.lower() in _ENDINGS)
    if not files:
        raise InvalidValue(f"there is no file in {name} that ends in .json or .jsonl")
    return files


def _read(
    path: str, given: str, address: str, source: str | None, model: str | None, advance: Advance
) -> Iterator[Read]:
    advance("reading", 1)
    histories = read_histories(path)
    advance("reading", 1)
    for history in histories:
        where = title(path, history.line)
        try:
            items = read_items(history._replace(line=None), source, model)
        except QuireError as fault:
            raise InvalidValue(f"{where}: {fault}") from None
        names = ("" if path == given else Path(path).stem, str(history.line or ""))
        place = place_of(address)
        place = place._replace(conversation="-".join(filter(None, (place.conversation, *names))))
        yield Read(where, place, items, len(formats.tools_of(history.payload)))


def _check_names(read: list[Read]) -> None:
    taken: dict[Place, str] = {}
    for one in read:
        if one.place in taken:
            raise InvalidValue(f"{one.title} and {taken[one.place]} would both become {one.place}")
        taken[one.place] = one.title


def _check_place(store: "Store", one: Read, is_added: bool) -> None:
    if not store.version(one.place):
        return
    if not is_added:
        raise Conflict(f"there is a conversation {one.place} already: --append adds to it")
    known_place(store, str(one.place))  # and it can be read with this key


def _checked(store: "Store", one: Read, transcript: str, advance: Advance) -> int:
    """The version that a history can be added to; an error names the item that cannot be."""
    from quire.state import Transcript as Log

    session = _session(store, one)
    log = Log(session.view(transcript).recorded() if transcript in session.transcripts else ())
    for number, item in enumerate(one.items, 1):
        try:
            log.append(item)
        except QuireError as fault:
            raise InvalidValue(f"{one.title}: item {number:,}: {fault}") from None
        if not number % _MOST_AT_ONCE:
            advance("checking", _MOST_AT_ONCE)
    advance("checking", len(one.items) % _MOST_AT_ONCE)
    return session.version


def _write(store: "Store", one: Read, transcript: str, expected: int) -> None:
    _session(store, one).append(*one.items, to=transcript, expected=expected)


def _session(store: "Store", one: Read) -> "Session":
    from quire.session import Session

    scope, conversation = one.place
    return Session.open(scope=scope, conversation=conversation, store=store)


def _tell(read: list[Read], json: bool) -> None:
    if json:
        write_json([{"address": str(o.place), "items": len(o.items), "from": o.title} for o in read])
    for one in read:
        if not json:
            typer.echo(visible(f"{one.place}: {several(len(one.items), 'item')} from {one.title}"))
        if one.definitions:
            left = f"left out, being no part of a conversation: {several(one.definitions, 'tool definition')}"
            print_note(History(None), f"{one.title}: {left}")
