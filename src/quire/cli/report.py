"""The command `report`: what requests cost, what caches served and why they broke, and what was wasted."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Annotated, Any, NamedTuple

import typer

from quire.cli.options import AsJson, KeyFile
from quire.cli.phrases import moment, plural
from quire.cli.stores import at_store
from quire.cli.terminal import say, table, write_json, write_text
from quire.items import now
from quire.reading import Source
from quire.reading.report import Report, write_report

_HOUR = 3_600.0
_STYLE = (
    "body{font:15px system-ui;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "table{border-collapse:collapse;width:100%}td,th{padding:.3rem .6rem;text-align:right;"
    "border-bottom:1px solid #ddd}td:first-child,th:first-child{text-align:left}"
)


def report(
    store: Annotated[
        str | None, typer.Argument(envvar="QUIRE_STORE", help="path or URL of the store; quire.db by default")
    ] = None,
    hours: Annotated[float, typer.Option(min=0.01, help="the time to sum up, until now")] = 24.0,
    scope: Annotated[str | None, typer.Option(help="only this scope; all by default")] = None,
    html: Annotated[str | None, typer.Option(help="write one HTML page to this file")] = None,
    json: AsJson = False,
    key_file: KeyFile = None,
) -> None:
    """Sum up what requests cost, what caches served and why they broke, and what was wasted."""
    with at_store(store, key_file) as found:
        made = write_report(Source(found, scope=scope), now() - hours * _HOUR)
    if json:
        write_json(made)
    elif html is not None:
        write_text(_page(made), html)
    else:
        say(_summary(made))
        for part in _parts(made):
            say(f"\n{part.title}", bold=True)
            table([part.columns, *part.rows])


class _Part(NamedTuple):
    """A table of the report."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]


def _summary(made: Report) -> str:
    cached = "" if made.cached is None else f", {made.cached:.0%} of the input from caches"
    first = "" if made.first is None else f", the first token after {made.first:.2f} s in the median"
    unpriced = f" ({made.unpriced:,} without a price)" if made.unpriced else ""
    failed = f", {made.failed:,} failed" if made.failed else ""
    requests = f"{plural(made.requests, 'request')} in {plural(made.conversations, 'conversation')}"
    tokens = f"{made.input:,} tokens read and {made.output:,} written"
    return (
        f"Since {moment(made.since)} (UTC): {requests}{failed}; {tokens}{cached}; "
        f"{made.cost:,.4f} USD at the prices of {made.prices_of}{unpriced}{first}."
    )


def _parts(made: Report) -> list[_Part]:
    """The tables that have rows."""
    found = [
        _part("Models", made.models, model="model", requests="requests", input="read", cost="USD"),
        _part(
            "Cache breaks", made.breaks, cause="cause", requests="requests", tokens="tokens", last="the last"
        ),
        _part(
            "The largest items", made.largest, address="conversation", kind="kind", name="of", tokens="tokens"
        ),
        _part("Tools never called", made.unused, name="tool", conversations="offered in", tokens="tokens"),
        _part(
            "The same call again and again",
            made.repeated,
            address="conversation",
            name="tool",
            arguments="arguments",
            times="times",
        ),
    ]
    return [part for part in found if part.rows]


def _part(title: str, rows: Sequence[Mapping[str, Any]], **columns: str) -> _Part:
    """Some fields of rows, under their own names."""
    return _Part(
        title, tuple(columns.values()), [tuple(_cell(row[name]) for name in columns) for row in rows]
    )


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.4f}"
    return f"{value:,}" if isinstance(value, int) else str(value or "-")


def _page(made: Report) -> str:
    """The report as one page that loads nothing."""
    parts = [f"<h1>Requests</h1><p>{escape(_summary(made))}</p>"]
    for part in _parts(made):
        head = "".join(f"<th>{escape(one)}</th>" for one in part.columns)
        rows = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in part.rows)
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        parts.append(f"<h2>{escape(part.title)}</h2><table><tr>{head}</tr>{body}</table>")
    head = f'<!doctype html><meta charset="utf-8"><title>Quire report</title><style>{_STYLE}</style>'
    return f"{head}{''.join(parts)}\n"
