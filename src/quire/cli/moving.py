"""The command that copies a store into another, and says which version a store has."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from quire.cli.arguments import AsJson, KeyFile
from quire.cli.copying import copied
from quire.cli.storing import at_store, key_in, path_of, told
from quire.cli.words import several
from quire.cli.writing import write_json
from quire.errors import InvalidValue, StoreFailed

if TYPE_CHECKING:
    from quire.stores import Store

_KINDS = {
    "SQLiteStore": ("SQLite", "sqlite"),
    "PostgresStore": ("PostgreSQL", "postgres"),
    "JSONLinesStore": ("JSON lines", "jsonl"),
}


def migrate(
    source: Annotated[str, typer.Argument(help="the URL or path of a store", show_default=False)],
    target: Annotated[
        str | None,
        typer.Argument(help="where to copy it; without, say which version it has", show_default=False),
    ] = None,
    key_file: KeyFile = None,
    target_key_file: Annotated[
        str | None, typer.Option("--target-key-file", help="the key to seal the copy with")
    ] = None,
    json: AsJson = False,
) -> None:
    """Copy every conversation of a store into another one, entry by entry, and compare the two.

    Nothing is written over. Without keys a sealed store stays sealed; with its key the copy is in clear.
    """
    if target is None:
        with at_store(source) as found:
            _tell_version(found, json)
        return
    with at_store(source, key_file) as one:
        _check_apart(source, target)
        with at_store(target, target_key_file, make=True) as other:
            done = copied(one, other)
    if json:
        write_json(done)
    else:
        entries = several(done["entries"], "entry", "entries")
        typer.echo(f"{several(done['copied'], 'conversation')} copied, {entries}, all alike")
        if done["there"]:
            typer.echo(f"{several(done['there'], 'conversation')} had been copied already")


def check_store(source: str, key_file: str | None, target: str | None, json: bool) -> None:
    """Say what is damaged in a store, and write what can be read of it into a new one."""
    from quire.stores.salvage import check, salvage

    with told():
        path = path_of(source)
        if path is not None and not path.exists():
            raise StoreFailed(f"there is no store at {path}")
        key = None if key_file is None else key_in(key_file)
        damage = check(source, key=key)
        done = None
        if target is not None:
            _check_apart(source, target)
            with at_store(target, key_file, make=True) as other:
                done = salvage(source, other, key=key)
        if json:
            rows = [{**one._asdict(), "place": one.place and str(one.place)} for one in damage]
            write_json({"damage": rows, "salvaged": done and done._asdict()})
        else:
            typer.echo("\n".join(one.reason for one in damage) or "the store is whole")
            if done is not None:
                entries = several(done.entries, "entry", "entries")
                typer.echo(
                    f"{entries} of {several(done.conversations, 'conversation')} written, {done.lost:,} lost"
                )
    raise typer.Exit(1 if damage else 0)


def _check_apart(source: str, target: str) -> None:
    paths = [path and path.resolve() for path in (path_of(source), path_of(target))]
    if source == target or (paths[0] is not None and paths[0] == paths[1]):
        raise InvalidValue("a store cannot be copied into itself")


def _tell_version(store: "Store", json: bool) -> None:
    """Opening a store has brought it up to date: what it has is the newest there is."""
    kind, version = _version(store)
    scopes = store.scopes()
    conversations = sum(len(store.conversations(scope)) for scope in scopes)
    if json:
        found: dict[str, Any] = {"kind": kind, "version": version}
        write_json({**found, "scopes": len(scopes), "conversations": conversations})
        return
    told = f"at version {version}, the newest"
    counts = f"{several(len(scopes), 'scope')}, {several(conversations, 'conversation')}"
    typer.echo(f"{kind}, {told}: {counts}")


def _version(store: "Store") -> tuple[str, int]:
    from importlib import import_module

    kind, schema = _KINDS[type(store).__name__]
    return kind, import_module(f"quire.stores.{schema}").VERSION
