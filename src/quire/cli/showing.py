"""The command that shows a conversation: what its view shows, or what a model saw of it."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from quire.cli.arguments import Address, AsJson, KeyFile, StoreUrl, Transcript
from quire.cli.explaining import called
from quire.cli.fitting import COUNTED_AS
from quire.cli.storing import at_store, known_session
from quire.cli.words import glimpse, moment, named
from quire.cli.writing import write_json
from quire.errors import UnknownId, UnknownKey, cut
from quire.items import JSON, Item
from quire.tokens import counter_for

if TYPE_CHECKING:
    from quire.session import Kept, Session
    from quire.state import View


def show(
    address: Address,
    store: StoreUrl = None,
    transcript: Transcript = "main",
    at: Annotated[int | None, typer.Option(min=0, help="as it was at this version")] = None,
    receipt: Annotated[
        str | None,
        typer.Option(help="what the model saw: the version of a request in `quire log`, or last"),
    ] = None,
    model: Annotated[str, typer.Option(help="count as this model does")] = COUNTED_AS,
    key_file: KeyFile = None,
    json: AsJson = False,
) -> None:
    """Show what a conversation shows, or with --receipt what a model saw; --json has it word for word."""
    with at_store(store, key_file) as found:
        session = known_session(found, address)
        if receipt is not None:
            _show_request(_kept(session, receipt), model, json)
            return
        view = _view(session, transcript, at)
        if json:
            write_json(_as_data(session, transcript, at, view, model))
            return
        shown = session.version if at is None else at
        typer.echo(f"{session.place}, {named(transcript)} at version {shown:,}: {len(view):,} items\n")
        _print_items(view, model, view)


def _view(session: "Session", transcript: str, at: int | None) -> "View":
    if at is None:
        return session.view(transcript)
    views = session.at(at)
    if transcript not in views:
        raise UnknownKey(f"there was no transcript {cut(transcript)!r} at version {at:,}")
    return views[transcript]


def _kept(session: "Session", asked: str) -> "Kept":
    """The request that is asked for by its version."""
    kept = session.receipts
    if not kept:
        raise UnknownId(f"no request was kept in {session.place}")
    for one in kept:
        if asked in ("last", str(one.version)) and (asked != "last" or one is kept[-1]):
            return one
    known = ", ".join(str(one.version) for one in kept[-10:])
    raise UnknownId(f"no request was kept at version {cut(asked)!r}; the last are {known}")


def _show_request(kept: "Kept", model: str, json: bool) -> None:
    rendered = kept.payload()  # an error where its digest is another one, or some of it was forgotten
    if json:
        write_json(rendered.payload)
        return
    to = " ".join(named(name) for name in (kept.provider, kept.model) if name)
    typer.echo(f"request of version {kept.version:,}, {moment(kept.created_at)} UTC, to {to}")
    typer.echo(f"{kept.tokens:,} tokens: {', '.join(f'{named(n)} {t:,}' for n, t in kept.sections.items())}")
    typer.echo(f"sha256 {kept.digest}, as it was sent\n")
    _print_items(kept.items, kept.model or model)


def _as_data(session: "Session", transcript: str, at: int | None, view: "View", model: str) -> dict[str, Any]:
    counter = counter_for(model)
    rows = [
        {
            "tokens": counter.count(item),
            "state": view.fate(item.id).state,
            "item": msgspec.Raw(JSON.encode_item(item)),
        }
        for item in view
    ]
    return {
        "address": str(session.place),
        "version": session.version if at is None else at,
        "transcript": transcript,
        "transcripts": list(session.transcripts),
        "model": model,
        "tokens": view.tokens(counter),
        "items": rows,
    }


def _print_items(items: Iterable[Item], model: str, view: "View | None" = None) -> None:
    """A table, line by line: a conversation may be long, and Rich would take a minute for it."""
    for row in item_rows(items, model, view):
        typer.echo(row)


def item_rows(items: Iterable[Item], model: str, view: "View | None" = None) -> list[str]:
    """The lines of a table of items: ids, kinds, tokens, and what each says; the first is its head."""
    counter = counter_for(model)
    rows = [("id", "kind", "tokens", "says")]
    for item in items:
        state = "shown" if view is None else view.fate(item.id).state
        kind = called(item) if state == "shown" else f"{called(item)}, {state}"
        rows.append((named(item.id), kind, f"{counter.count(item):,}", glimpse(item)))
    ids, kinds, tokens, _ = (max(map(len, column)) for column in zip(*rows, strict=True))
    return [
        f"{item_id:{ids}}  {kind:{kinds}}  {size:>{tokens}}  {says}".rstrip()
        for item_id, kind, size, says in rows
    ]
