"""The commands `export`, `import` and `copy`, and the check of a store."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from quire.cli.histories import read_histories
from quire.cli.options import Address, AsJson, File, KeyFile, Output, StoreUrl, Transcript
from quire.cli.phrases import listed, plural, title
from quire.cli.stores import at_store, key_in, path_of
from quire.cli.terminal import errors_reported, note, say, write_json, write_lines, write_text
from quire.errors import Conflict, InvalidValue, QuireError, StoreFailed, Unencodable
from quire.integrations.logs import WRITTEN, Target, write_conversation
from quire.integrations.logs.formats import WITH_LOG
from quire.integrations.logs.histories import OWN, History
from quire.integrations.logs.repair import located, render
from quire.items import Item
from quire.providers import Downgrade, Fault, provider_for
from quire.reading import Source
from quire.reading.archive import write_archive
from quire.reading.files import append_history
from quire.session import Session
from quire.state import Transcript as Log, as_imported
from quire.stores import Entry, Place, Store, place_at
from quire.stores.salvage import check, salvage

ReadFormat = Annotated[
    str | None,
    typer.Option("--format", help="the format to read, or the kind of log; guessed by default"),
]

_MAX_NOTES = 20
"""The most faults of a history that are printed, and the most repairs."""

_FROM_OUTSIDE = (
    "its user and system messages are text from outside: requests show them to the model in a frame, the "
    "system's as the user's. If the history is your own, import it with --trust"
)


# export and import


def export(
    address: Annotated[
        str | None, typer.Argument(help="scope/conversation, in place of --scope", show_default=False)
    ] = None,
    format: Annotated[str, typer.Option(help=", ".join(WRITTEN))] = OWN,
    output: Output = None,
    whole: Annotated[
        bool | None,
        typer.Option(
            "--log/--view",
            help="everything recorded, or what is shown; by default the log where the format has compactions",
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="the model that continues: its own sealed reasoning is kept")
    ] = None,
    scope: Annotated[
        str | None, typer.Option(help="write a whole scope, with all nested scopes, as one archive")
    ] = None,
    store: StoreUrl = None,
    transcript: Transcript = "main",
    key_file: KeyFile = None,
) -> None:
    """Write a conversation: as items, as a provider's payload, or as a session that another program resumes.

    What the format cannot carry is reported on standard error, item by item. With --scope, write every entry
    of all conversations of a user or a tenant as a zip archive.
    """
    with at_store(store, key_file) as opened:
        if address is None or scope is not None:
            if address is not None:
                raise InvalidValue("name a conversation, or a scope by --scope: one of the two")
            _archive(opened, scope, output)
            return
        items = Source(opened).session(address).view(transcript).recorded()
        is_whole = format in WITH_LOG if whole is None else whole
        written = write_conversation(items, format, Target(address, str(Path.cwd()), model, is_whole))
        if isinstance(written.content, str):
            write_text(written.content, output)
        elif isinstance(written.content, list) and written.has_lines:
            write_lines(written.content, output)
        else:
            write_json(written.content, output)
        for downgrade in written.downgrades:
            note(str(downgrade))
        if written.hint:
            note(written.hint)


def _archive(store: Store, scope: str | None, output: str | None) -> None:
    if scope is None or output in (None, "-"):
        raise InvalidValue("name a conversation, or a scope with the file to write: --scope S --output S.zip")
    try:
        contents = write_archive(store, scope, Path(output or ""))
    except OSError as fault:
        raise Unencodable(f"cannot be written: {fault.strerror}", output) from None
    entries = plural(sum(row.entries for row in contents), "entry", "entries")
    say(f"{output}: {entries} of {plural(sum(row.conversations for row in contents), 'conversation')}")


def import_(
    file: File,
    address: Address,
    format: ReadFormat = None,
    store: StoreUrl = None,
    append: Annotated[bool, typer.Option("--append", help="add to a conversation that exists")] = False,
    trust: Annotated[
        bool,
        typer.Option("--trust", help="its user and system messages are your own, not from outside"),
    ] = False,
    key_file: KeyFile = None,
    json: AsJson = False,
) -> None:
    """Read a history of any format into a conversation, all of it or nothing.

    A file with a history on each line becomes several conversations: scope/conversation-line. So does a log
    with several, such as those of sub-agents.
    """
    with errors_reported():
        histories = list(read_incoming(file, place_at(address), format))
    with at_store(store, key_file, make=True) as opened:
        versions = {incoming.place: opened.version(incoming.place) for incoming in histories}
        if existing := [place for place in versions if versions[place] and not append]:
            raise Conflict(f"there is a conversation {existing[0]} already: --append adds to it")
        for incoming in histories:
            session = Session.open(str(incoming.place), store=opened)
            recorded = incoming.items if trust else as_imported(incoming.items)
            append_history(session, incoming.history, recorded, versions[incoming.place])
    if json:
        write_json(
            [
                {
                    "address": str(incoming.place),
                    "items": len(incoming.items),
                    "from": incoming.title,
                    "format": incoming.format,
                    "faults": [fault._asdict() for fault in incoming.faults],
                    "repairs": [repair.reason for repair in incoming.repairs],
                }
                for incoming in histories
            ]
        )
    for incoming in histories:
        if not json:
            items = plural(len(incoming.items), "item")
            say(f"{incoming.place}: {items} from {incoming.title}, in the format {incoming.format}")
        if incoming.definitions:
            definitions = plural(incoming.definitions, "tool definition")
            note(f"{incoming.title}: left out, because they are no part of a conversation: {definitions}")
        if not trust and as_imported(incoming.items) != incoming.items:
            note(f"{incoming.title}: {_FROM_OUTSIDE}")
        if not json:
            note_faults(incoming)


def note_faults(incoming: "Incoming") -> None:
    """Print the faults of a history, and how requests repair them; the items are stored unchanged."""
    for fault in incoming.faults[:_MAX_NOTES]:
        note(f"{incoming.title}: broken: {fault}")
    for repair in incoming.repairs[:_MAX_NOTES]:
        note(f"{incoming.title}: repaired in each request: {repair.reason} ({repair.change})")
    more = len(incoming.faults[_MAX_NOTES:]) + len(incoming.repairs[_MAX_NOTES:])
    if more:
        note(f"{incoming.title}: and {plural(more, 'line')} more; --json lists all")


class Incoming(NamedTuple):
    """A history to import, with a `title` for messages and the number of its tool `definitions`."""

    title: str
    format: str
    place: Place
    history: History
    items: list[Item]
    definitions: int
    faults: list[Fault]
    repairs: tuple[Downgrade, ...]


def read_incoming(file: str, place: Place, source: str | None) -> Iterator[Incoming]:
    """The histories in a file, each with its place."""
    for history in read_histories(file, source):
        where = title(file, history.line)
        try:
            items = history._replace(line=None).items(source)
            Log(items)  # an error if an edit has no target
        except QuireError as fault:
            raise InvalidValue(f"{where}: {fault}") from None
        names = (place.conversation, str(history.line or ""))
        target = place_at(scope=place.given_scope, conversation="-".join(filter(None, names)))
        format = history.log.format if history.log is not None else history.format(source)
        faults = _faults_and_repairs(history, source, items)
        yield Incoming(where, format, target, history, items, len(history.tools), *faults)


def _faults_and_repairs(
    history: History, source: str | None, items: list[Item]
) -> tuple[list[Fault], tuple[Downgrade, ...]]:
    """The faults of a history in its own format, and how a request of that format repairs them."""
    wire = history.format(source)
    faults = [] if wire == OWN else provider_for(wire).check(history.payload)
    if not faults:
        return [], ()
    return faults, located(history, wire, items, render(items, wire, tools=history.tools)[1])


# copy


def copy(
    source: Annotated[str, typer.Argument(help="the URL or path of a store", show_default=False)],
    target: Annotated[str, typer.Argument(help="the store to copy to", show_default=False)],
    key_file: KeyFile = None,
    target_key_file: Annotated[
        str | None, typer.Option("--target-key-file", help="the key to seal the copy with")
    ] = None,
    json: AsJson = False,
) -> None:
    """Copy every conversation of a store into another one, entry by entry, and compare the two.

    Nothing is overwritten. Without keys a sealed store stays sealed; with its key the copy is in clear.
    """
    with at_store(source, key_file) as original:
        _check_apart(source, target)
        with at_store(target, target_key_file, make=True) as other:
            copied, entries, existing = _copy(original, other)
    if json:
        write_json({"copied": copied, "entries": entries, "there": existing})
        return
    say(f"{plural(copied, 'conversation')} copied, {plural(entries, 'entry', 'entries')}, all verified")
    if existing:
        say(f"{plural(existing, 'conversation')} had been copied already")


def _copy(source: Store, target: Store) -> tuple[int, int, int]:
    """Copy the conversations that the target lacks: return their number and entries, and the number it had.

    Each conversation is copied whole, so an interrupted copy can be repeated. If the target has a different
    conversation of the same name, nothing is copied.
    """
    places = source.places()
    existing = [place for place in places if target.version(place)]
    different = [str(place) for place in existing if _rows(source, place) != _rows(target, place)]
    if different:
        raise Conflict(f"the target has other conversations of the same names: {listed(different)}")
    missing = [place for place in places if place not in existing]
    entries = 0
    for place in missing:
        version = 0
        while stored := source.read(place, after=version):  # also entries that are added meanwhile
            copies = [Entry(entry.stream, entry.body) for entry in stored]
            version = target.append(place, copies, expected=version)
        entries += version
    for place in missing:
        if _rows(source, place) != _rows(target, place):
            raise Conflict(f"{place} was written to while it was copied: the copy is not the same")
    return len(missing), entries, len(existing)


def _rows(store: Store, place: Place) -> list[tuple[str, bytes]]:
    """The entries of a conversation, without line breaks in bodies: stores of JSON lines replace these."""
    breaks = bytes.maketrans(b"\r\n", b"  ")
    return [(stored.stream, stored.body.translate(breaks).strip()) for stored in store.read(place)]


def _check_apart(source: str, target: str) -> None:
    paths = [path and path.resolve() for path in (path_of(source), path_of(target))]
    if source == target or (paths[0] is not None and paths[0] == paths[1]):
        raise InvalidValue("a store cannot be copied into itself")


# check of a store


def check_store(source: str, key_file: str | None, target: str | None, json: bool) -> None:
    """Report damage to a store, and write everything readable to a new one."""
    with errors_reported():
        path = path_of(source)
        if path is not None and not path.exists():
            raise StoreFailed(f"there is no store at {path}")
        key = key_in(key_file)
        damage, salvaged = check(source, key=key), None
        if target is not None:
            _check_apart(source, target)
            with at_store(target, key_file, make=True) as other:
                salvaged = salvage(source, other, key=key)
        if json:
            rows = [{**row._asdict(), "place": row.place and str(row.place)} for row in damage]
            write_json({"damage": rows, "salvaged": salvaged and salvaged._asdict()})
        else:
            say("\n".join(row.reason for row in damage) or "the store is whole")
            if salvaged is not None:
                entries = plural(salvaged.entries, "entry", "entries")
                conversations = plural(salvaged.conversations, "conversation")
                say(f"{entries} of {conversations} written, {salvaged.lost:,} lost")
    raise typer.Exit(1 if damage else 0)
