"""The commands that change a conversation: take an edit back, and forget."""

from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.arguments import Address, AsJson, KeyFile, StoreUrl, Transcript
from quire.cli.storing import at_store, known_session, place_of, standing_place
from quire.cli.words import named, several
from quire.cli.writing import write_json
from quire.errors import Conflict, InvalidValue, UnknownId

if TYPE_CHECKING:
    from quire.session import Session
    from quire.stores import Place, Store

_MOST_NAMED = 5


def undo(
    address: Address,
    edit: Annotated[
        str | None, typer.Argument(help="its id; the last one in force if left out", show_default=False)
    ] = None,
    store: StoreUrl = None,
    transcript: Transcript = "main",
    key_file: KeyFile = None,
    json: AsJson = False,
) -> None:
    """Take an edit of a conversation back: a summary, a mask, a cut, a pin, or an undo."""
    with at_store(store, key_file) as found:
        session = known_session(found, address)
        name = _transcript_of(session, edit, transcript)
        before = len(session.view(name))
        undone = session.undo(edit, to=name)
        now = len(session.view(name))
        if json:
            write_json(
                {"address": str(session.place), "undone": undone.target, "shown": now, "before": before}
            )
        else:
            shown = several(now, "item is shown", "items are shown")
            typer.echo(f"{named(undone.target)} is taken back: {shown}, {before:,} before")


def forget(
    address: Address,
    items: Annotated[list[str] | None, typer.Argument(help="their ids", show_default=False)] = None,
    store: StoreUrl = None,
    all: Annotated[bool, typer.Option("--all", help="the whole conversation")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="do not ask before forgetting a conversation")] = False,
    key_file: KeyFile = None,
    json: AsJson = False,
) -> None:
    """Forget items of a conversation, or all of it: content is gone from the store, and never comes back."""
    with at_store(store, key_file) as found:
        if all == bool(items):
            raise InvalidValue("name the items to forget, or say --all: one of the two")
        if all:
            _finish_forgetting(found, place_of(address))
        place = standing_place(found, address)  # also one whose key is lost
        ids = list(dict.fromkeys(items or ()))
        if ids:
            known_session(found, address).forget(*ids)
            gone = f"{several(len(ids), 'item')} of {place} forgotten"
        else:
            gone = f"{place} forgotten: {_forget_conversation(found, place, yes)}"
        if json:
            write_json({"address": str(place), "forgotten": "all" if all else ids})
        else:
            typer.echo(gone)


def _transcript_of(session: "Session", edit: str | None, transcript: str) -> str:
    """The transcript that an edit is in, where that is not the one asked for."""
    session.view(transcript)  # an error where there is none
    names = (transcript, *session.transcripts)
    holding = (name for name in names if edit is not None and _has(session, name, edit))
    return next(holding, transcript)


def _has(session: "Session", name: str, item_id: str) -> bool:
    try:
        session.view(name).get(item_id)
    except UnknownId:
        return False
    return True


def _forget_conversation(store: "Store", place: "Place", is_sure: bool) -> str:
    """Forget all of a conversation once somebody is sure; how much that was."""
    _check_forks(store, place)
    entries = several(store.version(place), "entry", "entries")
    if not is_sure and not typer.confirm(f"Forget all of {place}, {entries}, for ever?", err=True):
        raise typer.Exit(1)
    from quire.session import remove_conversation

    remove_conversation(store, place)
    return entries


def _finish_forgetting(store: "Store", place: "Place") -> None:
    """Wipe what is left of a conversation that is not there: who forgot it may have come half way."""
    if not store.version(place):
        from quire.session import remove_conversation

        remove_conversation(store, place)


def _check_forks(store: "Store", place: "Place") -> None:
    """A fork reads its past where it was written: without that it would begin in the middle."""
    below = f"{place.conversation}/"
    others = (place._replace(conversation=name) for name in store.conversations(place.scope))
    forks = [
        str(other) for other in others if other.conversation.startswith(below) and _is_fork(store, other)
    ]
    if forks:
        told = ", ".join(forks[:_MOST_NAMED])
        more = f" and {len(forks) - _MOST_NAMED:,} more" if len(forks) > _MOST_NAMED else ""
        raise Conflict(f"{place} has forks that begin with its past; forget them first: {told}{more}")


def _is_fork(store: "Store", place: "Place") -> bool:
    from quire.stores.streams import ORIGIN

    return any(entry.stream == ORIGIN for entry in store.read(place)[:1])
