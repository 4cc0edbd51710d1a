"""The commands `fit` and `explain`: what a model sees of a history within a budget, and why."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, NamedTuple

import msgspec
import typer

from quire.cli.histories import note_downgrades, read_histories, write_payloads
from quire.cli.options import COUNTED_AS, AsJson, BudgetTokens, File, Model, Output, Reserve, Source
from quire.cli.phrases import content, kind, title
from quire.cli.terminal import error, errors_reported, say, write_json
from quire.context import Context, Piece, Template
from quire.errors import InvalidValue, Irreducible, OverBudget, UnknownId, cut
from quire.integrations.logs.histories import OWN, History, known_format
from quire.integrations.logs.repair import render, reportable, shape_remark, shaped
from quire.items import Item, Message, Summary
from quire.providers import Downgrade
from quire.sections import Ask, History as HistorySection
from quire.state import Transcript
from quire.tokens import Budget, counter_for, summary_frame


def fit(
    file: File,
    budget: BudgetTokens,
    model: Model = None,
    source: Source = None,
    to: Annotated[str | None, typer.Option(help="the format to write; by default that of the file")] = None,
    reserve: Reserve = 0,
    output: Output = None,
    json: AsJson = False,
) -> None:
    """Write what a model would see of a history within a budget, and print why.

    The receipt goes to standard error if the payload goes to standard output.

    The exit status is 1 if the history does not fit.
    """
    with errors_reported():
        fits = _fit_all(read_histories(file, source), budget, reserve, model, source, to)
        written = [_payload(fitted, to) for fitted in fits]
        histories = [fitted.history for fitted in fits]
        write_payloads([payload for payload, _, _ in written], histories, output)
        to_errors = output in (None, "-")
        if json:
            rows = [_receipt(fitted, *result[1:]) for fitted, result in zip(fits, written, strict=True)]
            write_json(rows[0] if histories[0].line is None else rows, to_errors=to_errors)
            return
        for fitted, (_, downgrades, remark) in zip(fits, written, strict=True):
            if fitted.history.line is not None:
                say(title(file, fitted.history.line), to_errors=to_errors, bold=True)
            say(str(fitted.context.receipt), to_errors=to_errors)
            note_downgrades(fitted.history, downgrades, remark)


def explain(
    file: File,
    item: Annotated[
        str, typer.Argument(help="its id, or its number: 1 is the first, -1 the last", show_default=False)
    ],
    budget: BudgetTokens,
    model: Model = None,
    source: Source = None,
    reserve: Reserve = 0,
    line: Annotated[int | None, typer.Option(min=1, help="the line, where each is a history")] = None,
    show: Annotated[bool, typer.Option("--show", help="also print the content of the item")] = False,
    json: AsJson = False,
) -> None:
    """Explain the fate of one item of a history within a budget.

    The exit status is 1 if there is no such item.
    """
    with errors_reported():
        (fitted,) = _fit_all([_on_line(read_histories(file, source), line)], budget, reserve, model, source)
        number = _number([row.id for row in fitted.items], item)
        chosen = fitted.items[number - 1]
        entry = fitted.context.explain(chosen)
        if json:
            row = {"line": fitted.history.line, "number": number, **entry._asdict()}
            row["called"] = kind(chosen)
            write_json({**row, "content": content(chosen)} if show else row)
            return
        which = f"{number:,}" if chosen.id == str(number) else f"{number:,}, id {cut(chosen.id)!r}"
        rows = [
            ("item", which),
            ("kind", kind(chosen)),
            *((name, str(getattr(entry, name))) for name in ("fate", "rule", "section")),
            ("tokens", f"{entry.tokens:,}"),
            ("reason", entry.reason),
        ]
        for name, value in rows:
            say(f"{name:9}{value}")
        if show:
            say(f"\n{content(chosen)}")


class Fit(NamedTuple):
    """A fitted history, with its format (`source`) and the model whose tokens were counted."""

    history: History
    source: str
    items: list[Item]
    context: Context
    model: str


def _fit_all(
    histories: list[History],
    budget: int,
    reserve: int,
    model: str | None,
    source: str | None,
    to: str | None = None,
) -> list[Fit]:
    """Fit all histories. If some do not fit, each of these is reported, and nothing is written."""
    known_format(to or OWN)
    room, fits = Budget(window=budget, reserve=reserve), list[Fit]()
    for history in histories:
        wire = history.format(source)
        items = history.items(wire, model if to in (None, wire) else None)
        if wire != OWN and history.conversation is None:  # messages without ids: number the items
            items = [msgspec.structs.replace(item, id=str(number)) for number, item in enumerate(items, 1)]
        counted_as = model or history.model
        template = Template(HistorySection(), budget=room, model=counted_as)
        pieces = (Piece(HistorySection(), Transcript(items).view),)
        counter = counter_for(counted_as or COUNTED_AS)
        try:
            context = template.fit(pieces, Ask(tools=history.tools), counter=counter)
            fits.append(Fit(history, wire, items, context, counted_as or COUNTED_AS))
        except (OverBudget, Irreducible) as fault:
            error(f"{history.place}{fault}")
    if len(fits) < len(histories):
        raise typer.Exit(1)
    return fits


def _payload(fit: Fit, to: str | None) -> tuple[Any, tuple[Downgrade, ...], str | None]:
    """The payload, what its format could not carry, and a remark if it changed its shape."""
    wire, original = to or fit.source, fit.history.payload
    if wire == OWN:
        return render(_readable_alone(fit.context.items), wire)[0], (), None
    rendered = fit.context.render(wire)
    if wire != fit.source:
        return rendered.payload, rendered.downgrades, None
    payload = shaped(rendered.payload, original, wire)
    return payload, reportable(rendered.downgrades, original), shape_remark(payload, original)


def _readable_alone(items: Iterable[Item]) -> list[Item]:
    """Items that can be read without their log: a summary, whose sources are missing, becomes a message."""
    readable: list[Item] = []
    for item in reversed(list(items)):
        if isinstance(item, Summary):  # no later than the next item: files are read in order of time
            at = min(item.created_at, readable[-1].created_at) if readable else item.created_at
            item = Message("user", summary_frame(item.text), id=item.id, created_at=at)
        readable.append(item)
    return readable[::-1]


def _receipt(fit: Fit, downgrades: tuple[Downgrade, ...], remark: str | None) -> dict[str, Any]:
    """The receipt with every item, as JSON."""
    receipt = fit.context.receipt
    numbers = {item.id: number for number, item in enumerate(fit.items, 1)}
    return {
        "line": fit.history.line,
        "model": fit.model,
        "tokens": receipt.tokens,
        "available": receipt.available,
        "tool_definitions": receipt.schemas,
        "sections": [line._asdict() for line in receipt.lines()],
        "entries": [{"number": numbers.get(entry.item_id), **entry._asdict()} for entry in receipt.entries],
        "notes": [*receipt.advice, *([remark] if remark else [])],
        "downgrades": [{"change": row.change, "reason": row.reason} for row in downgrades],
    }


def _on_line(histories: list[History], line: int | None) -> History:
    if line is None and len(histories) > 1:
        raise InvalidValue(f"the file has {len(histories):,} histories: choose one with --line")
    for history in histories:
        if line is None or line == (history.line or 1):
            return history
    raise InvalidValue(f"no history begins on line {line}")


def _number(ids: Sequence[str], name: str) -> int:
    """The number of an item, from 1 on; its name is an id or a number, and -1 is the last."""
    if name in ids:
        return ids.index(name) + 1
    number = int(name) if name.lstrip("-").isdecimal() else 0
    if not 1 <= abs(number) <= len(ids):
        items = f"items 1 to {len(ids)}, -1 is the last"
        raise UnknownId(f"no item {cut(name)!r} in the history; it has {items}")
    return number if number > 0 else len(ids) + number + 1
