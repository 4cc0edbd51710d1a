"""Which dicts of a program are its own for certain: no records that it was given."""

import ast
from collections.abc import Collection, Iterable

from quire.programs.sandbox.functions import called_as
from quire.programs.sandbox.loose_flow import Flow, Value

_DEEPEST = 2
_MOST_PASSES = 10
"""A program may hand things on from name to name for longer than anybody has time to follow."""

_LISTS = ("list", "reversed", "set", "sorted", "tuple")
_SINGLE = ("abs", "bool", "float", "int", "len", "round", "str", "sum")
_COUNTERS = ("Counter", ".Counter")
_DICTS = ("dict", "defaultdict", ".defaultdict", "OrderedDict", ".OrderedDict")
_EMPTY = ("dict", "float", "int", "list", "set", "str")


class Owned:
    """Knows what is a program's own: what is so of a name is so of all that it is given.

    Where it is not certain it is not. `given` are the names of what the program has from elsewhere.
    """

    def __init__(self, program: ast.Module, given: Collection[str]) -> None:
        self._flow = Flow(program)
        names = [name for name in self._flow.given if name not in given]
        # All are, until one is given something else: so names that are given to one another stay.
        self._own = {(name, depth) for name in names for depth in range(_DEEPEST + 1)}
        for _ in range(_MOST_PASSES):
            own = {one for one in self._own if self._holds(*one)}
            if own == self._own:
                return
            self._own = own
        self._own.clear()

    def has(self, value: ast.expr) -> bool:
        """Whether a value is no record that the program was given."""
        return self._is_own(value, 0)

    def _holds(self, name: str, depth: int) -> bool:
        """Whether all that is so deep within a name is the program's own; the name itself is at no depth."""
        if (depth and name in self._flow.lent) or (depth > 1 and name in self._flow.shared):
            return False
        put = ((value, depth - at) for at, value in self._flow.put[name] if at <= depth)
        given = ((value, depth) for value in self._flow.given[name])
        return all(self._is_own(*one) for one in (*given, *put))

    def _is_own(self, value: Value, depth: int) -> bool:
        match value:
            case ast.Name(id=name):
                return (name, depth) in self._own
            case ast.Constant() | ast.JoinedStr() | ast.Compare() | ast.UnaryOp():
                return True
            case ast.Subscript(value=inner, slice=key):
                return self._is_own(inner, depth + (not isinstance(key, ast.Slice)))
            case ast.Call():
                return self._is_own_result(value, depth)
            case ast.expr():
                either = _either_of(value, depth)
                return self._are_own(either, depth) if either else self._is_made(value, depth)
            case None:
                return False

    def _are_own(self, values: Iterable[ast.expr], depth: int) -> bool:
        return all(self._is_own(one, depth) for one in values)

    def _is_made(self, value: ast.expr, depth: int) -> bool:
        """Whether the program wrote this, and what is in it is its own too."""
        match value:
            case ast.Dict(keys=keys, values=values):
                rows = zip(keys, values, strict=True)
                return not depth or all(self._is_own(one, depth - (key is not None)) for key, one in rows)
            case ast.List(elts=several) | ast.Tuple(elts=several) | ast.Set(elts=several):
                return not depth or self._are_own(several, depth - 1)
            case ast.DictComp(value=one) | ast.ListComp(elt=one) | ast.SetComp(elt=one):
                return not depth or self._is_own(one, depth - 1)
            case _:
                return isinstance(value, ast.BinOp)  # a number or a text

    def _is_own_result(self, call: ast.Call, depth: int) -> bool:
        match call:
            case ast.Call(func=ast.Name(id=name)) if name in self._flow.given:
                return False
            case ast.Call(func=ast.Attribute(value=whole, attr="get" | "pop" | "setdefault"), args=args):
                return self._is_own(whole, depth + 1) and self._are_own(args[1:], depth)
            case ast.Call(func=ast.Attribute(value=whole, attr="values")):
                return not depth or self._is_own(whole, depth)
            case _:
                return self._is_new(called_as(call), call, depth)

    def _is_new(self, name: str, call: ast.Call, depth: int) -> bool:
        """Whether a function of Python's gives something new, and what is in that is the program's own."""
        if not depth:
            return name in (*_COUNTERS, *_DICTS, *_LISTS, *_SINGLE)
        if name in _LISTS:
            return self._are_own(call.args, depth)
        if name not in _DICTS:
            return name in _COUNTERS
        values = [one.value for one in call.keywords]
        match call.args:
            case []:
                return self._are_own(values, depth - 1)
            case [ast.Lambda(body=body)]:
                return self._are_own([body, *values], depth - 1)
            case [ast.Name(id=kind)] if name.endswith("defaultdict"):
                return kind in _EMPTY and kind not in self._flow.given
            case _:
                return False


def _either_of(value: ast.expr, depth: int) -> list[ast.expr]:
    """What a value is one of, or is joined of; nothing where it is neither."""
    match value:
        case ast.NamedExpr(value=inner):
            return [inner]
        case ast.IfExp(body=one, orelse=other):
            return [one, other]
        case ast.BoolOp(values=several):
            return several
        case ast.BinOp(left=one, op=op, right=other) if depth or isinstance(op, ast.BitOr):
            return [one, other]
        case _:
            return []
