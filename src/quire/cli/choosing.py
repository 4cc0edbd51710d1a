"""The commands that say what a model sees of a history: fit it into a budget, and explain an item of it."""

from typing import Annotated

import typer

from quire.cli import explaining, formats, receipts
from quire.cli.arguments import AsJson, BudgetTokens, File, Model, Output, Reserve, Source
from quire.cli.files import History, as_json, read_histories, write_text
from quire.cli.fitting import Fit, Wanted, fitted, known_policy, payload_of
from quire.cli.telling import clear_errors, place, print_downgrades, print_error, print_note, title
from quire.cli.writing import one_or_all, write_payloads
from quire.errors import InvalidValue, Irreducible, OverBudget, UnknownId
from quire.tokens import Budget

Policy = Annotated[
    str | None, typer.Option(help="compact with this policy first; one that needs no model to write")
]


def fit(
    file: File,
    budget: BudgetTokens,
    model: Model = None,
    source: Source = None,
    to: Annotated[
        str | None, typer.Option(help="the format to write; that of the file if left out", show_default=False)
    ] = None,
    reserve: Reserve = 0,
    policy: Policy = None,
    output: Output = None,
    json: AsJson = False,
) -> None:
    """Write what a model would see of a history within a budget, and say why; exit status 1 if nothing fits.

    The receipt is printed on standard output, or on standard error where the payload goes to the first.
    """
    with clear_errors():
        wanted = _wanted(budget, reserve, model, source, to, policy)
        histories = read_histories(file)
        fits = _all_fitted(histories, wanted)
        written = [payload_of(each, wanted) for each in fits]
        write_payloads([payload for payload, _, _ in written], histories, output)
        to_errors = output in (None, "-")
        if json:
            data = [receipts.as_data(each, *made[1:]) for each, made in zip(fits, written, strict=True)]
            typer.echo(as_json(one_or_all(data, histories)), nl=False, err=to_errors)
        else:
            for each, (_, downgrades, note) in zip(fits, written, strict=True):
                _print_receipt(each, file, to_errors)
                print_downgrades(each.history, downgrades)
                print_note(each.history, note)


def explain(
    file: File,
    item: Annotated[
        str,
        typer.Argument(help="its id or its number: 1 is the first, -1 the last", show_default=False),
    ],
    budget: BudgetTokens,
    model: Model = None,
    source: Source = None,
    reserve: Reserve = 0,
    policy: Policy = None,
    line: Annotated[int | None, typer.Option(min=1, help="the line, where each is a history")] = None,
    show: Annotated[bool, typer.Option("--show", help="print what it says, too")] = False,
    json: AsJson = False,
) -> None:
    """Say what became of one item of a history within a budget, and why; exit status 1 if there is none."""
    with clear_errors():
        wanted = _wanted(budget, reserve, model, source, None, policy)
        (found,) = _all_fitted([_on_line(read_histories(file), line)], wanted)
        number = _number(found, item)
        said = explaining.content_of(found.items[number - 1]) if show else None
        if json:
            write_text(as_json(receipts.explained(found, number, said)), None)
        else:
            write_text(receipts.explained_text(found, number, said), None)


def _wanted(
    budget: int, reserve: int, model: str | None, source: str | None, to: str | None, policy: str | None
) -> Wanted:
    window = Budget(window=budget, reserve=reserve)
    wire = None if to is None else formats.guessed(None, to)
    return Wanted(window, model, source, wire, known_policy(policy))


def _all_fitted(histories: list[History], wanted: Wanted) -> list[Fit]:
    """All histories fitted; where one cannot be, all that cannot are named, and nothing is written."""
    fits: list[Fit] = []
    for history in histories:
        try:
            fits.append(fitted(history, wanted))
        except (OverBudget, Irreducible) as fault:
            print_error(f"{place(history)}{fault}")
    if len(fits) < len(histories):
        raise typer.Exit(1)
    return fits


def _print_receipt(each: Fit, file: str, to_errors: bool) -> None:
    if each.history.line is not None:
        typer.secho(title(file, each.history.line), bold=True, err=to_errors)
    typer.echo(receipts.as_text(each), nl=False, err=to_errors)


def _on_line(histories: list[History], line: int | None) -> History:
    if line is None and len(histories) > 1:
        raise InvalidValue(f"there are {len(histories):,} histories in it: say which with --line")
    for history in histories:
        if line is None or line == (history.line or 1):
            return history
    raise InvalidValue(f"no history begins on line {line}")


def _number(found: Fit, item: str) -> int:
    try:
        return explaining.meant(found.items, item)
    except UnknownId as fault:
        print_error(f"{place(found.history)}{fault}")
        raise typer.Exit(1) from None
