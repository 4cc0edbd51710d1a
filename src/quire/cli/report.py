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
    hours: Annotated[float, typer.Option(min=0.01, help="the hours to summarise, until now")] = 24.0,
    scope: Annotated[str | None, typer.Option(help="only this scope; all by default")] = None,
    html: Annotated[str | None, typer.Option(help="write one HTML page to this file")] = None,
    json: AsJson = False,
    key_file: KeyFile = None,
) -> None:
    """Summarise what requests cost, what caches served and why they broke, and what was wasted."""
    with at_store(store, key_file) as opened:
        written = write_report(Source(opened, scope=scope), now() - hours * _HOUR)
    if json:
        write_json(written)
    elif html is not None:
        write_text(_page(written), html)
    else:
        say(_summary(written))
        for part in _parts(written):
            say(f"\n{part.title}", bold=True)
            table([part.columns, *part.rows])


class _Part(NamedTuple):
    """A table of the report."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]


def _summary(data: Report) -> str:
    cached = "" if data.cached is None else f", {data.cached:.0%} of the input from caches"
    first = "" if data.first is None else f", the first token after {data.first:.2f} s in the median"
    unpriced = f" ({data.unpriced:,} without a price)" if data.unpriced else ""
    failed = f", {data.failed:,} failed" if data.failed else ""
    requests = f"{plural(data.requests, 'request')} in {plural(data.conversations, 'conversation')}"
    tokens = f"{data.input:,} tokens read and {data.output:,} written"
    return (
        f"Since {moment(data.since)} (UTC): {requests}{failed}; {tokens}{cached}; "
        f"{data.cost:,.4f} USD at the prices of {data.prices_of}{unpriced}{first}."
    )


def _parts(data: Report) -> list[_Part]:
    """The tables that have rows."""
    parts = [
        _part("Models", data.models, model="model", requests="requests", input="read", cost="USD"),
        _part(
            "Cache breaks", data.breaks, cause="cause", requests="requests", tokens="tokens", last="the last"
        ),
        _part(
            "The largest items", data.largest, address="conversation", kind="kind", name="of", tokens="tokens"
        ),
        _part("Tools never called", data.unused, name="tool", conversations="offered in", tokens="tokens"),
        _part(
            "Repeated calls",
            data.repeated,
            address="conversation",
            name="tool",
            arguments="arguments",
            times="times",
        ),
    ]
    return [part for part in parts if part.rows]


def _part(title: str, rows: Sequence[Mapping[str, Any]], **columns: str) -> _Part:
    """A table of some fields of rows; `columns` maps fields to headers."""
    cells = [tuple(_cell(row[name]) for name in columns) for row in rows]
    return _Part(title, tuple(columns.values()), cells)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.4f}"
    return f"{value:,}" if isinstance(value, int) else str(value or "-")


def _page(data: Report) -> str:
    """The report as one self-contained page."""
    parts = [f"<h1>Requests</h1><p>{escape(_summary(data))}</p>"]
    for part in _parts(data):
        head = "".join(f"<th>{escape(column)}</th>" for column in part.columns)
        rows = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in part.rows)
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        parts.append(f"<h2>{escape(part.title)}</h2><table><tr>{head}</tr>{body}</table>")
    head = f'<!doctype html><meta charset="utf-8"><title>Quire report</title><style>{_STYLE}</style>'
    return f"{head}{''.join(parts)}\n"
