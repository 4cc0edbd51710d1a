"""Fields that may be None, and that a program looks at before it keeps a record: None is no more in them.

The type checker knows that only where the test stands. A program that leaves out what has no salary, and adds
up salaries later on, is right: so of what it kept, such a field is taken for what else it may be. What it was
given and never chose from is looked at as before.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property

from quire.programs.sandbox.fields import Tests, is_none, may_be_missing, may_be_none, read_by
from quire.programs.sandbox.functions import called_as, functions_in
from quire.programs.sandbox.given_records import Given
from quire.programs.sandbox.loose_calls import LOOSE
from quire.programs.sandbox.loose_records import types_by_key
from quire.programs.sandbox.naming import declared_in
from quire.programs.sandbox.parsing import module_of

LOOSE_TESTED = f"{LOOSE}_but_none"


class Tested:
    """The fields that a program looks at, of what `stubs` declare and of its own."""

    def __init__(self, tree: ast.Module, stubs: str) -> None:
        self._tree, self._stubs = tree, stubs
        self._tests = Tests(functions_in(tree))
        self._looked_at = {*self._found()}
        self._filled = {*self._stored()}
        self._keys = (self._looked_at | self._filled) - self._never_none

    @cached_property
    def _types(self) -> list[tuple[str, ast.expr]]:
        return [*types_by_key(module_of(self._stubs), self._tree)]

    @property
    def _never_none(self) -> set[str]:
        """Keys of records that hold something in each of them: which of several, the checker sees best."""
        unsure = {key for key, kind in self._types if may_be_none(kind) or may_be_missing(kind)}
        return {key for key, _ in self._types} - unsure

    @cached_property
    def _several(self) -> set[str]:
        """Keys of fields that may be of several kinds beside None: of a mark the checker cannot see which."""
        return {key for key, kind in self._types if ast.unparse(kind).count(" | ") > 1}

    @cached_property
    def _given(self) -> Given:
        return Given(self._tree, self._tests, declared_in(self._stubs).functions)

    def marks_of(self, node: ast.expr) -> Iterator[tuple[str, str]]:
        """What is put ahead of an expression and behind it."""
        read = read_by(node)
        if read is None or read.key not in self._keys:
            return
        if read.key in self._filled or not self._given.has(read):
            yield f"{LOOSE if read.key in self._several else LOOSE_TESTED}(", ")"

    def _found(self) -> Iterator[str]:
        """The keys that the program looks at where it chooses."""
        for node in ast.walk(self._tree):
            match node:
                case ast.If(test=test):
                    yield from (key for _, key in self._tests.either(test))
                case ast.comprehension(ifs=tests):
                    yield from (key for _, key in self._tests.known_of_all(tests))
                case ast.Call(args=[chooser, _]) if called_as(node) == "filter":
                    yield from self._tests.kept_by(chooser)
                case _:
                    pass

    def _stored(self) -> Iterator[str]:
        """The keys under which the program puts something in place of None."""
        stored = defaultdict[str, list[ast.expr]](list)
        for node in ast.walk(self._tree):
            match node:
                case ast.Assign([ast.Subscript(slice=ast.Constant(value=str(key)))], value):
                    stored[key].append(value)
                case _:
                    pass
        for key, values in stored.items():
            has_other = any(isinstance(one, ast.BoolOp | ast.IfExp) for one in values)
            if (has_other or key in self._looked_at) and not any(map(is_none, values)):
                yield key
