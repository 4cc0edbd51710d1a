"""Fields that a program fills where they are None, and lists that it takes such records out of."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from quire.programs.sandbox.field_places import Binder, Places
from quire.programs.sandbox.field_tests import Tests
from quire.programs.sandbox.fields import Field, is_none, read_by

_GOING_THROUGH = ("enumerate", "list", "reversed", "sorted", "tuple")
_NEVER_NONE = ("abs", "bool", "float", "int", "len", "list", "round", "sorted", "str", "sum")
_MADE = (ast.BinOp, ast.Compare, ast.Dict, ast.JoinedStr, ast.List, ast.ListComp, ast.Set, ast.Tuple)
_THINNING = ("clear", "discard", "pop", "popitem", "popleft", "remove")


class _Store(NamedTuple):
    """What is put under a key of what has a name, and where."""

    whole: ast.expr
    key: str
    value: ast.expr
    by: ast.Assign


class Filled:
    """Knows the records of which each has something under a key, once the program went through all of them.

    `thinned` are the keys by which records were taken out of what has a name.
    """

    def __init__(self, tree: ast.Module, places: Places, tests: Tests) -> None:
        self._places, self._tests = places, tests
        self._since: dict[tuple[Binder | None, Field], int] = {}
        self.thinned = defaultdict[str, set[str]](set)
        nodes = [*ast.walk(tree)]
        stores = [one for node in nodes for one in _stores_by(node)]
        emptied = {one.key for one in stores if is_none(one.value)}
        for store in stores:
            if store.key not in emptied and self._fills(store):
                self._note(store)
        for node in nodes:
            for name in _thinned_by(node):
                self.thinned[name] |= {key for _, key in places.spared(node) or ()}

    def has(self, node: ast.Name, key: str) -> bool:
        """Whether all that a name stands for has something under a key, by what was done before."""
        since = self._since.get((self._places.binder_of(node), Field(node.id, key)))
        return since is not None and since < node.lineno

    def _note(self, store: _Store) -> None:
        """Note what is filled: a record, and all that the loop goes through that it is from."""
        whole: ast.expr | None = store.whole
        while isinstance(whole, ast.Name):
            binder = self._places.binder_of(whole)
            self._since.setdefault((binder, Field(whole.id, store.key)), store.by.lineno)
            whole = _gone_through(binder.iter) if isinstance(binder, ast.For) else None

    def _fills(self, store: _Store) -> bool:
        """Whether nothing is None under a key any more, whichever way the program came past there."""
        if not isinstance(store.whole, ast.Name):
            return False
        spared, field = self._places.spared(store.by), Field(store.whole.id, store.key)
        if spared is not None:
            return field in spared
        return self._is_something(store.value)

    def _is_something(self, value: ast.expr) -> bool:
        """Whether a value is never None, as far as its text says."""
        match value:
            case ast.Constant():
                return not is_none(value)
            case ast.BoolOp(op=ast.Or(), values=[*_, last]):
                return self._is_something(last)
            case ast.IfExp(test=test, body=body, orelse=other):
                ways = ((body, self._tests.known(test)), (other, self._tests.known(test, False)))
                return all(self._is_something(one) or _is_known(one, known) for one, known in ways)
            case ast.Call(func=ast.Name(id=name)):
                return name in _NEVER_NONE
            case _:
                return isinstance(value, _MADE)


def _is_known(value: ast.expr, known: set[Field]) -> bool:
    read = read_by(value)
    return read is not None and read.field in known


def _gone_through(several: ast.expr) -> ast.expr | None:
    """What a loop goes through all of; None where that may be a part of it."""
    match several:
        case ast.Call(func=ast.Name(id=name), args=[inner, *_]) if name in _GOING_THROUGH:
            return _gone_through(inner)
        case ast.Call(func=ast.Attribute(value=inner, attr="items" | "values"), args=[]):
            return inner
        case _:
            return several


def _stores_by(node: ast.AST) -> Iterator[_Store]:
    match node:
        case ast.Assign([ast.Subscript(value=whole, slice=ast.Constant(value=str(key)))], value):
            yield _Store(whole, key, value, node)
        case _:
            pass


def _thinned_by(node: ast.AST) -> Iterator[str]:
    """The name of what something is taken out of."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) if method in _THINNING:
            yield name
        case _:
            pass
