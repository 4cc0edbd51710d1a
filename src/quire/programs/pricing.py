"""What a program will cost, estimated from its text: its calls, how often, and what each of them costs."""

import ast
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from quire.programs.sandbox.functions import called_as, callees_first, functions_in
from quire.programs.sandbox.source import tree_of
from quire.tokens import Usage, cost, facts_for

_TYPICAL = Usage(input=1_000, output=300)
_UNKNOWN_MONEY = 0.01
_MODEL_SECONDS = 5.0
_MOST_TIMES = 1e12
_THROUGH = {"enumerate", "list", "reversed", "set", "sorted", "tuple", "zip"}
_COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


class Price(msgspec.Struct, frozen=True, order=True):
    """Estimates, compared in this order: US dollars, seconds, calls."""

    money: float
    seconds: float
    calls: float


class Cost(msgspec.Struct, frozen=True):
    """What one call of a function costs."""

    money: float = 0.0
    seconds: float = 1.0


def cost_of_model(name: str) -> Cost:
    """A typical request of a model and its answer; a model of unknown price is not taken to be free."""
    money = cost(facts_for(name), _TYPICAL)
    return Cost(_UNKNOWN_MONEY if money is None else money, _MODEL_SECONDS)


def price_of(code: str, costs: Mapping[str, Cost], unknown: int = 10) -> Price:
    """The price of a program; a loop whose length its text does not say is gone through `unknown` times."""
    tree = tree_of(code)
    return _Reader(tree, costs, unknown).of(tree.body)


class _Reader:
    """One reading of a program."""

    def __init__(self, tree: ast.Module, costs: Mapping[str, Cost], unknown: int) -> None:
        self._costs = costs
        self._unknown = float(unknown)
        self._lengths: dict[str, float] = {}
        self._lengths = self._known_lengths(tree)
        self._own: dict[str, Price] = {}
        """Of the program's functions. How often one calls itself cannot be seen: it has no price there."""
        functions = functions_in(tree)
        for name in callees_first(tree, functions):
            self._own[name] = _times(self.of(functions[name].body), 1.0)

    def of(self, nodes: Iterable[ast.AST | None]) -> Price:
        money = seconds = calls = 0.0
        for node in nodes:
            if node is not None:
                one = self._one(node)
                money, seconds, calls = money + one.money, seconds + one.seconds, calls + one.calls
        return Price(money, seconds, calls)

    def _one(self, node: ast.AST) -> Price:
        match node:
            case ast.Call():
                return self._call(node)
            case ast.For() | ast.AsyncFor():
                loop = _times(self.of(node.body), self._length(node.iter))
                return _sum([self._one(node.iter), loop, self.of(node.orelse)])
            case ast.While():
                loop = _times(self.of([node.test, *node.body]), self._unknown)
                return _sum([loop, self.of(node.orelse)])
            case ast.If() | ast.IfExp():
                either = max(self.of(_several(node.body)), self.of(_several(node.orelse)))
                return _sum([self._one(node.test), either])
            case ast.Match():
                return _sum([self._one(node.subject), max(self.of([case]) for case in node.cases)])
            case ast.Try():
                caught = max([self.of([one]) for one in node.handlers], default=_NOTHING)
                return _sum([self.of([*node.body, *node.orelse, *node.finalbody]), caught])
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                return self._comprehension(node)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return _NOTHING  # counted where it is called
            case ast.Name(id=name):
                return self._named(name)
            case _:
                return self.of(ast.iter_child_nodes(node))

    def _call(self, node: ast.Call) -> Price:
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        name = called_as(node)
        if name in ("gather", ".gather"):
            return self._side_by_side(given)
        priced = self.of([node.func, *given])
        own = self._own.get(name)
        return priced if own is None or name in self._costs else _sum([priced, own])

    def _named(self, name: str) -> Price:
        """One call of a function that is named: whoever hands it on has it called."""
        found = self._costs.get(name)
        return _NOTHING if found is None else Price(found.money, found.seconds, 1.0)

    def _side_by_side(self, given: Iterable[ast.AST]) -> Price:
        """All of the money, and the time of the longest."""
        found: list[Price] = []
        for node in given:
            inner = node.value if isinstance(node, ast.Starred) else node
            if isinstance(inner, ast.List | ast.Tuple | ast.Set):
                found.append(self._side_by_side(inner.elts))
            else:
                found.append(self._one(inner))
        return _together(found)

    def _comprehension(self, node: Any) -> Price:
        times, first = 1.0, _NOTHING
        for loop in node.generators:
            first = _sum([first, _times(self._one(loop.iter), times)])
            times = min(times * self._length(loop.iter), _MOST_TIMES)
            first = _sum([first, _times(self.of(loop.ifs), times)])
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        each = self.of(parts)
        all_of_them = _times(each, times)
        if any(isinstance(part, ast.Call) for part in parts):
            # Calls that are not awaited one by one are awaited together.
            all_of_them = msgspec.structs.replace(all_of_them, seconds=each.seconds)
        return _sum([first, all_of_them])

    def _length(self, node: ast.AST) -> float:
        match node:
            case ast.List(elts=several) | ast.Tuple(elts=several) | ast.Set(elts=several):
                starred = any(isinstance(one, ast.Starred) for one in several)
                return self._unknown if starred else float(len(several))
            case ast.Dict(keys=several):
                return float(len(several))
            case ast.Constant(value=str() | bytes() as text):
                return float(len(text))
            case ast.Name(id=name):
                return self._lengths.get(name, self._unknown)
            case ast.Call(func=ast.Name(id="range"), args=limits):
                return _length_of_range(limits, self._unknown)
            case ast.Call(func=ast.Name(id=name), args=[first, *_]) if name in _THROUGH:
                return self._length(first)
            case ast.Call(func=ast.Attribute(value=inner, attr="items" | "keys" | "values"), args=[]):
                return self._length(inner)
            case _:
                return self._unknown

    def _known_lengths(self, tree: ast.Module) -> dict[str, float]:
        """Of names that are set once, to something whose length is in the text."""
        stored = Counter(
            node.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        )
        grown = {
            node.value.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        }
        found: dict[str, float] = {}
        for node in tree.body:
            if (
                isinstance(node, ast.Assign)
                and len(node.targets) == 1
                and isinstance(node.targets[0], ast.Name)
            ):
                name = node.targets[0].id
                if stored[name] == 1 and name not in grown:
                    found[name] = self._length(node.value)
        return found


_NOTHING = Price(0.0, 0.0, 0.0)


def _several(part: Sequence[ast.AST] | ast.AST) -> Sequence[ast.AST]:
    return [part] if isinstance(part, ast.AST) else part


def _sum(prices: Iterable[Price]) -> Price:
    money = seconds = calls = 0.0
    for one in prices:
        money, seconds, calls = money + one.money, seconds + one.seconds, calls + one.calls
    return Price(money, seconds, calls)


def _together(prices: list[Price]) -> Price:
    return msgspec.structs.replace(_sum(prices), seconds=max((one.seconds for one in prices), default=0.0))


def _times(price: Price, times: float) -> Price:
    """So much of a price, within what can be added up."""
    money, seconds, calls = price.money * times, price.seconds * times, price.calls * times
    return Price(min(money, _MOST_TIMES), min(seconds, _MOST_TIMES), min(calls, _MOST_TIMES))


def _length_of_range(limits: list[ast.expr], unknown: float) -> float:
    try:
        numbers = [ast.literal_eval(limit) for limit in limits]
        return min(float(len(range(*numbers))), _MOST_TIMES)
    except OverflowError:
        return _MOST_TIMES
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return unknown
