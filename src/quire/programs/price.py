"""The price of a program, estimated from its text."""

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, cast

import msgspec

from quire.programs.source import parse
from quire.programs.task import Task
from quire.tokens import Usage, cost, facts_for

_TYPICAL_REQUEST = Usage(input=1_000, output=300)
_UNKNOWN_MODEL_MONEY = 0.01
_LOOP_COUNT = 10
"""How often the body of a loop counts: the text rarely shows its length."""

_MAX_PRICE = 1e12
_LOOPS = (ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Price(msgspec.Struct, frozen=True, order=True):
    """An estimate: US dollars for models, and calls. Prices compare by dollars first."""

    money: float
    calls: float


def estimate(code: str, task: Task) -> Price:
    """The calls that a program mentions, ten times for each loop around them, at the prices of its models.

    A mention of one of the program's own functions counts as the calls that the function mentions.
    """
    try:
        counts = _counts(parse(code), {*task.tools, *task.models})
    except RecursionError:  # functions that call each other in a very long chain
        return Price(_MAX_PRICE, _MAX_PRICE)
    money = sum(counts.get(name, 0.0) * _money(model.name) for name, model in task.models.items())
    return Price(min(money, _MAX_PRICE), min(sum(counts.values()), _MAX_PRICE))


def _money(model: str) -> float:
    """The price of one typical request."""
    money = cost(facts_for(model), _TYPICAL_REQUEST)
    return _UNKNOWN_MODEL_MONEY if money is None else money


def _counts(tree: ast.Module, functions: Collection[str]) -> Mapping[str, float]:
    """How often a program mentions each function of its task."""
    own_functions = {node.name: node for node in ast.walk(tree) if isinstance(node, _FUNCTIONS)}
    counts_by_name: dict[str, Mapping[str, float]] = {name: {name: 1.0} for name in functions}

    def count_in(nodes: Iterable[ast.AST]) -> Mapping[str, float]:
        counts: dict[str, float] = {}
        for name, times in _lookups(nodes):
            if name in own_functions and name not in counts_by_name:
                counts_by_name[name] = {}  # so that recursive calls in its body count nothing
                counts_by_name[name] = count_in(own_functions[name].body)
            for mentioned, count in counts_by_name.get(name, {}).items():
                counts[mentioned] = min(counts.get(mentioned, 0.0) + count * times, _MAX_PRICE)
        return counts

    return count_in(tree.body)


def _lookups(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, float]]:
    """Each name that is looked up, and how often; the body of a function counts where its name is used."""
    pending, times_by_iterable = [(node, 1.0) for node in nodes], dict[ast.AST, float]()
    while pending:
        node, times = pending.pop()
        times = times_by_iterable.get(node, times)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id, times
        if isinstance(node, _LOOPS):
            times_by_iterable[_evaluated_once(node)] = times
            times *= _LOOP_COUNT
        if not isinstance(node, _FUNCTIONS):
            pending += ((child, times) for child in ast.iter_child_nodes(node))


def _evaluated_once(loop: ast.AST) -> ast.AST:
    """The iterable of a loop, which is evaluated once; a `while` has none."""
    first = cast("Any", loop).generators[0] if hasattr(loop, "generators") else loop
    return getattr(first, "iter", loop)
