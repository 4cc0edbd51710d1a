"""What the tests of a program say of fields, with those in functions of its own."""

import ast
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from quire.programs.sandbox.field_places import Places
from quire.programs.sandbox.fields import ITSELF, Field, Read, fields_of, is_none, read_by
from quire.programs.sandbox.functions import Function, called_as, functions_in, standing_in

_TAKING_NONE = ("bool", "isinstance")
"""What may be asked of None too. Others would fail of it."""

_DEEPEST = 10
"""Functions that ask one another: no more are followed."""

_COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
}


class Tests:
    """What the tests of a program say of fields: which are not None where one is true, or where it is not."""

    def __init__(self, tree: ast.Module) -> None:
        lambdas = {name: one for name, one in standing_in(tree) if isinstance(one, ast.Lambda)}
        self._functions: dict[str, Function | ast.Lambda] = {**lambdas, **functions_in(tree)}
        self._said: dict[tuple[str, bool], set[str]] = {}
        self._found: dict[tuple[ast.expr, bool], set[Field]] = {}
        self._deep = 0

    def known(self, test: ast.expr, is_true: bool = True) -> set[Field]:
        """The fields that are not None once a test came out this way."""
        if (test, is_true) not in self._found:
            self._found[test, is_true] = self._looked_up(test, is_true)
        return self._found[test, is_true]

    def _looked_up(self, test: ast.expr, is_true: bool) -> set[Field]:
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                return self.known(inner, not is_true)
            case ast.BoolOp(op=op, values=several):
                all_hold = isinstance(op, ast.And) == is_true
                first, *others = (self.known(one, is_true) for one in several)
                return first.union(*others) if all_hold else first.intersection(*others)
            case ast.Compare(left=left, ops=[op], comparators=[other]):
                return {*_compared(left, op, other, is_true)}
            case ast.NamedExpr(value=inner) | ast.Await(value=inner):
                return self.known(inner, is_true) | ({*fields_of([test])} if is_true else set())
            case ast.Call(args=args) if read_by(test) is None:
                taken = args if is_true and called_as(test) in _TAKING_NONE else ()
                return {*fields_of(taken), *self._said_by(test, is_true)}
            case _:
                return {*fields_of([test])} if is_true else set()

    def known_of_all(self, tests: Iterable[ast.expr]) -> set[Field]:
        """The fields that are not None where all of these are true."""
        return {field for test in tests for field in self.known(test)}

    def kept_by(self, chooser: ast.expr, is_true: bool = True) -> set[str]:
        """The keys that are not None in what a function says this of, such as the one of `filter`."""
        match chooser:
            case ast.Lambda():
                return self._keys_said(chooser, is_true)
            case ast.Name(id=name) if name in self._functions:
                return self._said_of_first(name, is_true)
            case _:
                return set()

    def _said_of_first(self, name: str, is_true: bool) -> set[str]:
        if (name, is_true) not in self._said and self._deep < _DEEPEST:
            self._deep += 1
            self._said[name, is_true] = set()  # what calls itself says nothing more by that
            self._said[name, is_true] = self._keys_said(self._functions[name], is_true)
            self._deep -= 1
        return self._said.get((name, is_true), set())

    def _said_by(self, call: ast.Call, is_true: bool) -> Iterator[Field]:
        """What a function of the program's own says of what it is given first."""
        match call.args:
            case [ast.Name() | ast.Subscript() as first, *_]:
                for key in self.kept_by(call.func, is_true):
                    yield from fields_of([first]) if key == ITSELF else [Read(first, key).field]
            case _:
                pass

    def _keys_said(self, function: Function | ast.Lambda, is_true: bool) -> set[str]:
        """The keys that are not None in what a function takes first, where it comes out this way."""
        match function.args.args:
            case [ast.arg(arg=taken), *_]:
                pass
            case _:
                return set()
        if isinstance(function, ast.Lambda):
            return {key for name, key in self.known(function.body, is_true) if name == taken}
        if not is_true and not isinstance(function.body[-1], ast.Return | ast.Raise):
            return set()  # it may come to its end, and gives None then
        places = Places(function, self)
        returned = (node for node in ast.walk(function) if isinstance(node, ast.Return))
        ways = [
            {key for name, key in self.known(one.value or ast.Constant(None), is_true) if name == taken}
            | places.known_at(one, taken)
            for one in returned
            if _may_be(one.value, is_true)
        ]
        return ways[0].intersection(*ways) if ways else set()


def _may_be(value: ast.expr | None, is_true: bool) -> bool:
    """Whether this may come out so: of a constant that is written there."""
    match value:
        case ast.Constant(value=one):
            return bool(one) == is_true
        case _:
            return value is not None or not is_true


def _compared(left: ast.expr, op: ast.cmpop, other: ast.expr, is_true: bool) -> Iterator[Field]:
    is_same = isinstance(op, ast.Is | ast.Eq | ast.In) == is_true
    match left, op, other:
        case _, ast.Is() | ast.IsNot() | ast.Eq() | ast.NotEq(), ast.Constant(value=None):
            yield from () if is_same else fields_of([left])
        case ast.Constant(value=None), ast.In() | ast.NotIn(), ast.Tuple(elts=several) | ast.List(
            elts=several
        ):
            yield from () if is_same else fields_of(several)
        case _, ast.In() | ast.NotIn(), ast.Tuple() | ast.List() | ast.Set() if any(map(is_none, other.elts)):
            yield from () if is_same else fields_of([left])
        case ast.BoolOp(ast.Or(), [one, ast.Constant(value=instead)]), _, ast.Constant(value=limit):
            yield from fields_of([one]) if _fails(op, instead, limit, is_true) else ()
        case _, ast.Eq() | ast.NotEq() | ast.In() | ast.NotIn(), _:
            yield from fields_of([left]) if is_same else ()
        case _:
            pass  # what cannot be compared with None has to be looked at before


def _fails(op: ast.cmpop, instead: Any, limit: Any, is_true: bool) -> bool:
    """Whether what stands for None does not come out this way."""
    compare = _COMPARED.get(type(op))
    try:
        return compare is not None and compare(instead, limit) != is_true
    except TypeError:
        return False
