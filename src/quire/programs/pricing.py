"""What a program will cost, estimated from its text: its calls, how often, and what each of them costs."""

import ast
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from quire.programs.check import parse
from quire.programs.functions import called_as, callees_first, functions_in, standing_in
from quire.programs.lengths import MOST_TIMES, Lengths
from quire.tokens import Usage, cost, facts_for

_TYPICAL = Usage(input=1_000, output=300)
_UNKNOWN_MONEY = 0.01
_MODEL_SECONDS = 5.0


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
    tree = parse(code)
    return _Reader(tree, costs, unknown).of(tree.body)


class _Reader:
    """One reading of a program."""

    def __init__(self, tree: ast.Module, costs: Mapping[str, Cost], unknown: int) -> None:
        self._costs = costs
        self._unknown = float(unknown)
        self._length = Lengths(tree, unknown).of
        self._standing: dict[str, Price] = {}
        """Of names that stand for functions: each use of one is a call."""
        self._own: dict[str, Price] = {}
        """Of the program's functions. How often one calls itself cannot be seen: it has no price there."""
        functions, standing = functions_in(tree), list(standing_in(tree))
        self._stand(standing)
        for name in callees_first(tree, functions):
            self._own[name] = _times(self.of(functions[name].body), 1.0)
        self._stand(standing)  # some stand for functions of the program, which have a price now

    def _stand(self, standing: Iterable[tuple[str, ast.expr]]) -> None:
        for name, value in standing:
            self._standing[name] = self._one(value)

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
            case _ if self._is_called_later(node):
                return _NOTHING
            case ast.Name(id=name, ctx=ast.Load()):
                return self._named(name)
            case _:
                return self.of(ast.iter_child_nodes(node))

    def _is_called_later(self, node: ast.AST) -> bool:
        """Whether this only gives a name to what has its price where it is called."""
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]):
                return name in self._standing
            case _:
                return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)

    def _call(self, node: ast.Call) -> Price:
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        name = called_as(node)
        if name in ("gather", ".gather"):
            return self._side_by_side(given)
        if name == "map" and len(given) > 1:
            return self._mapped(given)
        priced = self.of([node.func, *given])
        own = self._own.get(name)
        return priced if own is None or name in self._costs else _sum([priced, own])

    def _named(self, name: str) -> Price:
        """One call of a function that is named: whoever hands it on has it called."""
        found = self._costs.get(name)
        if found is None:
            return self._standing.get(name, _NOTHING)
        return Price(found.money, found.seconds, 1.0)

    def _mapped(self, given: Sequence[ast.expr]) -> Price:
        """One call for each of what is gone through; they are awaited together, if at all."""
        function, first = given[0], given[1]
        own = self._own.get(function.id) if isinstance(function, ast.Name) else None
        each = self._one(function) if own is None else own
        every = msgspec.structs.replace(_times(each, self._length(first)), seconds=each.seconds)
        return _sum([every, self.of(given[1:])])

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
            times = min(times * self._length(loop.iter), MOST_TIMES)
            first = _sum([first, _times(self.of(loop.ifs), times)])
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        each = self.of(parts)
        all_of_them = _times(each, times)
        if any(isinstance(part, ast.Call) for part in parts):
            # Calls that are not awaited one by one are awaited together.
            all_of_them = msgspec.structs.replace(all_of_them, seconds=each.seconds)
        return _sum([first, all_of_them])


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
    return Price(min(money, MOST_TIMES), min(seconds, MOST_TIMES), min(calls, MOST_TIMES))
