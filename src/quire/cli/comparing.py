"""The command that compares policies: a history replayed under each, with figures and a chart."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from quire.cli.arguments import AsJson, BudgetTokens, File, Source
from quire.cli.files import as_json, read_histories, write_text
from quire.cli.fitting import checked_policy
from quire.cli.plotting import chart
from quire.cli.progress import progress
from quire.cli.replay import POLICIES
from quire.cli.simulating import model_for, played, report, simulated, with_keep_all
from quire.cli.telling import clear_errors
from quire.errors import cut


def simulate(
    file: File,
    budget: BudgetTokens,
    policy: Annotated[
        list[str] | None, typer.Option(help="a policy to replay with; may be repeated; all if left out")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="count and charge as this model does; the one in the file if left out"),
    ] = None,
    source: Source = None,
    volatile: Annotated[
        int, typer.Option(min=0, help="tokens of a block that is another one in each call")
    ] = 0,
    svg: Annotated[str | None, typer.Option(help="write a chart here")] = None,
    json: AsJson = False,
) -> None:
    """Replay histories call by call under policies, and compare what each would have cost."""
    with clear_errors():
        names = [checked_policy(name) for name in policy or POLICIES]
        found_there = read_histories(file)
        going_by = model_for(found_there, model)
        histories = [played(history, source) for history in found_there]
        steps = sum(len(each.items) for each in histories) * len(with_keep_all(names))
        with progress(steps) as advance:
            done = simulated(
                histories, names, budget=budget, model=going_by, volatile=volatile, progress=advance
            )
        found = report(done)
        if svg is not None:
            write_text(chart(done, found, f"{_called(file)}, replayed"), svg)
    if json:
        typer.echo(as_json(found), nl=False, err=svg == "-")
    else:
        _print_report(found, file, to_errors=svg == "-")


def _called(file: str) -> str:
    return "Standard input" if file == "-" else cut(Path(file).name)


def _print_report(found: dict[str, Any], file: str, *, to_errors: bool) -> None:
    stream = sys.stderr if to_errors else sys.stdout
    console = Console(file=stream, width=None if stream.isatty() else _WIDE, soft_wrap=True, highlight=False)
    histories = f"{found['histories']:,} histories, " if found["histories"] > 1 else ""
    console.print(
        f"{file}: {histories}{found['calls']:,} calls, budget {found['budget']:,} tokens, {found['model']}\n",
        markup=False,
    )
    console.print(_table(found["policies"]), soft_wrap=False)
    prices = f"the prices of {found['model']}" if found["prices"] == "of the model" else _USUAL
    console.print(f"\nThe bill is a ratio to keep-all, at {prices}.", markup=False)
    for name, row in found["policies"].items():
        if row["refused"]:
            console.print(
                f"! {name}: {row['refused']:,} calls could not be made to fit: its bill is without them"
            )


def _table(policies: dict[str, dict[str, Any]]) -> Table:
    table = Table("policy", box=None, pad_edge=False, padding=(0, 1, 0, 0))
    has_money = any(row["usd"] is not None for row in policies.values())
    shown = [column for column in _COLUMNS if has_money or column[0] != "usd"]
    for _, title, _ in shown:
        table.add_column(title, justify="right", overflow="fold")
    for policy, row in policies.items():
        cells = ("-" if row[name] is None else style.format(row[name]) for name, _, style in shown)
        table.add_row(policy, *cells)
    return table


_WIDE = 120
"""Columns where nobody watches: nothing is broken to fit a terminal."""

_USUAL = "what most providers charge: 0.1 for a token that a cache serves, 1.25 for one that it does not"

_COLUMNS = (
    ("cached_share", "cached", "{:.1%}"),
    ("bill", "bill", "{:.2f}"),
    ("usd", "USD", "{:,.4f}"),
    ("peak", "peak", "{:,}"),
    ("compactions", "compacted", "{:,}"),
    ("invalid", "invalid", "{:,}"),
    ("over_budget", "over", "{:,}"),
    ("refused", "refused", "{:,}"),
)
"""The figures that are printed: what they are called, and how they are written."""
