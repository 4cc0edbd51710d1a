"""The command line: check a history, convert it, count it; the other commands have files of their own."""

import sys
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from quire.cli import formats
from quire.cli.arguments import AsJson, File, KeyFile, Model, Output, Source
from quire.cli.changing import forget, undo
from quire.cli.chatting import chat
from quire.cli.choosing import explain, fit
from quire.cli.comparing import simulate
from quire.cli.counting import counted, read_items
from quire.cli.entries import follow, log
from quire.cli.exporting import export
from quire.cli.files import History, as_json, read_histories, write_text
from quire.cli.fitting import COUNTED_AS
from quire.cli.fixing import outgrown, said_of, shaped
from quire.cli.importing import import_
from quire.cli.knowing import knowledge
from quire.cli.listing import ls
from quire.cli.moving import check_store, migrate
from quire.cli.playing import demo
from quire.cli.program import program
from quire.cli.recalling import recall
from quire.cli.showing import show
from quire.cli.telling import clear_errors, print_downgrades, print_note, title
from quire.cli.writing import write_payloads
from quire.providers import Downgrade, Fault, provider_for

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)

_MANY = 50  # histories; with more, progress is shown


@app.callback()
def quire() -> None:
    """Keep all that happened. Choose what the model sees. Know why."""


app.command()(demo)
app.command()(chat)
app.command()(program)


@app.command()
def check(
    file: Annotated[str, typer.Argument(help="a history, or a store by its path or URL", show_default=False)],
    provider: Annotated[
        str | None, typer.Option(help="for a history: openai, openai-responses, anthropic or gemini")
    ] = None,
    model: Model = None,
    fix: Annotated[bool, typer.Option("--fix", help="write the history with its faults repaired")] = False,
    output: Output = None,
    salvage: Annotated[
        str | None, typer.Option(help="write all of a damaged store that can be read into this new store")
    ] = None,
    key_file: KeyFile = None,
    json: AsJson = False,
) -> None:
    """Say what a provider would refuse in a history, or what is damaged in a store.

    Without --provider, a store is checked. The exit status is 1 if anything is found.
    """
    if provider is None:
        check_store(file, key_file, salvage, json)
        return
    with clear_errors():
        wire = provider_for(provider)
        histories = read_histories(file)
        found = [(history, wire.check(history.payload, model)) for history in _shown(histories)]
        to_errors = fix and output in (None, "-")  # where the repaired history goes to standard output
        if json:
            faults = [_as_dict(history, fault) for history, faults in found for fault in faults]
            typer.echo(as_json(faults), nl=False, err=to_errors)
        else:
            _print_faults(found, file, to_errors)
        if fix:
            left = _fix(histories, provider, model, output)
            raise typer.Exit(1 if left else 0)
    raise typer.Exit(1 if any(faults for _, faults in found) else 0)


@app.command()
def convert(
    file: File,
    to: Annotated[str, typer.Option(help="the format to write: one of the providers, or quire")],
    source: Source = None,
    model: Model = None,
    output: Output = None,
) -> None:
    """Write a history in another format; what that cannot carry is said on standard error."""
    with clear_errors():
        histories = read_histories(file)
        converted = [_converted(history, source, to, model) for history in _shown(histories)]
        write_payloads(
            [
                formats.with_tool_choice(payload, history.payload, to)
                for history, (payload, _) in zip(histories, converted, strict=True)
            ],
            histories,
            output,
        )
        for history, (_, downgrades) in zip(histories, converted, strict=True):
            print_downgrades(history, downgrades)
            read_as = formats.guessed(history.payload, source)
            print_note(history, formats.unwritten(history.payload, read_as, to))


@app.command()
def tokens(
    file: File,
    model: Annotated[
        str | None, typer.Option(help="count as this model does [default: the one it names, or gpt-5.6]")
    ] = None,
    source: Source = None,
    json: AsJson = False,
) -> None:
    """Count the tokens of a history, by kind of item and in all."""
    with clear_errors():
        rows = [
            counted(history, source, model or formats.model_of(history.payload) or COUNTED_AS)
            for history in _shown(read_histories(file))
        ]
    if json:
        write_text(as_json(rows if len(rows) > 1 else rows[0]), None)
        return
    for row in rows:
        table = Table("what", "items", "tokens", title=title(file, row["line"]), title_justify="left")
        for name, (items, count) in row["kinds"].items():
            table.add_row(name, f"{items:,}", f"{count:,}")
        table.add_row("all, as a request", f"{row['items']:,}", f"{row['tokens']:,}", style="bold")
        Console().print(table)


app.command()(fit)
app.command(context_settings={"ignore_unknown_options": True})(explain)  # -1 is an item, not an option
app.command()(simulate)

_ON_STORES: dict[str, Callable[..., None]] = {
    "ls": ls,
    "show": show,
    "log": log,
    "follow": follow,
    "undo": undo,
    "forget": forget,
    "export": export,
    "import": import_,
    "migrate": migrate,
    "recall": recall,
}
_PANEL = "On stores"
for _name, _verb in _ON_STORES.items():
    app.command(_name, rich_help_panel=_PANEL)(_verb)
app.add_typer(knowledge, name="knowledge", rich_help_panel=_PANEL)


def _shown(histories: list[History]) -> Iterable[History]:
    many = len(histories) > _MANY and sys.stderr.isatty()
    return track(histories, console=Console(stderr=True), transient=True) if many else histories


def _fix(histories: list[History], provider: str, model: str | None, output: str | None) -> bool:
    """Write what was read with its faults repaired; whether a fault is left, which is said."""
    repaired = [_repaired(history, provider, model) for history in histories]
    write_payloads([payload for payload, _ in repaired], histories, output)
    for history, (payload, downgrades) in zip(histories, repaired, strict=True):
        print_downgrades(history, downgrades)
        print_note(history, outgrown(payload, history.payload))
    left = [provider_for(provider).check(payload, model) for payload, _ in repaired]
    for history, faults in zip(histories, left, strict=True):
        for fault in faults:
            print_note(history, f"not repaired: {fault}")
    return any(left)


def _repaired(history: History, provider: str, model: str | None) -> tuple[Any, tuple[Downgrade, ...]]:
    if not provider_for(provider).check(history.payload, model):
        return history.payload, ()  # nothing to repair, so nothing is touched
    payload, downgrades = _converted(history, provider, provider, model)
    return shaped(payload, history.payload, provider), said_of(downgrades, history.payload)


def _converted(
    history: History, source: str | None, to: str, model: str | None
) -> tuple[Any, tuple[Downgrade, ...]]:
    # Within one format the model that is named is the one that went before, and its thoughts stay its own.
    items = read_items(history, source, model if source == to else None)
    asked = model or formats.model_of(history.payload)
    return formats.written(items, to, model=asked, tools=formats.tools_of(history.payload))


def _print_faults(found: list[tuple[History, list[Fault]]], file: str, to_errors: bool) -> None:
    console = Console(stderr=to_errors, soft_wrap=True, highlight=False)
    count = sum(len(faults) for _, faults in found)
    for history, faults in found:
        if faults and history.line is not None:
            console.print(title(file, history.line), style="bold", markup=False)
        for fault in faults:
            console.print(f"{fault.place}  ", style="cyan", end="", markup=False)
            console.print(f"{fault.text}  ", end="", markup=False)
            console.print(fault.rule, style="yellow", markup=False)
    histories = f" in {len(found)} histories" if len(found) > 1 else ""
    console.print(
        f"{count} {'fault' if count == 1 else 'faults'}{histories}" if count else f"no fault{histories}"
    )


def _as_dict(history: History, fault: Fault) -> dict[str, Any]:
    return {"line": history.line, **fault._asdict()}
