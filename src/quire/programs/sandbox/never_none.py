"""Values that are never None, as far as the text of a program and of its stubs says."""

import ast
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import cached_property

from quire.programs.sandbox.field_places import Places
from quire.programs.sandbox.field_tests import Tests
from quire.programs.sandbox.fields import ITSELF, Field, may_be_none, read_by
from quire.programs.sandbox.functions import Function, called_as
from quire.programs.sandbox.handed_in import Handed
from quire.programs.sandbox.loose_flow import Flow, Value

_DEEPEST = 10
_MADE = (
    *(ast.BinOp, ast.Compare, ast.Dict, ast.DictComp, ast.JoinedStr),
    *(ast.List, ast.ListComp, ast.Set, ast.Tuple),
)
_MAY_GIVE_NONE = (".get", ".pop", ".setdefault", "getattr", "next")
_IN_ORDER = ("dict", "list", "reversed", "set", "sorted", "tuple")


@dataclass
class NeverNone:
    """Knows such values. `keys` are those of records that hold something in each of them."""

    stubs: ast.Module
    keys: Collection[str]
    tests: Tests
    places: Places
    flow: Flow
    handed: Handed
    _found: dict[tuple[ast.expr, bool], bool] = field(default_factory=dict[tuple[ast.expr, bool], bool])
    _deep: int = 0

    @cached_property
    def _returns(self) -> dict[str, ast.expr | None]:
        functions = (
            one for one in self.stubs.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
        )
        return {one.name: one.returns for one in functions}

    def has(self, value: Value, within: bool = False) -> bool:
        """Whether a value is never None; `within` asks whether nothing is that a program put in it itself."""
        if value is None or self._deep >= _DEEPEST:
            return False
        if (value, within) not in self._found:
            self._found[value, within] = False  # what is made of itself may be anything
            self._deep += 1
            self._found[value, within] = self._has_within(value) if within else self._is_something(value)
            self._deep -= 1
        return self._found[value, within]

    def _is_something(self, value: ast.expr) -> bool:
        match value:
            case ast.Constant(value=one):
                return one is not None
            case ast.Await(value=inner) | ast.NamedExpr(value=inner):
                return self.has(inner)
            case ast.BoolOp(op=ast.Or(), values=[*_, last]):
                return self.has(last)
            case ast.IfExp(test=test, body=body, orelse=other):
                ways = ((body, self.tests.known(test)), (other, self.tests.known(test, False)))
                return all(_is_known(one, known) or self.has(one) for one, known in ways)
            case ast.Name(id=name):
                given = self.flow.given.get(name, [])
                is_seen = ITSELF in self.places.known_at(value, name)
                return is_seen or (bool(given) and all(self.has(one) for one in given))
            case ast.Subscript() | ast.Attribute():
                return self._is_held(value)
            case ast.Call():
                return self._is_given_back(value)
            case _:
                return isinstance(value, _MADE)

    def _is_held(self, value: ast.Subscript | ast.Attribute) -> bool:
        """Whether something is in what this is a part of, wherever that is."""
        read = read_by(value)
        if read is not None and read.key in {*self.keys, *self.places.known_at(value, read.field.name)}:
            return True
        return isinstance(value, ast.Subscript) and self.has(value.value, within=True)

    def _has_within(self, whole: ast.expr) -> bool:
        """Whether a program made something itself that has None nowhere in it."""
        match whole:
            case ast.Dict(values=several) | ast.List(elts=several) | ast.Tuple(elts=several):
                return all(self.has(one) for one in several)
            case ast.DictComp(value=one) | ast.ListComp(elt=one):
                return self.has(one)
            case ast.Call(args=[inner, *_]) if called_as(whole) in _IN_ORDER:
                return self.has(inner, within=True)
            case ast.Name(id=name):
                given = self.flow.given.get(name, [])
                are_made = bool(given) and all(self.has(one, within=True) for one in given)
                return are_made and all(self.has(one) for _, one in self.flow.put.get(name, ()))
            case _:
                return False

    def _is_given_back(self, call: ast.Call) -> bool:
        """Whether a call gives something, whatever it is called with."""
        name = called_as(call)
        if name in self._returns:
            declared = self._returns[name]
            return declared is None or not may_be_none(declared)
        if name in self.handed.functions:
            return self._is_returned(self.handed.functions[name], self.handed.returned_by(name))
        instead = [one.value for one in call.keywords if one.arg == "default"]
        if name in _MAY_GIVE_NONE or instead:
            others = instead or call.args[1:]
            return bool(others) and self.has(others[-1])
        return name not in self.flow.given  # of what it made to be called itself, nothing is known

    def _is_returned(self, function: Function | ast.Lambda, returned: Iterable[ast.expr]) -> bool:
        """Whether a function of the program's own gives something, however it ends."""
        if isinstance(function, ast.Lambda):
            return self.has(function.body)
        if function.returns is not None:
            return not may_be_none(function.returns)
        empty = (node for node in ast.walk(function) if isinstance(node, ast.Return) and node.value is None)
        return _ends(function.body) and not any(empty) and all(map(self.has, returned))


def _ends(block: list[ast.stmt]) -> bool:
    """Whether nobody comes past the last statement."""
    match block[-1]:
        case ast.Return() | ast.Raise():
            return True
        case ast.If(body=body, orelse=other):
            return bool(other) and _ends(body) and _ends(other)
        case ast.With(body=body) | ast.AsyncWith(body=body):
            return _ends(body)
        case ast.Try(body=body, handlers=handlers, orelse=other):
            return _ends(other or body) and all(_ends(one.body) for one in handlers)
        case ast.While(test=ast.Constant(value=True)) as loop:
            return not any(isinstance(node, ast.Break) for node in ast.walk(loop))
        case _:
            return False


def _is_known(value: ast.expr, known: set[Field]) -> bool:
    read = read_by(value)
    return read is not None and read.field in known
