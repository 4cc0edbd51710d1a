"""Statements that follow one another, and what is known of fields after some of them."""

import ast
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from quire.programs.sandbox.fields import Field
from quire.programs.sandbox.naming import names_bound_by

if TYPE_CHECKING:
    from quire.programs.sandbox.field_tests import Tests

LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)


class Block:
    """Statements that follow one another."""

    def __init__(self, statements: Sequence[ast.stmt], tests: "Tests") -> None:
        self.statements = statements
        self._bound = defaultdict[str, list[int]](list)
        self._known = defaultdict[str, list[tuple[int, str]]](list)
        self._spared = list[tuple[int, set[Field]]]()
        for at, statement in enumerate(statements):
            for name in {name for node in ast.walk(statement) for name in names_bound_by(node)}:
                self._bound[name].append(at)
            for name, key in _known_after(statement, tests):
                self._known[name].append((at, key))
            if isinstance(statement, ast.If):
                self._spared += ((at, tests.known(statement.test, way)) for way in _leaving_by(statement))

    def known_before(self, at: int, name: str) -> tuple[set[str], bool]:
        """The keys that are not None there of what has a name, and whether the name is bound by then."""
        bound = self._bound.get(name, [])
        place = bisect_left(bound, at)
        first = bound[place - 1] if place else 0
        known = self._known.get(name, [])
        begin, end = bisect_left(known, (first, "")), bisect_left(known, (at, ""))
        return {key for _, key in known[begin:end]}, place > 0

    def spared_before(self, at: int) -> Iterator[set[Field]]:
        """The fields that are not None where a statement is not come to, for each that may leave before."""
        return (fields for place, fields in self._spared if place < at)


def _known_after(statement: ast.stmt, tests: "Tests") -> set[Field]:
    """What is known of fields once a statement is done, for what it would have left for otherwise."""
    match statement:
        case ast.If(test=test):
            return {field for way in _leaving_by(statement) for field in tests.known(test, not way)}
        case ast.Assert(test=test):
            return tests.known(test)
        case _:
            return set()


def _leaving_by(choice: ast.If) -> Iterator[bool]:
    """How a test came out where what follows it is not come to."""
    for is_true, block in ((True, choice.body), (False, choice.orelse)):
        if block and isinstance(block[-1], LEAVING):
            yield is_true
