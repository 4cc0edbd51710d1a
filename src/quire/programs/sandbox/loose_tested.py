"""Fields that may be None, and that a program looks at before it keeps a record: None is no more in them.

The type checker knows that only where the test stands. A program that leaves out what has no salary, and adds
up salaries later on, is right: so of what it kept, such a field is taken for what else it may be. What it was
given and never chose from is looked at as before.
"""

import ast
from collections.abc import Iterator
from functools import cached_property

from quire.programs.sandbox.field_tests import Tests
from quire.programs.sandbox.fields import Read, changed_by, may_be_missing, may_be_none, read_by
from quire.programs.sandbox.given_records import Given
from quire.programs.sandbox.loose_calls import LOOSE
from quire.programs.sandbox.loose_records import types_by_key
from quire.programs.sandbox.parsing import module_of

LOOSE_TESTED = f"{LOOSE}_but_none"


class Tested:
    """The fields that a program looks at, of what `stubs` declare and of its own."""

    def __init__(self, tree: ast.Module, stubs: str) -> None:
        self._tree, self._stubs = tree, stubs

    @cached_property
    def _types(self) -> list[tuple[str, ast.expr]]:
        return [*types_by_key(module_of(self._stubs), self._tree)]

    @cached_property
    def _declared(self) -> set[str]:
        return {key for key, _ in self._types}

    @cached_property
    def _never_none(self) -> set[str]:
        """Keys of records that hold something in each of them: which of several, the checker sees best."""
        unsure = {key for key, kind in self._types if may_be_none(kind) or may_be_missing(kind)}
        return self._declared - unsure

    @cached_property
    def _several(self) -> set[str]:
        """Keys of fields that may be of several kinds beside None: of a mark the checker cannot see which."""
        return {key for key, kind in self._types if ast.unparse(kind).count(" | ") > 1}

    @cached_property
    def _given(self) -> Given:
        return Given(self._tree, Tests(self._tree), self._stubs, self._never_none)

    @cached_property
    def _changed(self) -> dict[ast.expr, Read]:
        """Fields that are changed by what they are, by what these are in: nothing can be put around them."""
        found = filter(None, map(changed_by, ast.walk(self._tree)))
        return {read.whole: read for read in found if read.key not in self._never_none}

    def marks_of(self, node: ast.expr) -> Iterator[tuple[str, str]]:
        """What is put ahead of an expression and behind it."""
        changed = self._changed.get(node)
        if changed is not None and not self._given.has(changed):
            yield f"{LOOSE}(", ")"
        read = read_by(node)
        if read is None or read.key in self._never_none:
            return
        is_method = isinstance(node, ast.Attribute) and read.key not in self._declared
        if not is_method and not self._given.has(read):
            yield f"{LOOSE if read.key in self._several else LOOSE_TESTED}(", ")"
