"""What the names of a program may hold where they are used, by the ways on which that is come to."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Sequence

from quire.programs.sandbox.field_places import LEAVING, Binder, Loop, Places
from quire.programs.sandbox.functions import Function
from quire.programs.sandbox.handed_in import Handed
from quire.programs.sandbox.loose_flow import Flow, Value


class Names:
    """Knows what names are given, and what is put into what they hold."""

    def __init__(self, tree: ast.Module, flow: Flow, handed: Handed, places: Places) -> None:
        self._flow, self._handed, self._places = flow, handed, places
        outer = (node for node in ast.walk(tree) if isinstance(node, ast.Global | ast.Nonlocal))
        self._of_several = {name for node in outer for name in node.names}
        self._taken = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        self._within = defaultdict[tuple[ast.AST, str], list[ast.expr]](list)
        for name in {*flow.given, *handed.unpacked}:
            for value in filter(None, self._given(name)):
                for _, around in places.outwards(_written(value)):
                    self._within[around, name].append(value)

    def ever(self, name: str) -> list[Value]:
        """All that a name is given anywhere, with what is put into it."""
        return [*self._given(name), *self._put(name)]

    def at(self, node: ast.Name, binder: Binder | None) -> tuple[list[Value], bool]:
        """What a name may hold where it is used, and whether that may be what it has from its binder, too.

        Where it has none, that is what it holds anywhere.
        """
        is_unsure = node.id not in self._taken and None in self._given(node.id)
        if is_unsure or node.id in self._of_several:
            return [], True
        given, is_open = self._reaching(node, binder)
        if not given:
            return [], True
        put = (one for one in self._put(node.id) if not self._is_over(one, given))
        return [*given, *put], is_open

    def _reaching(self, node: ast.Name, binder: Binder | None) -> tuple[list[ast.expr], bool]:
        found = list[ast.expr]()
        for part, around in self._places.outwards(node):
            if any(self._is_given_by(one, node.id, found) for one in self._places.before(part)):
                return found, False
            if around is binder:
                return found, True
            if isinstance(around, Function):
                return found, not found
            if isinstance(around, Loop | ast.Try | ast.If):
                found += self._within[around, node.id] if isinstance(around, Loop | ast.Try) else ()
                found += self._within[around.test, node.id] if isinstance(around, ast.If) else ()
        return found, not found

    def _is_given_by(self, statement: ast.stmt, name: str, found: list[ast.expr]) -> bool:
        """Whether a statement surely gives a name something. All that it may give is added to `found`."""
        match statement:
            case ast.If(test=test, body=body, orelse=other):
                found += self._within[test, name]
                ways = [self._is_given_in(one, name, found) for one in (body, other)]
                return all(ways)
            case ast.With(body=body) | ast.AsyncWith(body=body):
                return self._is_given_in(body, name, found)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return False
            case _:
                found += self._within[statement, name]
                is_simple = not hasattr(statement, "body") and not isinstance(statement, ast.Match)
                return is_simple and bool(self._within[statement, name])

    def _is_given_in(self, block: Sequence[ast.stmt], name: str, found: list[ast.expr]) -> bool:
        if block and isinstance(block[-1], LEAVING):
            return True  # nobody comes from there
        return any(self._is_given_by(one, name, found) for one in reversed(block))

    def _is_over(self, put: Value, given: list[ast.expr]) -> bool:
        """Whether something was put into what a name held before it was given all that it may hold now."""
        return put is not None and all(self._places.is_ahead(_written(put), _written(one)) for one in given)

    def _given(self, name: str) -> Iterator[Value]:
        for one in (*self._flow.given.get(name, ()), *self._handed.unpacked.get(name, ())):
            is_written = one is None or _written(one) in self._places.around  # or it holds what it held
            if is_written and one not in self._flow.within:
                yield one

    def _put(self, name: str) -> Iterator[Value]:
        return (one for _, one in self._flow.put.get(name, ()))


def _written(value: ast.expr) -> ast.expr:
    """What is written in the program of a value: of a part of something, that."""
    while isinstance(value, ast.Subscript) and not hasattr(value, "lineno"):
        value = value.value
    return value
