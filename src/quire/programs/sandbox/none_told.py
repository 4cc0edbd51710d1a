"""Which field a program has to look at before it uses it: the checker says only that None does not fit."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from quire.programs.sandbox.fields import Comprehension, Field, Tests, may_be_none, read_by
from quire.programs.sandbox.functions import called_as, functions_in
from quire.programs.sandbox.iterating import is_as_written
from quire.programs.sandbox.loose_calls import LOOSE
from quire.programs.sandbox.loose_records import types_by_key
from quire.programs.sandbox.loose_tested import LOOSE_TESTED
from quire.programs.sandbox.marking import Span, Text
from quire.programs.sandbox.parsing import module_of

_IN_PLACE = {"float": "0", "int": "0", "str": '""', "list": "[]", "dict": "{}"}
"""What may stand for None, by what else a field may be."""

_TAKING_ANYTHING = ("bool", "isinstance", "print", "repr", "str")


_Known = frozenset[Field]


class _Use(NamedTuple):
    """A field that is read, and what is known not to be None where that is."""

    node: ast.expr
    field: Field
    known: _Known


class Unsure:
    """The fields of a program that may be None where they are used, as far as its text says."""

    def __init__(self, text: Text, tree: ast.Module, stubs: str) -> None:
        self._text = text
        self._tests = Tests(functions_in(tree))
        types = types_by_key(module_of(stubs), tree)
        self._types: Mapping[str, ast.expr] = {key: kind for key, kind in types if may_be_none(kind)}
        self._uses = [*self._uses_in(tree)] if self._types else []

    def told(self, place: Span) -> str:
        """What may be None within a place, and what to do of it; nothing where that cannot be said."""
        found = (one for one in self._uses if _is_within(self._text.span(one.node), place))
        unseen = (one for one in found if one.field not in one.known and is_as_written(self._text, one.node))
        use = next(unseen, None)
        if use is None:
            return ""
        start, end = self._text.span(use.node)
        said, other = self._text.data[start:end].decode(), _in_place_of_none(self._types[use.field.key])
        if LOOSE in said:  # what is ours means nothing to who wrote the program
            said, other = use.field.key, ""
        mended = f", or write `{said} or {other}`" if other else ""
        return f": `{said}` may be None: test it in the same expression{mended}"

    def _uses_in(self, tree: ast.Module) -> Iterator[_Use]:
        """Where fields are read, in their order, but not where None does as well."""
        waiting: list[tuple[ast.AST, _Known]] = [(tree, frozenset())]
        while waiting:
            node, known = waiting.pop()
            read = read_by(node)
            if read is not None and isinstance(node, ast.expr) and read.key in self._types:
                yield _Use(node, read.field, known)
            waiting += reversed([*self._parts_of(node, known)])

    def _parts_of(self, node: ast.AST, known: _Known) -> Iterator[tuple[ast.AST, _Known]]:
        """The parts of something that may not be None there, each with what is known where it stands."""
        taking = _taking_none(node)
        parts: Iterable[ast.AST] = ast.iter_child_nodes(node)
        match node:
            case _ if taking is not None:
                parts = (part for one in taking for part in ast.iter_child_nodes(one))
            case ast.BoolOp(op=ast.Or(), values=[*others, last]):
                parts = [last]
                known = known.union(*(self._tests.known(one, False) for one in others))
            case ast.BoolOp(values=several):
                known |= self._tests.known_of_all(several)
            case ast.IfExp(test=test, body=body, orelse=other):
                yield body, known | self._tests.known(test)
                yield other, known | self._tests.known(test, False)
                return
            case _ if isinstance(node, Comprehension):
                known |= self._tests.known_of_all(test for one in node.generators for test in one.ifs)
            case _:
                pass
        yield from ((part, known) for part in parts)


def _taking_none(node: ast.AST) -> list[ast.expr] | None:
    """The parts of something that does as well with None; no list where it does not."""
    match node:
        case ast.Call() if called_as(node) == LOOSE_TESTED:
            return []
        case ast.Call(args=several) if called_as(node) in _TAKING_ANYTHING:
            return several
        case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot() | ast.Eq() | ast.NotEq()]):
            return [left]
        case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()]) | ast.FormattedValue(value=left):
            return [left]
        case _:
            return None


def _is_within(span: Span, place: Span) -> bool:
    return place.start <= span.start and span.end <= place.end


def _in_place_of_none(kind: ast.expr) -> str:
    named = [one.id for one in ast.walk(kind) if isinstance(one, ast.Name)]
    return next((_IN_PLACE[name] for name in named if name in _IN_PLACE), "")
