"""The commands that print a conversation entry by entry: its log, and what is added to it."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from quire.cli.arguments import Address, AsJson, KeyFile, StoreUrl
from quire.cli.escaping import visible_json
from quire.cli.explaining import called
from quire.cli.files import History, as_line
from quire.cli.storing import at_store, known_place, place_of
from quire.cli.telling import print_note
from quire.cli.words import deed, moment, named
from quire.cli.writing import write_json
from quire.items import JSON, Item, Undo, kind_of

if TYPE_CHECKING:
    from quire.stores import Place, Store, Stored

_PATIENCE = 0.5
"""Seconds to wait for an entry before waiting again: an interrupt is heard between."""

After = Annotated[int | None, typer.Option(min=0, help="only what comes after this version")]


def log(
    address: Address,
    store: StoreUrl = None,
    after: After = None,
    key_file: KeyFile = None,
    json: AsJson = False,
) -> None:
    """Print every entry of a conversation, in order, with its edits and what they do."""
    with at_store(store, key_file) as found:
        entries = list(_read(known_place(found, address), found))
        undone = _undone(entries)
        shown = [entry for entry in entries if entry[0].version > (after or 0)]
        if json:
            write_json([_as_data(*entry, undone) for entry in shown])
        else:
            for entry in shown:
                typer.echo(_line(*entry, undone))


def follow(
    address: Address,
    store: StoreUrl = None,
    after: After = None,
    key_file: KeyFile = None,
    json: Annotated[bool, typer.Option("--json", help="print each entry as JSON on a line")] = False,
) -> None:
    """Print what is added to a conversation as it comes, whoever adds it, until it is interrupted."""
    try:
        with at_store(store, key_file) as found:
            place = place_of(address)
            version = found.version(place)
            if version:
                known_place(found, address)
            else:
                print_note(History(None), f"{place}: there is nothing yet")
            for stored, item in _coming(found, place, version if after is None else after):
                line = as_line(_as_data(stored, item, set())) if json else f"{_line(stored, item, set())}\n"
                typer.echo(visible_json(line) if json else line, nl=False)
    except KeyboardInterrupt:
        raise typer.Exit(0) from None  # that is how it ends


def _coming(store: "Store", place: "Place", version: int) -> "Iterator[tuple[Stored, Item]]":
    while True:
        for stored, item in _read(place, store, version):
            version = stored.version
            yield stored, item
        if store.wait(place, version, _PATIENCE) < version:
            print_note(History(None), f"{place} was forgotten")
            version = 0


def _read(place: "Place", store: "Store", after: int = 0) -> "Iterator[tuple[Stored, Item]]":
    from quire.stores import items_in

    stored = store.read(place, after=after)
    return zip(stored, items_in(place, stored), strict=True)


def _undone(entries: "Sequence[tuple[Stored, Item]]") -> set[tuple[str, str]]:
    """The edits that are taken back, by stream and id: of an edit and its undo, the last word counts."""
    undone: set[tuple[str, str]] = set()
    for stored, item in reversed(entries):
        if isinstance(item, Undo) and (stored.stream, item.id) not in undone:
            undone.add((stored.stream, item.target))
    return undone


def _line(stored: "Stored", item: Item, undone: set[tuple[str, str]]) -> str:
    mark = "[undone] " if (stored.stream, item.id) in undone else ""
    when = moment(item.created_at)
    where = f"{named(stored.stream):10} {called(item):17} {named(item.id)}"
    return f"{stored.version:>7,}  {when:19}  {where}  {mark}{deed(stored.stream, item)}".rstrip()


def _as_data(stored: "Stored", item: Item, undone: set[tuple[str, str]]) -> dict[str, Any]:
    return {
        "version": stored.version,
        "stream": stored.stream,
        "kind": kind_of(item),
        "id": item.id,
        "created_at": item.created_at,
        "undone": (stored.stream, item.id) in undone,
        "item": msgspec.Raw(JSON.encode_item(item)),
    }
