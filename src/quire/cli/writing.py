"""What was made of histories, written in the layout that they came in; tables and documents."""

import sys
from typing import Any

from rich.console import Console
from rich.table import Table

from quire.cli.escaping import visible_json
from quire.cli.files import History, as_json, as_line, list_of, write_text


def write_payloads(payloads: list[Any], histories: list[History], name: str | None) -> None:
    """One payload as JSON, or each on a line where the histories were on lines, or their messages."""
    if not histories[0].in_lines:
        write_text(as_json(payloads[0]), name)
    elif histories[0].line is None and isinstance(payloads[0], list):
        write_text("".join(map(as_line, list_of(payloads[0]))), name)
    else:
        write_text("".join(map(as_line, payloads)), name)


def one_or_all(values: list[Any], histories: list[History]) -> Any:
    """The value of the only history, or those of all histories on lines."""
    return values[0] if histories[0].line is None else values


def write_json(value: Any, name: str | None = None) -> None:
    """One document, to a file or to standard output, without what a terminal might obey."""
    write_text(visible_json(as_json(value)), name)


def print_table(table: Table) -> None:
    """A table on standard output, its cells as they are: no markup and no names of pictures in them."""
    width = None if sys.stdout.isatty() else _WIDE
    Console(width=width, markup=False, highlight=False, emoji=False).print(table)


_WIDE = 200
"""Columns where nobody watches: nothing is broken to fit a terminal."""
