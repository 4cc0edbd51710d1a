"""The commands `recall` and `knowledge`: what a question recalls, and the documents of a scope."""

from typing import Annotated

import msgspec
import typer

import quire.session  # noqa: F401  # pyright: ignore[reportUnusedImport]  # it removes quotes of documents too
from quire.cli.options import AsJson, KeyFile, Scope, StoreUrl
from quire.cli.phrases import beginning, moment, named, plural
from quire.cli.stores import at_store
from quire.cli.terminal import errors_reported, note, say, table, write_json
from quire.errors import InvalidValue, UnknownId, UnknownKey
from quire.memory import Excerpt, Knowledge, Report, files_at, term_worths
from quire.memory.words import terms
from quire.reading import Source, memory as reading
from quire.stores import named_scope

knowledge = typer.Typer(
    no_args_is_help=True, add_completion=False, help="Add, list and remove the documents of a scope."
)

_BUDGET = 1_024
_MAX_QUOTE = 200


def recall(
    question: Annotated[str, typer.Argument(help="a question", show_default=False)],
    scope: Scope = "",
    conversation: Annotated[
        str | None,
        typer.Option(help="only this one for recent, working and episodes; by default the whole scope"),
    ] = None,
    tier: Annotated[
        list[str] | None, typer.Option(help="recent, working, episodes or knowledge; may be repeated")
    ] = None,
    budget: Annotated[int, typer.Option(min=1, help="tokens that all quotes may take")] = _BUDGET,
    limit: Annotated[
        int | None, typer.Option(min=1, help="the most quotes; by default as many as fit")
    ] = None,
    zone: Annotated[str, typer.Option(help='the time zone of days, such as "Europe/Paris"')] = "UTC",
    store: StoreUrl = None,
    key_file: KeyFile = None,
    json: AsJson = False,
) -> None:
    """List what a question recalls, the best first, with scores, reasons and what would fit."""
    with at_store(store, key_file) as opened:
        tiers = tier or ("knowledge",)
        recalled = reading.recall(Source(opened), question, scope, conversation, tiers, budget, limit, zone)
        if not recalled.found:
            raise UnknownId(f"nothing was found in the scope {named(scope)!r}")
    if json:
        write_json(recalled)
    else:
        _print(recalled)


def _print(recalled: reading.Recalled) -> None:
    worths = term_worths(terms(recalled.question))
    for number, row in enumerate(recalled.found, 1):
        score = "" if row["score"] is None else f"{row['score']:.2f}  "
        fits = "fits" if row["fits"] else "is left out"
        say(f"{number:>4}. {score}{row['from']}  {plural(row['tokens'], 'token')}, {fits}")
        text = row["text"] if len(row["text"]) <= _MAX_QUOTE else Excerpt(row["text"], worths).cut(_MAX_QUOTE)
        for line in (row["reason"], beginning(text, _MAX_QUOTE), named(row["id"])):
            say(f"      {line}")
        say()
    fitting = sum(row["fits"] for row in recalled.found)
    fit = f"{plural(fitting, 'fits', 'fit')}, {recalled.tokens:,}" if fitting else "none fits into a budget"
    say(f"{plural(len(recalled.found), 'quote')}; {fit} of {recalled.budget:,} tokens")


@knowledge.command()
def add(
    paths: Annotated[
        list[str], typer.Argument(help="files and folders", show_default=False, metavar="PATH...")
    ],
    scope: Scope,
    name: Annotated[str | None, typer.Option(help="the name of the source, in place of its path")] = None,
    prune: Annotated[bool, typer.Option("--prune", help="remove documents that left a folder")] = False,
    store: StoreUrl = None,
    key_file: KeyFile = None,
    json: AsJson = False,
) -> None:
    """Add text, Markdown, HTML and PDF files, and folders of them. Known sources are updated."""
    with errors_reported():
        if name is not None and len(paths) > 1:
            raise InvalidValue("--name needs exactly one path")
        for path in paths:
            files_at(path, name)  # an error before anything is written
    with at_store(store, key_file, make=True) as opened:
        documents = Knowledge(opened, named_scope(scope))
        reports = [documents.add(path, name=name, prune=prune) for path in paths]
    fields = {
        field: tuple(entry for report in reports for entry in getattr(report, field))
        for field in Report.__struct_fields__
    }
    report = Report(**fields)
    if json:
        write_json(msgspec.to_builtins(report))
    else:
        _print_report(report)
    for remark in report.notes:
        note(f"{remark.source}: {remark.text}")
    raise typer.Exit(1 if report.failed else 0)


@knowledge.command("ls")
def list_(scope: Scope, store: StoreUrl = None, key_file: KeyFile = None, json: AsJson = False) -> None:
    """List the documents of a scope. No content is shown."""
    with at_store(store, key_file) as opened:
        sources = reading.list_documents(Source(opened), named_scope(scope))
    if json:
        write_json([{"source": source.name, **msgspec.to_builtins(source)} for source in sources])
    elif not sources:
        note(f"there are no documents in the scope {named(scope)!r}")
    else:
        rows = [
            (source.name, source.title, f"{source.chunks:,}", f"{source.tokens:,}", moment(source.updated_at))
            for source in sources
        ]
        table([("source", "title", "chunks", "tokens", "updated (UTC)"), *rows], left=2)


@knowledge.command("rm")
def remove(
    sources: Annotated[
        list[str], typer.Argument(help="their names in `ls`", show_default=False, metavar="SOURCE...")
    ],
    scope: Scope,
    store: StoreUrl = None,
    key_file: KeyFile = None,
    json: AsJson = False,
) -> None:
    """Remove documents: their content is removed from the store."""
    with at_store(store, key_file) as opened:
        documents = Knowledge(opened, named_scope(scope))
        names = {source.name for source in documents.sources()}
        for source in sources:
            if source not in names:
                raise UnknownKey(f"no source {named(source)!r} in {documents.place}: nothing is removed")
        removed = {source: documents.remove(source) for source in dict.fromkeys(sources)}
    if json:
        write_json(removed)
        return
    for source, chunks in removed.items():
        say(f"{source}: {plural(chunks, 'chunk')} removed")


def _print_report(report: Report) -> None:
    for fate in ("added", "updated", "removed", "failed"):
        for source in getattr(report, fate):
            line = source if isinstance(source, str) else f"{source.source}  {source.text}"
            say(f"{fate:<9}  {line}")
    say(str(report))
