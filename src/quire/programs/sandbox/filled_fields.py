"""Fields that a program fills where they are None."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from quire.programs.sandbox.field_places import Binder, Places
from quire.programs.sandbox.fields import Field, is_none
from quire.programs.sandbox.never_none import NeverNone
from quire.programs.sandbox.thinned_records import goes_to_its_end, thinned_in

_GOING_THROUGH = ("enumerate", "list", "reversed", "sorted", "tuple")
_ADDING = ("add", "append", "appendleft", "extend", "extendleft", "insert", "setdefault", "update")


class _Store(NamedTuple):
    """What is put under a key of what has a name, and where."""

    whole: ast.expr
    key: str
    value: ast.expr
    by: ast.Assign


class Filled:
    """Knows the records of which each has something under a key, once the program went through all of them.

    Those that have nothing there may have been taken out, too.
    """

    def __init__(self, tree: ast.Module, places: Places, never_none: NeverNone) -> None:
        self._places, self._never_none = places, never_none
        self._steps = defaultdict[tuple[Binder | None, Field], list[ast.stmt]](list)
        self._changed = defaultdict[str, list[int]](list)
        nodes = [*ast.walk(tree)]
        for node in nodes:
            for name in _changed_by(node):
                self._changed[name.id].append(name.lineno)
        stores = [one for node in nodes for one in _stores_by(node)]
        emptied = {one.key for one in stores if is_none(one.value)}
        for store in stores:
            if store.key not in emptied and self._fills(store):
                self._note(store)
        for whole, key, loop in thinned_in(nodes, places):
            self._steps[places.binder_of(whole), Field(whole.id, key)].append(loop)

    def has(self, node: ast.Name, key: str) -> bool:
        """Whether all that a name stands for has something under a key, by what was done before."""
        steps = self._steps.get((self._places.binder_of(node), Field(node.id, key)), ())
        return any(self._is_done(step, node) for step in steps)

    def _is_done(self, step: ast.stmt, node: ast.Name) -> bool:
        """Whether a step was surely taken before, and nothing else came under the name since."""
        since = range(step.lineno + 1, node.lineno)
        is_changed = any(line in since for line in self._changed.get(node.id, ()))
        return not is_changed and self._places.follows(node, step)

    def _note(self, store: _Store) -> None:
        """Note what is filled: a record, and all that the loop goes through that it is from."""
        whole: ast.expr | None = store.whole
        step = self._places.step_of(store.by)
        while isinstance(whole, ast.Name):
            binder = self._places.binder_of(whole)
            self._steps[binder, Field(whole.id, store.key)].append(step)
            if not isinstance(binder, ast.For) or not self._is_of_each(whole.id, step, binder):
                break
            whole, step = _gone_through(binder.iter), binder

    def _is_of_each(self, name: str, step: ast.stmt, loop: ast.For) -> bool:
        """Whether a step of a loop is for each of what it goes through, and of that, under its name."""
        lines = range(loop.lineno, (loop.end_lineno or loop.lineno) + 1)
        is_another = any(line in lines for line in self._changed.get(name, ()))
        return step in loop.body and goes_to_its_end(loop) and not is_another

    def _fills(self, store: _Store) -> bool:
        """Whether nothing is None under a key any more, whichever way the program came past there."""
        if not isinstance(store.whole, ast.Name):
            return False
        spared, field = self._places.spared(store.by), Field(store.whole.id, store.key)
        is_passed = spared is not None and field not in spared
        return not is_passed and self._never_none.has(store.value)


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


def _changed_by(node: ast.AST) -> Iterator[ast.Name]:
    """The names that something else comes under, or into. Those of a loop are its own."""
    match node:
        case ast.Assign(targets=targets):
            named = (one for target in targets for one in _rows_out(target))
            yield from (one for one in named if isinstance(one, ast.Name))
        case (
            ast.AnnAssign(target=ast.Name() as name)
            | ast.AugAssign(target=ast.Name() as name)
            | ast.NamedExpr(target=name)
        ):
            yield name
        case ast.Call(func=ast.Attribute(value=ast.Name() as name, attr=method)) if method in _ADDING:
            yield name
        case _:
            pass


def _rows_out(target: ast.expr) -> Iterator[ast.expr]:
    """What is given something by a target: each of a row, and what a key of it is put into."""
    match target:
        case ast.Tuple(elts=several) | ast.List(elts=several):
            for one in several:
                yield from _rows_out(one)
        case ast.Starred(value=inner):
            yield from _rows_out(inner)
        case ast.Subscript(value=inner, slice=place) if not isinstance(place, ast.Constant):
            yield inner
        case _:
            yield target
