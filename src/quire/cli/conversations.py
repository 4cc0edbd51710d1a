"""The commands `ls`, `show`, `log`, `follow`, `undo` and `forget`."""

from collections.abc import Iterator, Sequence
from itertools import compress
from typing import Annotated, Any
from urllib.parse import quote

import msgspec
import typer
from msgspec.structs import astuple

from quire.cli.options import Address, AsJson, KeyFile, StoreUrl, Transcript
from quire.cli.phrases import entry, item_rows, kind, listed, moment, named, plural
from quire.cli.stores import at_store
from quire.cli.terminal import confirmed, error, note, say, table, write_json, write_lines
from quire.context import DEFAULT_MODEL, not_shown
from quire.errors import Conflict, InvalidValue, UnknownId
from quire.items import JSON, Item, Undo, kind_of
from quire.reading import changes
from quire.reading.conversations import Conversation, list_conversations
from quire.reading.source import Source, counter_of
from quire.session import (
    Session,
    StoredReceipt,
    erase_scopes,
    remove_conversation,
    request_named,
    survey_scopes,
)
from quire.state import View
from quire.stores import Place, Store, Stored, items_in, place_at
from quire.stores.streams import ORIGIN
from quire.tokens import counter_for

_PROGRESS = 100
"""Conversations between two notes on progress."""

_POLL_SECONDS = 0.5
"""How long one wait for new entries lasts: an interrupt is noticed after it."""

After = Annotated[int | None, typer.Option(min=0, help="only entries after this version")]


# ls


def ls(
    address: Annotated[
        str | None, typer.Argument(help="a scope, or scope/conversation; all by default", show_default=False)
    ] = None,
    store: StoreUrl = None,
    key_file: KeyFile = None,
    json: AsJson = False,
) -> None:
    """List the conversations of a store: entries, items, the last time, tokens spent. No content is shown."""
    with at_store(store, key_file) as opened:
        rows = list(_rows(Source(opened), address))
        if address is not None and not rows and address not in opened.scopes():
            raise UnknownId(f"there is neither a scope nor a conversation {named(address)!r} in this store")
    if json:
        write_json(rows)
    else:
        table([("conversation", "version", "items", "last (UTC)", "tokens spent"), *map(_cells, rows)])
    for row in rows:
        if row.fault:
            error(row.fault)
    if any(row.fault for row in rows):
        raise typer.Exit(2)


def _rows(source: Source, address: str | None) -> Iterator[Conversation]:
    """All conversations, those of a scope, or one with its forks; the latest first."""
    name, queries = "", [("", "")]  # pairs of a scope and a text in the names
    if address is not None:
        place = place_at(address)
        name, queries = place.conversation, [(f"{quote(place.given_scope, safe='')}/", place.conversation)]
        if "/" not in address:
            queries.append((f"{address}/", ""))
    for within, text in queries:
        after: str | None = ""
        while after is not None:
            page = list_conversations(source, within, text, after, limit=200)
            is_named = (not text or f"{row.conversation}/".startswith(f"{name}/") for row in page.rows)
            yield from compress(page.rows, is_named)
            after = page.next


def _cells(row: Conversation) -> tuple[str, ...]:
    items, tokens = ("-" if count is None else f"{count:,}" for count in (row.items, row.tokens))
    return row.address, f"{row.version:,}", items, moment(row.at or 0), tokens


# show


def show(
    address: Address,
    store: StoreUrl = None,
    transcript: Transcript = "main",
    at: Annotated[int | None, typer.Option(min=0, help="as it was at this version")] = None,
    receipt: Annotated[
        str | None,
        typer.Option(
            help="what the model saw: a request by its version in `quire log`; last; or -2, the last but one"
        ),
    ] = None,
    key_file: KeyFile = None,
    json: AsJson = False,
) -> None:
    """Show the view of a conversation, or with --receipt what a model saw; --json has the full content."""
    with at_store(store, key_file) as opened:
        session = Source(opened).session(address)
        if receipt is not None:
            _show_request(request_named(session.receipts, receipt), json)
            return
        view, version = session.view(transcript, at=at), session.version if at is None else at
        if json:
            write_json(_view_as_data(session, transcript, version, view))
            return
        say(f"{session.place}, {named(transcript)} at version {version:,}: {_counted(view)}\n")
        for row in item_rows(view, counter_of(session), view):
            say(row)


def _counted(view: View) -> str:
    return f"{plural(len(view), 'item')} shown, {plural(view.end, 'entry', 'entries')} recorded"


def _view_as_data(session: Session, transcript: str, version: int, view: View) -> dict[str, Any]:
    counter = counter_of(session)
    return {
        "address": str(session.place),
        "version": version,
        "transcript": transcript,
        "transcripts": list(session.transcripts),
        "tokens": view.tokens(counter),
        "items": [
            {
                "tokens": counter.count(item),
                "state": view.fate(item.id).state,
                "item": msgspec.Raw(JSON.encode_item(item)),
            }
            for item in view
        ],
    }


def _show_request(kept: StoredReceipt, json: bool) -> None:
    request = kept.request()  # an error if its digest differs, or if parts of it were forgotten
    if json:
        write_json(request)
        return
    to = " ".join(named(name) for name in (kept.provider, kept.model) if name)
    say(f"request of version {kept.version:,}, {moment(kept.created_at)} UTC, to {to}")
    parameters = kept.parameters
    say(f"parameters: {'unknown' if parameters is None else msgspec.json.encode(parameters).decode()}")
    say(f"sha256 of the payload {kept.digest}\n\n{kept}\n")
    for row in item_rows(kept.items, counter_for(kept.model or DEFAULT_MODEL)):
        say(row)
    for line in _not_shown(kept):
        say(line)


def _not_shown(kept: StoredReceipt) -> Iterator[str]:
    """A line for each group of candidates that were not shown for the same reason."""
    for group in not_shown(kept.entries):
        which = named(group.first) if group.items == 1 else f"{named(group.first)} to {named(group.last)}"
        items = f"{plural(group.items, 'item')} of {named(group.section)}"
        yield f"\n{items} {group.fate}: {which}; {group.reason}"


# log and follow


def log(
    address: Address,
    store: StoreUrl = None,
    after: After = None,
    key_file: KeyFile = None,
    json: AsJson = False,
) -> None:
    """Print every entry of a conversation, in order, with its edits and what they do."""
    with at_store(store, key_file) as opened:
        entries = list(_entries(opened, Source(opened).place(address)))
        undone = _undone(entries)
        shown = [(stored, item) for stored, item in entries if stored.version > (after or 0)]
        if json:
            write_json([_entry_as_data(stored, item, undone) for stored, item in shown])
            return
        for stored, item in shown:
            say(_entry_line(stored, item, undone))


def follow(
    address: Address,
    store: StoreUrl = None,
    after: After = None,
    key_file: KeyFile = None,
    json: Annotated[bool, typer.Option("--json", help="print each entry as JSON on a line")] = False,
) -> None:
    """Print new entries of a conversation as they are added, until interrupted."""
    try:
        with at_store(store, key_file) as opened:
            place = place_at(address)
            version = opened.version(place)
            if not version:
                note(f"{place}: there is nothing yet")
            for stored, item in _new_entries(opened, place, version if after is None else after):
                if json:
                    write_lines([_entry_as_data(stored, item, set())])
                else:
                    say(_entry_line(stored, item, set()))
    except KeyboardInterrupt:
        raise typer.Exit(0) from None


def _new_entries(store: Store, place: Place, version: int) -> Iterator[tuple[Stored, Item]]:
    while True:
        for stored, item in _entries(store, place, version):
            version = stored.version
            yield stored, item
        if store.wait(place, version, _POLL_SECONDS) < version:
            note(f"{place} was forgotten")
            version = 0


def _entries(store: Store, place: Place, after: int = 0) -> Iterator[tuple[Stored, Item]]:
    stored = store.read(place, after=after)
    return zip(stored, items_in(place, stored), strict=True)


def _undone(entries: Sequence[tuple[Stored, Item]]) -> set[tuple[str, str]]:
    """Edits that are undone, by stream and id. An undo can itself be undone."""
    undone: set[tuple[str, str]] = set()
    for stored, item in reversed(entries):
        if isinstance(item, Undo) and (stored.stream, item.id) not in undone:
            undone.add((stored.stream, item.target))
    return undone


def _entry_line(stored: Stored, item: Item, undone: set[tuple[str, str]]) -> str:
    mark = "[undone] " if (stored.stream, item.id) in undone else ""
    where = f"{named(stored.stream):10} {kind(item):17} {named(item.id)}"
    when = moment(item.created_at)
    return f"{stored.version:>7,}  {when:19}  {where}  {mark}{entry(item)}".rstrip()


def _entry_as_data(stored: Stored, item: Item, undone: set[tuple[str, str]]) -> dict[str, Any]:
    return {
        "version": stored.version,
        "stream": stored.stream,
        "kind": kind_of(item),
        "id": item.id,
        "created_at": item.created_at,
        "undone": (stored.stream, item.id) in undone,
        "item": msgspec.Raw(JSON.encode_item(item)),
    }


# undo and forget


def undo(
    address: Address,
    edit: Annotated[
        str | None, typer.Argument(help="its id; by default the last one in force", show_default=False)
    ] = None,
    store: StoreUrl = None,
    key_file: KeyFile = None,
    json: AsJson = False,
) -> None:
    """Undo an edit of a conversation: a summary, a mask, hidden items, a pin, or an undo."""
    with at_store(store, key_file) as opened:
        change = changes.undo(Source(opened), address, edit or "")
    if json:
        write_json(change)
    else:
        shown = plural(change.shown, "item is shown", "items are shown")
        say(f"{named(change.undone)} is undone: {shown}, {change.before:,} before")


def forget(
    address: Annotated[
        str | None, typer.Argument(help="scope/conversation, in place of --scope", show_default=False)
    ] = None,
    items: Annotated[list[str] | None, typer.Argument(help="their ids", show_default=False)] = None,
    store: StoreUrl = None,
    all: Annotated[bool, typer.Option("--all", help="erase the whole conversation")] = False,
    scope: Annotated[str | None, typer.Option(help="erase a whole scope, with all nested scopes")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="do not ask before erasing more than items")] = False,
    key_file: KeyFile = None,
    json: AsJson = False,
) -> None:
    """Erase items, a conversation, or a whole scope from the store for good."""
    with at_store(store, key_file) as opened:
        if (scope is None) == (address is None) or (scope is not None and all):
            raise InvalidValue("name a conversation, or a scope by --scope: one of the two")
        if address is None:
            _forget_scope(opened, scope or "", yes, json)
            return
        if all == bool(items):
            raise InvalidValue("name the items to forget, or say --all: one of the two")
        if all and not opened.version(place_at(address)):
            remove_conversation(opened, place_at(address))  # an earlier attempt may have been interrupted
        place = Source(opened).place(address)  # opens no session: the key may be lost
        ids = list(dict.fromkeys(items or ()))
        if ids:
            Source(opened).session(address).forget(*ids)
            message = f"{plural(len(ids), 'item')} of {place} forgotten"
        else:
            entries = plural(opened.version(place), "entry", "entries")
            _check_forks(opened, place)
            if not yes and not confirmed(f"Forget all of {place}, {entries}, for ever?"):
                raise typer.Exit(1)
            remove_conversation(opened, place)
            message = f"{place} forgotten: {entries}"
        if json:
            write_json({"address": str(place), "forgotten": "all" if all else ids})
        else:
            say(message)


def _forget_scope(store: Store, scope: str, yes: bool, json: bool) -> None:
    contents = survey_scopes(store, scope)
    if not json:
        rows = [
            tuple(f"{cell:,}" if isinstance(cell, int) else cell for cell in astuple(row)) for row in contents
        ]
        table([("scope", "conversations", "entries", "documents", "open jobs"), *rows])
    if not yes and not confirmed(f"Forget all of {plural(len(contents), 'scope')}, for ever?"):
        raise typer.Exit(1)
    for count, _ in enumerate(erase_scopes(store, [row.scope for row in contents]), 1):
        if count % _PROGRESS == 0:
            note(f"{count:,} conversations erased")
    if json:
        write_json(contents)
    else:
        say(f"forgotten: {plural(sum(row.entries for row in contents), 'entry', 'entries')}")


def _check_forks(store: Store, place: Place) -> None:
    """Refuse to erase a conversation with forks: a fork reads its past from its parent."""
    names = [name for name in store.conversations(place.scope) if name.startswith(f"{place.conversation}/")]
    children = [place._replace(conversation=name) for name in names]
    forks = [str(child) for child in children if any(e.stream == ORIGIN for e in store.read(child)[:1])]
    if forks:
        raise Conflict(f"{place} has forks that begin with its past; forget them first: {listed(forks)}")
