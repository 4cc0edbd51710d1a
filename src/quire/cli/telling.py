"""What commands say beside their output: errors in a sentence, and notes on standard error."""

from collections.abc import Generator
from contextlib import contextmanager

import typer
from rich.console import Console

from quire.cli.escaping import visible
from quire.cli.files import History
from quire.errors import QuireError
from quire.providers import Downgrade


@contextmanager
def clear_errors() -> Generator[None]:
    """Say what went wrong in a sentence, with exit status 2."""
    try:
        yield
    except QuireError as fault:
        said = str(fault)
    except RecursionError:
        said = "it is nested too deeply"
    else:
        return
    print_error(said)
    raise typer.Exit(2)


def print_error(said: str) -> None:
    """A sentence on standard error that says what went wrong."""
    console = Console(stderr=True, soft_wrap=True, emoji=False)
    console.print(f"quire: {visible(said)}", style="red", markup=False, highlight=False)


def print_downgrades(history: History, downgrades: tuple[Downgrade, ...]) -> None:
    """What a format could not carry, on standard error."""
    for downgrade in downgrades:
        print_note(history, f"{downgrade.reason} ({downgrade.change})")


def print_note(history: History, note: str | None) -> None:
    """A note on a history, on standard error."""
    if note is not None:
        console = Console(stderr=True, soft_wrap=True, highlight=False, emoji=False)
        console.print(visible(f"{place(history)}{note}"), markup=False)


def place(history: History) -> str:
    """Where a history stands, to begin a sentence with; nothing where it is the whole file."""
    return "" if history.line is None else f"line {history.line}: "


def title(file: str, line: int | None) -> str:
    """A history by its file and its line."""
    return file if line is None else f"{file}, line {line}"
