"""What the names of a program may hold where they are used, by the ways on which that is come to."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Sequence

from quire.programs.sandbox.field_blocks import LEAVING, Block
from quire.programs.sandbox.field_places import Binder, Loop, Places
from quire.programs.sandbox.functions import Function
from quire.programs.sandbox.handed_in import Handed
from quire.programs.sandbox.loose_flow import Flow, Value


class Names:
    """Knows what names are given, and what is put into what they hold."""

    def __init__(self, tree: ast.Module, flow: Flow, handed: Handed, places: Places) -> None:
        self._flow, self._handed, self._places = flow, handed, places
        outer = (node for node in ast.walk(tree) if isinstance(node, ast.Global | ast.Nonlocal))
        self._of_several = {name for node in outer for name in node.names}
        taken = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        self._within = defaultdict[tuple[ast.AST, str], list[ast.expr]](list)
        self._giving = defaultdict[tuple[Block, str], dict[int, ast.stmt]](dict)
        self._given = {name: [*self._given_to(name)] for name in {*flow.given, *handed.unpacked}}
        self._unsure = {name for name, given in self._given.items() if None in given} - taken
        for name, given in self._given.items():
            for value in filter(None, given):
                self._note(name, value)

    def _note(self, name: str, value: ast.expr) -> None:
        """Note what a name is given by all that this stands in, and by which statements."""
        for part, around in self._places.outwards(_written(value)):
            self._within[around, name].append(value)
            place = self._places.place_of(part)
            if place is not None:
                block, at = place
                self._giving[block, name][at] = block.statements[at]

    def _before(self, part: ast.AST, name: str) -> Iterator[ast.stmt]:
        """The statements before one, the last first, that may give a name something."""
        place = self._places.place_of(part)
        if place is not None:
            block, end = place
            giving = self._giving.get((block, name), {})
            yield from (giving[at] for at in sorted(giving, reverse=True) if at < end)

    def ever(self, name: str) -> list[Value]:
        """All that a name is given anywhere, with what is put into it."""
        return [*self._given.get(name, ()), *self._put(name)]

    def at(self, node: ast.Name, binder: Binder | None) -> tuple[list[Value], bool]:
        """What a name may hold where it is used, and whether that may be what it has from its binder, too.

        Where it has none, that is what it holds anywhere.
        """
        if node.id in self._unsure or node.id in self._of_several:
            return [], True
        given, is_open = self._reaching(node, binder)
        if not given:
            return [], True
        put = (one for one in self._put(node.id) if not self._is_over(one, given, node))
        return [*given, *put], is_open

    def _reaching(self, node: ast.Name, binder: Binder | None) -> tuple[list[ast.expr], bool]:
        found = list[ast.expr]()
        for part, around in self._places.outwards(node):
            if any(self._is_given_by(one, node.id, found) for one in self._before(part, node.id)):
                return found, False
            if around is binder:
                return found, True
            if isinstance(around, Function):
                return found, not found
            if isinstance(around, Loop | ast.Try | ast.expr | ast.comprehension):
                found += self._within[around, node.id]
            elif isinstance(around, ast.If):
                found += self._within[around.test, node.id]
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
            case ast.Try():
                return self._is_tried(statement, name, found)
            case ast.Match(cases=cases):
                ways = [self._is_given_in(one.body, name, found) for one in cases]
                return all(ways) and _takes_all(cases[-1])
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return False
            case _:
                found += self._within[statement, name]
                return not isinstance(statement, Loop) and bool(self._within[statement, name])

    def _is_tried(self, attempt: ast.Try, name: str, found: list[ast.expr]) -> bool:
        """The same of a `try`. Where it goes wrong, it may have come to anything in it."""
        if self._is_given_in(attempt.finalbody, name, found):
            return True
        handled = [self._is_given_in(one.body, name, found) for one in attempt.handlers]
        if not all(handled):
            found += (value for one in attempt.body for value in self._within[one, name])
        return self._is_given_in([*attempt.body, *attempt.orelse], name, found) and all(handled)

    def _is_given_in(self, block: Sequence[ast.stmt], name: str, found: list[ast.expr]) -> bool:
        if block and isinstance(block[-1], LEAVING):
            return True  # nobody comes from there
        return any(self._is_given_by(one, name, found) for one in reversed(block))

    def _is_over(self, put: Value, given: list[ast.expr], node: ast.Name) -> bool:
        """Whether something was put in before a name was given what it may hold now, or comes in later."""
        if put is None:
            return False
        at = _written(put)
        is_later = self._places.is_ahead(node, at) and self._places.loop_around(at) is None
        is_apart = self._places.function_of(at) is not self._places.function_of(node)
        return (is_later and not is_apart) or all(self._places.is_ahead(at, _written(one)) for one in given)

    def _given_to(self, name: str) -> Iterator[Value]:
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


def _takes_all(case: ast.match_case) -> bool:
    return case.guard is None and isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None
