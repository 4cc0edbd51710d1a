"""Calls that a program puts under a name and never comes back to: in Python nothing would be done by them.

Names are taken together, wherever they are bound: what one function puts aside another may await. So what is
found here is awaited nowhere, and of what may be awaited somewhere nothing is said.
"""

import ast
from collections.abc import Collection, Iterator, Mapping

from quire.programs.sandbox.functions import called_as, functions_in
from quire.programs.sandbox.naming import bindings
from quire.programs.sandbox.putting import PUTTING, names_in, put_by

_LOOKING = frozenset((".clear", ".count", ".index", ".join", ".keys"))
"""What hands on none of the values that it is called with or on."""

_TELLING = frozenset(
    ("all", "any", "bool", "id", "isinstance", "len", "print", "range", "repr", "round", "str", "sum", "type")
)
"""Functions of Python whose value is none of those that they are given."""

_HOLDING = frozenset(("dict", "enumerate", "iter", "list", "reversed", "set", "sorted", "tuple", "zip"))
"""Functions of Python whose value holds those that they are given."""


def tells_only(call: ast.Call) -> bool:
    """Whether this calls a function of Python that gives nothing of what it is given back."""
    return called_as(call) in _TELLING


def held_in(value: ast.expr) -> Iterator[ast.Call]:
    """The calls whose values are within a value."""
    waiting: list[ast.AST] = [value]
    while waiting:
        one = waiting.pop()
        match one:
            case ast.Call():
                yield one
                waiting += one.args if called_as(one) in _HOLDING else []
            case ast.DictComp(key=key, value=inner):
                waiting += [key, inner]
            case ast.ListComp(elt=inner) | ast.SetComp(elt=inner) | ast.GeneratorExp(elt=inner):
                waiting.append(inner)
            case ast.Dict() | ast.List() | ast.Tuple() | ast.Set() | ast.Starred() | ast.IfExp():
                waiting += ast.iter_child_nodes(one)
            case _:
                pass


def left_aside(tree: ast.Module) -> Iterator[ast.Call]:
    """The calls whose values are put under names that nothing awaits and nothing hands on."""
    own = {*functions_in(tree), *(name for _, name in bindings(tree))}
    within = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    handed = _Handing(within, own).names()
    for node in ast.walk(tree):
        names, values = put_by(node, own)
        if names and handed.isdisjoint(names) and not isinstance(within.get(node), ast.ClassDef):
            yield from (call for value in values for call in held_in(value))


class _Handing:
    """What a program does with its names."""

    def __init__(self, within: Mapping[ast.AST, ast.AST], own: Collection[str]) -> None:
        self._within = within
        self._own = own

    def names(self) -> set[str]:
        """The names whose values, or what is in them, are awaited or handed on, by whatever further names."""
        handed, given_on = set[str](), dict[str, set[str]]()
        for node in self._within:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                to = self._handed_to(node)
                if to is None:
                    handed.add(node.id)
                for name in to or ():
                    given_on.setdefault(name, set()).add(node.id)
        waiting = [*handed]
        while waiting:
            new = given_on.get(waiting.pop(), set()) - handed
            handed |= new
            waiting += new
        return handed

    def _handed_to(self, node: ast.Name) -> set[str] | None:
        """The names that a value gets, or what is in it; None where anything may become of it."""
        match self._within[node]:
            case ast.Expr() | ast.FormattedValue() | ast.Compare() | ast.UnaryOp():
                return set()
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) if test is node:
                return set()
            case ast.Subscript(value=value, ctx=ast.Store() | ast.Del()) if value is node:
                return set()
            case ast.Attribute() as attribute:
                return set() if self._is_kept_by(attribute) else None
            case ast.Call(func=func) as call if func is not node:
                return self._given_to(call)
            case ast.Assign(targets=targets) if all(isinstance(one, ast.Name) for one in targets):
                return names_in(targets)
            case ast.For(iter=value, target=target) if value is node:
                return names_in([target])
            case ast.comprehension(iter=value, target=target, is_async=0) if value is node:
                return names_in([target])
            case ast.comprehension(ifs=ifs) if node in ifs:
                return set()
            case _:
                return None

    def _is_kept_by(self, attribute: ast.Attribute) -> bool:
        """Whether this is a method that is called, and gives nothing of what it is a method of."""
        call = self._within[attribute]
        if not isinstance(call, ast.Call) or call.func is not attribute or called_as(call) in self._own:
            return False
        is_put = called_as(call) in PUTTING and isinstance(self._within[call], ast.Expr)
        return is_put or called_as(call) in _LOOKING

    def _given_to(self, call: ast.Call) -> set[str] | None:
        """The names that an argument of a call gets, or what is in it; None where it may be anything."""
        name = called_as(call)
        if name in self._own:
            return None
        match call.func:
            case ast.Attribute(value=ast.Name(id=other)) if name in PUTTING:
                return {other}
            case _:
                return set() if name in _TELLING or name in _LOOKING else None
