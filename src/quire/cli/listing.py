"""The command that lists what is in a store."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer
from rich.table import Table

from quire.cli.arguments import AsJson, KeyFile, StoreUrl
from quire.cli.progress import Advance, progress
from quire.cli.storing import at_store, place_of
from quire.cli.telling import print_error
from quire.cli.words import moment, named
from quire.cli.writing import print_table, write_json
from quire.errors import StoreDamaged, UnknownId
from quire.items import Note

if TYPE_CHECKING:
    from quire.stores import Place, Store, Stored


class _Head(msgspec.Struct, gc=False):
    """What is read of an entry to list it: never what it says."""

    kind: str = ""
    created_at: float = 0.0


_read_head = msgspec.json.Decoder(_Head).decode


def ls(
    address: Annotated[
        str | None, typer.Argument(help="a scope, or scope/conversation; all if left out", show_default=False)
    ] = None,
    store: StoreUrl = None,
    key_file: KeyFile = None,
    json: AsJson = False,
) -> None:
    """List the conversations of a store: entries, items, the last time, tokens spent. No content is shown."""
    with at_store(store, key_file) as found:
        places = list(_places(found, address))
        if address is not None and not places and not _is_scope(found, address):
            raise UnknownId(f"there is neither a scope nor a conversation {named(address)!r} in this store")
        with progress(len(places)) as advance:
            rows = [_row(found, place, advance) for place in places]
    if json:
        write_json(rows)
    else:
        _print(rows)
    damage: list[str] = [row["damage"] for row in rows if row["damage"]]
    for said in damage:
        print_error(said)
    if damage:
        raise typer.Exit(2)


def _places(store: "Store", address: str | None) -> "Iterator[Place]":
    """What is asked for: all, a scope, or a conversation with its forks."""
    from quire.stores import Place

    if address is None:
        for scope in store.scopes():
            yield from _of_users(store, scope)
        return
    if "/" not in address:
        yield from _of_users(store, place_of(f"{address}/").scope)
    scope, wanted = place_of(address)
    for name in store.conversations(scope):
        if name == wanted or name.startswith(f"{wanted}/"):
            yield Place(scope, name)


def _of_users(store: "Store", scope: str) -> "Iterator[Place]":
    """The conversations of a scope, without those that are kept for something else, such as documents."""
    from quire.memory import is_reserved
    from quire.stores import Place

    yield from (Place(scope, name) for name in store.conversations(scope) if not is_reserved(name))


def _is_scope(store: "Store", address: str) -> bool:
    return "/" not in address and bool(store.conversations(place_of(f"{address}/").scope))


def _row(store: "Store", place: "Place", advance: Advance) -> dict[str, Any]:
    advance("reading", 1)
    row = {"address": str(place), "scope": place.scope, "conversation": place.conversation}
    try:
        return {**row, **_figures(place, store.read(place)), "damage": None}
    except StoreDamaged as fault:
        unknown = dict.fromkeys(("items", "last", "tokens", "cost"))
        return {**row, "version": store.version(place), **unknown, "damage": str(fault)}


def _figures(place: "Place", stored: "list[Stored]") -> dict[str, Any]:
    from quire.session import Spending
    from quire.stores import items_in
    from quire.stores.store import is_own
    from quire.stores.streams import USAGE

    heads = [_head(place, entry) for entry in stored]
    is_sealed = any(head.kind == "sealed" for head in heads)  # and nobody gave its key
    spent = Spending()
    if not is_sealed:
        for item in items_in(place, [one for one in stored if one.stream == USAGE]):
            spent = spent.with_usage(item.content) if isinstance(item, Note) else spent
    return {
        "version": len(stored),
        "items": sum(not is_own(entry.stream) for entry in stored),
        "last": max((head.created_at for head in heads), default=None),
        "tokens": None if is_sealed else spent.tokens,
        "cost": None if is_sealed else spent.cost,
    }


def _head(place: "Place", entry: "Stored") -> _Head:
    try:
        return _read_head(entry.body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise StoreDamaged(f"{place}: the entry of version {entry.version} is damaged") from None


def _print(rows: list[dict[str, Any]]) -> None:
    table = Table("conversation", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.columns[0].overflow = "fold"
    for title in ("version", "items", "last (UTC)", "tokens spent"):
        table.add_column(title, justify="right", no_wrap=True)
    for row in rows:
        last = "-" if row["last"] is None else moment(row["last"])
        table.add_row(
            row["address"], _number(row["version"]), _number(row["items"]), last, _number(row["tokens"])
        )
    print_table(table)


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"
