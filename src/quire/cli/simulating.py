"""Histories replayed under policies: what each would have cost, and whether every request was in order."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from quire.cli import formats
from quire.cli.counting import read_items
from quire.cli.files import History
from quire.cli.fitting import COUNTED_AS
from quire.cli.replay import KEEP_ALL, POLICIES, USUAL_PRICES, Replay, replay
from quire.errors import InvalidValue
from quire.items import Item
from quire.tokens import Prices, counter_for, facts_for

_MILLION = 1_000_000


class Played(NamedTuple):
    """One history to be replayed, with the tools that are defined beside it."""

    items: Sequence[Item]
    tools: Sequence[Any]


def played(history: History, source: str | None) -> Played:
    """A history as it was read from a file."""
    return Played(read_items(history, source), formats.tools_of(history.payload))


def model_for(histories: Sequence[History], asked: str | None) -> str:
    """The model to count and to charge for: the one that is asked for, or that the histories name."""
    if asked is not None:
        return asked
    named = sorted({model for each in histories if (model := formats.model_of(each.payload)) is not None})
    if len(named) > 1:
        raise InvalidValue(f"the histories are for {len(named)} models: say with --model which one to go by")
    return named[0] if named else COUNTED_AS


class Simulation(NamedTuple):
    """What was replayed, and for each policy a replay of each history; keeping all is among them."""

    budget: int
    model: str
    volatile: int
    replays: dict[str, list[Replay]]

    @property
    def histories(self) -> int:
        """How many were replayed."""
        return len(self.replays[KEEP_ALL])

    @property
    def calls(self) -> int:
        """Calls of a model in all histories."""
        return sum(len(one.calls) for one in self.replays[KEEP_ALL])


def simulated(
    histories: Sequence[Played],
    policies: Sequence[str],
    *,
    budget: int,
    model: str,
    volatile: int,
    progress: Callable[[str, int], None],
) -> Simulation:
    """Each history under each policy, and under keeping all, which the bills are compared with."""
    replays: dict[str, list[Replay]] = {}
    for name in with_keep_all(policies):
        replays[name] = [
            replay(
                each.items,
                POLICIES[name],
                tokens=None if name == KEEP_ALL else budget,
                counter=counter_for(model),
                model=model,
                volatile=volatile,
                tools=each.tools,
                progress=partial(progress, name),
            )
            for each in histories
        ]
    found = Simulation(budget, model, volatile, replays)
    if not found.calls:
        raise InvalidValue("no model is called in it: no message is followed by a reply")
    return found


def with_keep_all(policies: Sequence[str]) -> list[str]:
    """The policies once each, and keeping all last unless it is among them."""
    return list(dict.fromkeys((*policies, KEEP_ALL)))


def report(simulation: Simulation) -> dict[str, Any]:
    """The figures of each policy, summed over all histories."""
    prices = _own_prices(simulation.model)
    return {
        "budget": simulation.budget,
        "model": simulation.model,
        "volatile": simulation.volatile,
        "histories": simulation.histories,
        "calls": simulation.calls,
        "prices": "of the model" if prices else "usual",
        "policies": {name: _summed(name, simulation, prices) for name in simulation.replays},
    }


def _summed(name: str, simulation: Simulation, prices: Prices | None) -> dict[str, Any]:
    replays = simulation.replays[name]
    tokens = sum(each.tokens for each in replays)
    calls = sum(len(each.calls) for each in replays)
    bill = _bill(replays, prices or USUAL_PRICES)
    kept = _bill(simulation.replays[KEEP_ALL], prices or USUAL_PRICES)
    return {
        "cached_share": round(sum(each.cached for each in replays) / tokens, 4) if tokens else None,
        "bill": round(bill / kept, 4) if calls and kept else None,
        "usd": round(bill / _MILLION, 6) if calls and prices else None,
        "peak": max(each.peak for each in replays),
        "mean": round(tokens / calls) if calls else None,
        "calls": calls,
        "compactions": sum(each.compactions for each in replays),
        "invalid": sum(call.faults > 0 for each in replays for call in each.calls),
        "over_budget": sum(call.over_budget for each in replays for call in each.calls),
        "refused": sum(each.refused for each in replays),
    }


def _bill(replays: Sequence[Replay], prices: Prices) -> float:
    return sum(each.bill(prices) for each in replays)


def prices_for(model: str) -> Prices:
    """What a bill is worked out with: the prices of a model, or else what most providers charge."""
    return _own_prices(model) or USUAL_PRICES


def _own_prices(model: str) -> Prices | None:
    prices = facts_for(model).prices
    return None if prices.input is None or prices.output is None else prices
