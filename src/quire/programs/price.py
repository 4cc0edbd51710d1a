"""The price of a program, estimated from its text: its calls, how often, and what each one costs."""

import ast
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from quire.programs.check import Program, parse
from quire.programs.task import Task
from quire.tokens import Usage, cost, facts_for

_TYPICAL_REQUEST = Usage(input=1_000, output=300)
_UNKNOWN_MODEL_MONEY = 0.01
_MODEL_SECONDS = 5.0

_MOST = 1e12
"""No loop counts more often than this, and no estimate exceeds it."""

_SAME_LENGTH = frozenset(("enumerate", "list", "reversed", "set", "sorted", "tuple", "zip"))


class Price(msgspec.Struct, frozen=True, order=True):
    """An estimate, compared in this order: US dollars, seconds, calls."""

    money: float
    seconds: float
    calls: float


class Cost(msgspec.Struct, frozen=True):
    """The cost of one call of a function."""

    money: float = 0.0
    seconds: float = 1.0


def estimate(program: Program, task: Task) -> Price:
    """The price of a program for a task: a tool costs a second, a model what its price list says."""
    costs = dict.fromkeys(task.tools, Cost())
    for name, model in task.models.items():
        money = cost(facts_for(model.name), _TYPICAL_REQUEST)
        costs[name] = Cost(_UNKNOWN_MODEL_MONEY if money is None else money, _MODEL_SECONDS)
    return price_of(program.code, costs)


def price_of(code: str, costs: Mapping[str, Cost], unknown: int = 10) -> Price:
    """The price of a program; a loop whose length is not in the text counts `unknown` times."""
    tree = parse(code)
    try:
        return _Estimate(tree, costs, float(unknown)).of(tree.body)
    except RecursionError:  # functions that call each other in a very long chain
        return Price(_MOST, _MOST, _MOST)


_NOTHING = Price(0.0, 0.0, 0.0)


class _Estimate:
    """One reading of a program.

    Each mention of a tool or of a function of the program counts as one call, also where the name is passed
    on. How often a function calls itself is not in the text: the inner call costs nothing.
    """

    def __init__(self, tree: ast.Module, costs: Mapping[str, Cost], unknown: float) -> None:
        self._costs = costs
        self._unknown = unknown
        nodes = list(ast.walk(tree))
        self._functions = {
            node.name: node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        self._prices: dict[str, Price] = {}
        self._lengths: dict[str, float] = {}
        """The lengths of the values of names that are bound once."""
        bound = Counter(
            node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        )
        for node in nodes:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)]) if bound[name] == 1:
                    self._lengths[name] = self._length(node.value)
                case _:
                    pass

    def of(self, nodes: Iterable[ast.AST]) -> Price:
        """The price of nodes one after another."""
        return _sum(map(self._price, nodes))

    def _price(self, node: ast.AST) -> Price:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return _NOTHING  # counted where it is called
            case ast.Name(id=name, ctx=ast.Load()):
                return self._mention(name)
            case ast.Attribute(attr=name, value=value) if name in self._functions:
                return _sum([self._price(value), self._function(name)])
            case ast.Call():
                return self._call(node)
            case ast.For():
                loop = _repeated(self.of(node.body), self._length(node.iter))
                return _sum([self._price(node.iter), loop, self.of(node.orelse)])
            case ast.While():
                return _repeated(self.of([node.test, *node.body, *node.orelse]), self._unknown)
            case ast.If():
                return _sum([self._price(node.test), max(self.of(node.body), self.of(node.orelse))])
            case ast.IfExp():
                return _sum([self._price(node.test), max(self._price(node.body), self._price(node.orelse))])
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                return self._comprehension(node)
            case _:
                return self.of(ast.iter_child_nodes(node))

    def _mention(self, name: str) -> Price:
        found = self._costs.get(name)
        if found is not None:
            return Price(found.money, found.seconds, 1.0)
        return self._function(name) if name in self._functions else _NOTHING

    def _function(self, name: str) -> Price:
        if name not in self._prices:
            self._prices[name] = _NOTHING  # while its own body is read
            self._prices[name] = self.of(self._functions[name].body)
        return self._prices[name]

    def _call(self, node: ast.Call) -> Price:
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        match node.func:
            case ast.Name(id="gather") | ast.Attribute(attr="gather"):
                return self._gathered(arguments)
            case ast.Name(id="map") if len(arguments) > 1:
                each = self._price(arguments[0])
                return _sum(
                    [_repeated(each, self._length(arguments[1]), together=True), self.of(arguments[1:])]
                )
            case _:
                return self.of([node.func, *arguments])

    def _gathered(self, nodes: Iterable[ast.AST]) -> Price:
        """The money of all, and the time of the longest."""
        prices: list[Price] = []
        for node in nodes:
            match node:
                case ast.Starred(value=ast.List(elts=parts) | ast.Tuple(elts=parts)):
                    prices.append(self._gathered(parts))
                case _:
                    prices.append(self._price(node))
        longest = max((one.seconds for one in prices), default=0.0)
        return msgspec.structs.replace(_sum(prices), seconds=longest)

    def _comprehension(self, node: Any) -> Price:
        times, before = 1.0, _NOTHING
        for loop in node.generators:
            before = _sum([before, _repeated(self._price(loop.iter), times)])
            times = min(times * self._length(loop.iter), _MOST)
            before = _sum([before, _repeated(self.of(loop.ifs), times)])
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        each = self.of(parts)
        # Calls that are not awaited one by one are awaited together.
        together = any(isinstance(part, ast.Call) for part in parts)
        return _sum([before, _repeated(each, times, together=together)])

    def _length(self, node: ast.AST) -> float:
        """How often a loop over this value runs. A list that begins empty is filled elsewhere."""
        match node:
            case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts) | ast.Dict(keys=parts):
                starred = any(part is None or isinstance(part, ast.Starred) for part in parts)
                return self._unknown if starred or not parts else float(len(parts))
            case ast.Name(id=name):
                return self._lengths.get(name, self._unknown)
            case ast.Call(func=ast.Name(id="range"), args=limits):
                return self._range_length(limits)
            case ast.Call(func=ast.Name(id="map" | "filter"), args=[_, values, *_]):
                return self._length(values)
            case ast.Call(func=ast.Name(id=name), args=[values, *_]) if name in _SAME_LENGTH:
                return self._length(values)
            case ast.Call(func=ast.Attribute(value=value, attr="items" | "keys" | "values"), args=[]):
                return self._length(value)
            case _:
                return self._unknown

    def _range_length(self, limits: list[ast.expr]) -> float:
        try:
            return float(min(len(range(*map(ast.literal_eval, limits))), _MOST))
        except OverflowError:
            return _MOST
        except (ValueError, TypeError):
            return self._unknown


def _sum(prices: Iterable[Price]) -> Price:
    money = seconds = calls = 0.0
    for one in prices:
        money, seconds, calls = money + one.money, seconds + one.seconds, calls + one.calls
    return Price(min(money, _MOST), min(seconds, _MOST), min(calls, _MOST))


def _repeated(price: Price, times: float, *, together: bool = False) -> Price:
    seconds = price.seconds if together else price.seconds * times
    return _sum([Price(price.money * times, seconds, price.calls * times)])
