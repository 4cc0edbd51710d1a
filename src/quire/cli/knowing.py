"""The commands for documents: add them to a scope, list them, and remove them."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer
from rich.table import Table

from quire.cli.arguments import AsJson, KeyFile, StoreUrl
from quire.cli.escaping import visible
from quire.cli.files import History
from quire.cli.progress import progress
from quire.cli.recalling import Scope
from quire.cli.storing import at_store, known_place, place_of, told
from quire.cli.telling import print_note
from quire.cli.words import moment, named, several
from quire.cli.writing import print_table, write_json
from quire.errors import InvalidValue, UnknownKey

if TYPE_CHECKING:
    from quire.memory import Knowledge, Remark, Report, Source
    from quire.stores import Store

knowledge = typer.Typer(no_args_is_help=True, help="Documents of a scope: add, list and remove them.")

_TOLD = ("added", "updated", "removed", "failed")
"""What is told source by source; what did not change is only counted."""


@knowledge.command()
def add(
    paths: Annotated[
        list[str], typer.Argument(help="files and folders", show_default=False, metavar="PATH...")
    ],
    scope: Scope = "",
    name: Annotated[str | None, typer.Option(help="what to call it, in place of its path")] = None,
    prune: Annotated[bool, typer.Option("--prune", help="remove what is gone from a folder")] = False,
    store: StoreUrl = None,
    key_file: KeyFile = None,
    json: AsJson = False,
) -> None:
    """Add text, Markdown, HTML and PDF files, and folders of them; what is there already is updated."""
    with told():
        files = _count(paths, name)
    with at_store(store, key_file, make=True) as found:
        documents = _documents(found, scope)
        with progress(files) as advance:
            reports = [
                documents.add(
                    path, name=name, prune=prune, progress=lambda _, __, source: advance(named(source), 1)
                )
                for path in paths
            ]
    report = _together(reports)
    if json:
        write_json(msgspec.to_builtins(report))
    else:
        _print_report(report)
    for remark in report.notes:
        print_note(History(None), f"{remark.source}: {remark.text}")
    raise typer.Exit(1 if report.failed else 0)


@knowledge.command("ls")
def list_(scope: Scope = "", store: StoreUrl = None, key_file: KeyFile = None, json: AsJson = False) -> None:
    """List the documents of a scope. No content is shown."""
    with at_store(store, key_file) as found:
        sources = _documents(found, scope).sources()
    if json:
        write_json([_as_data(one) for one in sources])
        return
    if not sources:
        print_note(History(None), f"there are no documents in the scope {named(scope)!r}")
        return
    table = Table("source", "title", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in table.columns:
        column.overflow = "fold"
    for heading in ("chunks", "tokens", "updated (UTC)"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in sources:
        figures = f"{one.chunks:,}", f"{one.tokens:,}", moment(one.updated_at)
        table.add_row(visible(one.name), visible(one.title), *figures)
    print_table(table)


@knowledge.command("rm")
def remove(
    sources: Annotated[
        list[str], typer.Argument(help="their names, as ls has them", show_default=False, metavar="SOURCE...")
    ],
    scope: Scope = "",
    store: StoreUrl = None,
    key_file: KeyFile = None,
    json: AsJson = False,
) -> None:
    """Remove documents: their content is gone from the store."""
    with at_store(store, key_file) as found:
        documents = _documents(found, scope)
        wanted, known = dict.fromkeys(sources), {one.name for one in documents.sources()}
        unknown = [source for source in wanted if source not in known]
        if unknown:
            raise UnknownKey(f"no source {named(unknown[0])!r} in {documents.place}: nothing is removed")
        gone = {source: documents.remove(source) for source in wanted}
    if json:
        write_json(gone)
        return
    for source, chunks in gone.items():
        typer.echo(f"{visible(source)}: {several(chunks, 'chunk')} removed")


def _count(paths: list[str], name: str | None) -> int:
    """How many files there are to read; an error where a path leads nowhere, before anything is written."""
    from quire.memory import files_at

    if name is not None and len(paths) > 1:
        raise InvalidValue("--name is for one path")
    return sum(len(files_at(path, name).files) for path in paths)


def _documents(store: "Store", scope: str) -> "Knowledge":
    """The documents of a scope, which can be read with the key at hand."""
    # It hears what is removed: what conversations recalled of a document goes with it.
    import quire.session  # noqa: F401  # pyright: ignore[reportUnusedImport]
    from quire.memory import Knowledge

    found = Knowledge(store, place_of(f"{scope}/").scope)
    if store.version(found.place):
        known_place(store, str(found.place))
    return found


def _together(reports: "Iterable[Report]") -> "Report":
    from quire.memory import Report

    fields: dict[str, Any] = {
        name: tuple(one for report in reports for one in getattr(report, name))
        for name in Report.__struct_fields__
    }
    return Report(**fields)


def _print_report(report: "Report") -> None:
    for fate in _TOLD:
        sources: tuple[str | Remark, ...] = getattr(report, fate)
        for source in sources:
            line = source if isinstance(source, str) else f"{source.source}  {source.text}"
            typer.echo(f"{fate:<9}  {visible(line)}")
    typer.echo(str(report))


def _as_data(source: "Source") -> dict[str, Any]:
    figures = msgspec.to_builtins(source)
    return {"source": figures.pop("name"), **figures}
