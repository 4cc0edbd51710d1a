"""A simulation as a chart: tokens of each call, what no cache serves, and what was paid so far."""

from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Any

from quire.cli.chart import Line, Panel, drawn
from quire.cli.replay import KEEP_ALL, POLICIES, Call, Replay
from quire.cli.simulating import Simulation, prices_for

_FEW = 40
"""Histories whose beginnings are marked; with more there would be marks and little else."""

_HEADROOM = 1.5
"""How far above the budget the calls are drawn: what keeps everything would make all others flat."""


def chart(simulation: Simulation, report: dict[str, Any], title: str) -> str:
    """The chart of all histories, one after the other."""
    starts = _starts(simulation)
    calls = {name: _placed(replays, starts) for name, replays in simulation.replays.items()}
    prices = prices_for(simulation.model)
    kept = sum(Replay((call,), 0).bill(prices) for _, call in calls[KEEP_ALL])
    figures = report["policies"]

    def lines(values: dict[str, Iterable[float]]) -> list[Line]:
        return [
            Line(name, _note(figures[name]), _style(name), _points(calls[name], found))
            for name, found in values.items()
        ]

    sent = lines({name: [call.tokens for _, call in found] for name, found in calls.items()})
    fresh = lines(
        {name: accumulate(call.tokens - call.cached for _, call in found) for name, found in calls.items()}
    )
    paid = lines(
        {
            name: accumulate(Replay((call,), 0).bill(prices) / kept for _, call in found)
            for name, found in calls.items()
        }
    )
    most = _highest_call(sent, simulation.budget)
    limit = (float(simulation.budget), f"budget {simulation.budget:,}")
    panels = [
        Panel(_sent_title(sent, most), sent, most, limit),
        Panel("Tokens that no cache serves, added up", fresh, _highest(fresh)),
        Panel("Paid so far, where keeping everything costs 1 in all", paid, _highest(paid)),
    ]
    breaks = [start + 1 for start in starts[1:]] if len(starts) <= _FEW else []
    return drawn(title, _subtitle(simulation), panels, "call of the model", breaks)


def _starts(simulation: Simulation) -> list[int]:
    """How many calls there are before each history."""
    return [0, *accumulate(len(each.calls) for each in simulation.replays[KEEP_ALL])][:-1]


def _placed(replays: list[Replay], starts: list[int]) -> list[tuple[int, Call]]:
    """Calls with their number; those that were refused leave a gap at the end of their history."""
    return [
        (number, call)
        for start, each in zip(starts, replays, strict=True)
        for number, call in enumerate(each.calls, start + 1)
    ]


def _points(calls: list[tuple[int, Call]], values: Iterable[float]) -> list[tuple[int, float]]:
    return [(number, value) for (number, _), value in zip(calls, values, strict=True)]


def _highest(lines: Iterable[Line]) -> float:
    return max(_values(lines), default=1.0)


def _highest_call(lines: list[Line], budget: int) -> float:
    """Enough for all that keep to the budget; whatever keeps everything may leave the panel."""
    bounded = [line for line in lines if line.name != KEEP_ALL]
    most = max(_highest(lines), 1.0)
    return min(most, max(_highest(bounded), budget) * _HEADROOM) if bounded else most


def _sent_title(lines: list[Line], most: float) -> str:
    peak = _highest(lines)
    return f"Tokens of each call; {KEEP_ALL} goes up to {peak:,.0f}" if peak > most else "Tokens of each call"


def _values(lines: Iterable[Line]) -> Iterator[float]:
    return (value for line in lines for _, value in line.points)


def _style(name: str) -> int:
    """The same for a policy whichever others are beside it."""
    return list(POLICIES).index(name)


def _note(figures: dict[str, Any]) -> str:
    if figures["refused"]:
        return f"{figures['refused']:,} calls do not fit"
    return f"{figures['cached_share']:.1%} cached, bill {figures['bill']:.2f}"


def _subtitle(simulation: Simulation) -> str:
    histories = f"{simulation.histories:,} histories, " if simulation.histories > 1 else ""
    return (
        f"{histories}{simulation.calls:,} calls, a budget of {simulation.budget:,} tokens, {simulation.model}"
    )
