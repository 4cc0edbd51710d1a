"""Records that a program was given, and kept without a look at a field: of that it knows no more."""

import ast
from collections.abc import Collection, Iterator
from typing import NamedTuple

from quire.programs.sandbox.fields import Comprehension, Field, Read, Tests, binds
from quire.programs.sandbox.functions import Function, called_as
from quire.programs.sandbox.loose_flow import Flow, Value

_THINNING = ("clear", "discard", "pop", "popitem", "popleft", "remove")
_DEEPEST = 50
"""A program may hand things on from name to name for longer than anybody has time to follow."""


class _Bound(NamedTuple):
    """What gives a name its values, and whether these are used in a function or a loop within it."""

    by: Comprehension | ast.For | ast.Lambda | Function
    is_within: bool


class Given:
    """Knows of records whether they are as they were given. Where that is not certain they are not.

    `functions` are those of the host.
    """

    def __init__(self, tree: ast.Module, tests: Tests, functions: Collection[str]) -> None:
        self._flow, self._tests, self._functions = Flow(tree), tests, functions
        nodes = [*ast.walk(tree)]
        self._around = {part: node for node in nodes for part in ast.iter_child_nodes(node)}
        self._thinned = {name for node in nodes for name in _thinned_by(node)}
        self._found: dict[tuple[ast.expr, str], bool] = {}
        self._deep = 0

    def has(self, read: Read) -> bool:
        """Whether a field is read of a record that was given, and kept without a look at that field."""
        if not isinstance(read.whole, ast.Name):
            return self._has(read.whole, read.key)
        bound = self._bound(read.whole)
        # What was tested in the loop that it is read in, the checker knows by itself.
        is_tested = bound is not None and bound.is_within
        return self._has_name(read.whole, read.key, bound, is_tested=is_tested)

    def _has(self, value: Value, key: str) -> bool:
        if value is None:
            return False
        if (value, key) not in self._found:
            if self._deep >= _DEEPEST:
                return False
            self._deep += 1
            self._found[value, key] = True  # what is made of itself is what else it is made of
            self._found[value, key] = self._looked_up(value, key)
            self._deep -= 1
        return self._found[value, key]

    def _looked_up(self, value: ast.expr, key: str) -> bool:
        match value:
            case ast.Name():
                return self._has_name(value, key, self._bound(value), is_tested=True)
            case ast.Call():
                return self._has_result(value, key)
            case ast.Constant() | ast.JoinedStr() | ast.Compare():
                return True
            case _:
                parts = _parts_of(value)
                return parts is not None and all(self._has(one, key) for one in parts)

    def _has_result(self, call: ast.Call, key: str) -> bool:
        """Whether a call gives what was given: that of the host, or what is among its arguments."""
        name = called_as(call)
        if name in self._functions:
            return True
        choosers = call.args[:1] if name == "filter" else []
        if name in self._flow.given or any(key in self._tests.kept_by(one) for one in choosers):
            return False
        return self._has_arguments(call, key)

    def _has_arguments(self, call: ast.Call, key: str) -> bool:
        taken = [call.func.value] if isinstance(call.func, ast.Attribute) else []
        given = [*taken, *call.args, *(one.value for one in call.keywords)]
        return all(self._has(one, key) for one in given if not isinstance(one, ast.Lambda))

    def _has_name(self, node: ast.Name, key: str, bound: _Bound | None, *, is_tested: bool) -> bool:
        """What a name stands for where it is used; where it `is_tested`, the tests there count too."""
        if bound is None:
            return self._has_all(node.id, key)
        if is_tested and Field(node.id, key) in self._known_in(bound.by):
            return False
        match bound.by:
            case ast.For(iter=several):
                return self._has(several, key)
            case ast.Lambda():
                return self._has_given_to(bound.by, key)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return False
            case _:
                bound_there = (one.iter for one in bound.by.generators if binds(one.target, node.id))
                return all(self._has(one, key) for one in bound_there)

    def _has_all(self, name: str, key: str) -> bool:
        """Whether all that a name is ever given, and all that is put into it, is as it was given."""
        put = [value for _, value in self._flow.put.get(name, ())]
        values = [*self._flow.given.get(name, ()), *put]
        return name not in self._thinned and all(self._has(one, key) for one in values)

    def _has_given_to(self, function: ast.Lambda, key: str) -> bool:
        """Whether a lambda is called with what was given: with what stands beside it in a call."""
        around = self._around[function]
        call = self._around[around] if isinstance(around, ast.keyword) else around
        return isinstance(call, ast.Call) and self._has_arguments(call, key)

    def _known_in(self, bound: ast.AST) -> set[Field]:
        """The fields that are tested in a loop, for one end or another."""
        if isinstance(bound, Comprehension):
            return self._tests.known_of_all(test for one in bound.generators for test in one.ifs)
        ifs = (node for node in ast.walk(bound) if isinstance(node, ast.If))
        return {field for node in ifs for field in self._tests.either(node.test)}

    def _bound(self, node: ast.Name) -> _Bound | None:
        """The innermost loop or function that gives a name its values; None where that is none of them."""
        part: ast.AST = node
        around, is_within = self._around.get(node), False
        while around is not None:
            match around:
                case ast.For(target=target, iter=several):
                    if part is not several and binds(target, node.id):
                        return _Bound(around, is_within)
                case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                    if any(binds(one.target, node.id) for one in around.generators):
                        return _Bound(around, is_within)
                    is_within = True
                case ast.Lambda() | ast.FunctionDef() | ast.AsyncFunctionDef():
                    if node.id in _taken_by(around):
                        return _Bound(around, is_within)
                    is_within = True
                case _:
                    pass
            part, around = around, self._around.get(around)
        return None


def _taken_by(function: ast.Lambda | Function) -> set[str]:
    return {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}


def _parts_of(value: ast.expr) -> list[ast.expr] | None:
    """What a value is one of, is made of or is a part of; None where that cannot be said."""
    match value:
        case ast.Await(value=inner) | ast.Starred(value=inner) | ast.NamedExpr(value=inner):
            return [inner]
        case ast.Subscript(value=inner) | ast.Attribute(value=inner):
            return [inner]
        case (
            ast.ListComp(elt=one) | ast.SetComp(elt=one) | ast.GeneratorExp(elt=one) | ast.DictComp(value=one)
        ):
            return [one]
        case ast.IfExp(body=one, orelse=other) | ast.BinOp(left=one, right=other):
            return [one, other]
        case ast.BoolOp(values=several) | ast.Dict(values=several):
            return several
        case ast.List(elts=several) | ast.Tuple(elts=several) | ast.Set(elts=several):
            return several
        case _:
            return None


def _thinned_by(node: ast.AST) -> Iterator[str]:
    """The name of what something is taken out of."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) if method in _THINNING:
            yield name
        case _:
            pass
