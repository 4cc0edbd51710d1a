"""The command `simulate`: replays histories under compaction policies, and compares the costs."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from quire.cli.histories import read_histories
from quire.cli.options import COUNTED_AS, AsJson, BudgetTokens, File, Source
from quire.cli.phrases import plural
from quire.cli.terminal import errors_reported, say, table, write_json
from quire.context import KEEP_ALL, POLICIES, USUAL_PRICES, Replay, known_prices, replay, summed
from quire.errors import InvalidValue, cut
from quire.integrations.logs.histories import History
from quire.tokens import counter_for


def simulate(
    file: File,
    budget: BudgetTokens,
    policy: Annotated[
        list[str] | None, typer.Option(help="a policy to replay; may be repeated; all by default")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="count and charge as this model does; by default the one in the file")
    ] = None,
    source: Source = None,
    volatile: Annotated[int, typer.Option(min=0, help="tokens of a block that differs in each call")] = 0,
    json: AsJson = False,
) -> None:
    """Replay histories call by call under policies, and compare what each would have cost."""
    with errors_reported():
        names = list(dict.fromkeys((*(policy or POLICIES), KEEP_ALL)))
        if unknown := [name for name in names if name not in POLICIES]:
            raise InvalidValue(f"no policy {cut(unknown[0])!r}; there are {', '.join(POLICIES)}")
        histories = read_histories(file, source)
        counted_as = _model_for(histories, model)
        replays = {
            name: [
                replay(
                    history.items(source),
                    POLICIES[name],
                    tokens=None if name == KEEP_ALL else budget,
                    counter=counter_for(counted_as),
                    model=counted_as,
                    volatile=volatile,
                    tools=history.tools,
                )
                for history in histories
            ]
            for name in names
        }
        settings: dict[str, Any] = {"budget": budget, "model": counted_as, "volatile": volatile}
        report = settings | _figures(replays, counted_as)
        if json:
            write_json(report)
        else:
            _print_report(report, file)


def _model_for(histories: Sequence[History], chosen: str | None) -> str:
    named = sorted({history.model for history in histories if history.model is not None})
    if chosen is None and len(named) > 1:
        raise InvalidValue(f"the histories are for {len(named)} models: choose one with --model")
    return chosen or (named[0] if named else COUNTED_AS)


# The report


def _figures(replays: dict[str, list[Replay]], model: str) -> dict[str, Any]:
    """The figures of all policies; the bill is a ratio to that of keeping everything."""
    calls = sum(len(run.calls) for run in replays[KEEP_ALL])
    if not calls:
        raise InvalidValue("the file has no reply of a model")
    own_prices = known_prices(model)
    prices = own_prices or USUAL_PRICES
    bills = {name: sum(run.bill(prices) for run in runs) for name, runs in replays.items()}
    policies = {name: summed(runs) for name, runs in replays.items()}
    for name, row in policies.items():
        row["bill"] = round(bills[name] / bills[KEEP_ALL], 4) if row["calls"] and bills[KEEP_ALL] else None
        row["usd"] = round(bills[name] / 1_000_000, 6) if row["calls"] and own_prices else None
    return {
        "histories": len(replays[KEEP_ALL]),
        "calls": calls,
        "prices": "of the model" if own_prices else "usual",
        "policies": policies,
    }


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
"""The printed figures: field, header and format."""


def _print_report(report: dict[str, Any], file: str) -> None:
    histories = f"{report['histories']:,} histories, " if report["histories"] > 1 else ""
    head = f"{file}: {histories}{plural(report['calls'], 'call')}, budget {report['budget']:,} tokens"
    say(f"{head}, {report['model']}\n")
    policies, is_own = report["policies"], report["prices"] == "of the model"
    columns = [column for column in _COLUMNS if is_own or column[0] != "usd"]
    rows = [("policy", *(header for _, header, _ in columns))]
    for name, row in policies.items():
        cells = ("-" if row[field] is None else style.format(row[field]) for field, _, style in columns)
        rows.append((name, *cells))
    table(rows)
    usual = "what most providers charge: 0.1 for a cached token, 1.25 for one that is not"
    prices = f"the prices of {report['model']}" if is_own else usual
    say(f"\nThe bill is a ratio to keep-all, at {prices}.")
    for name, row in policies.items():
        if row["refused"]:
            calls = plural(row["refused"], "call")
            say(f"! {name}: {calls} could not be made to fit: its bill is without them")
