"""Which field a program has to look at before it uses it: the checker says only that None does not fit."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from quire.programs.sandbox.field_places import Places
from quire.programs.sandbox.field_tests import Tests
from quire.programs.sandbox.fields import Field, changed_by, may_be_none, read_by
from quire.programs.sandbox.functions import called_as
from quire.programs.sandbox.iterating import is_as_written
from quire.programs.sandbox.loose_calls import LOOSE
from quire.programs.sandbox.loose_records import types_by_key
from quire.programs.sandbox.loose_tested import LOOSE_TESTED
from quire.programs.sandbox.marking import Span, Text
from quire.programs.sandbox.parsing import module_of

_IN_PLACE = {"float": "0", "int": "0", "str": '""', "list": "[]", "dict": "{}"}
"""What may stand for None, by what else a field may be."""

_TAKING_ANYTHING = ("bool", "isinstance", "print", "repr", "str")


class _Use(NamedTuple):
    """A field that is read, and where."""

    node: ast.expr
    field: Field


class Unsure:
    """The fields of a program that may be None where they are used, as far as its text says."""

    def __init__(self, text: Text, tree: ast.Module, stubs: str) -> None:
        self._text = text
        self._places = Places(tree, Tests(tree))
        types = types_by_key(module_of(stubs), tree)
        self._types: Mapping[str, ast.expr] = {key: kind for key, kind in types if may_be_none(kind)}
        self._uses = [*self._uses_in(tree)] if self._types else []

    def told(self, place: Span) -> str:
        """What may be None within a place, and what to do of it; nothing where that cannot be said."""
        found = (one for one in self._uses if _is_within(self._text.span(one.node), place))
        use = next((one for one in found if self._is_unseen(one)), None)
        if use is None:
            return ""
        said, other = self._said(use.node), _in_place_of_none(self._types[use.field.key])
        if LOOSE in said:  # what is ours means nothing to who wrote the program
            said, other = use.field.key, ""
        mended = f", or write `{said} or {other}`" if other else ""
        return f": `{said}` may be None: test it in the same expression{mended}"

    def _said(self, node: ast.expr) -> str:
        """The text of an expression, without what we put around parts of it."""
        start, end = self._text.span(node)
        pieces = list[bytes]()
        for ours in sorted(span for one in ast.walk(node) for span in self._put_around(one)):
            pieces.append(self._text.data[start : ours.start])
            start = max(start, ours.end)
        return b"".join([*pieces, self._text.data[start:end]]).decode()

    def _put_around(self, node: ast.AST) -> list[Span]:
        match node:
            case ast.Call(args=[inner]) if called_as(node) == LOOSE_TESTED:
                outer, within = self._text.span(node), self._text.span(inner)
                return [Span(outer.start, within.start), Span(within.end, outer.end)]
            case _:
                return []

    def _is_unseen(self, use: _Use) -> bool:
        name, key = use.field
        return is_as_written(self._text, use.node) and key not in self._places.known_at(use.node, name)

    def _uses_in(self, tree: ast.Module) -> Iterator[_Use]:
        """Where fields are read, in their order, but not where None does as well."""
        waiting: list[ast.AST] = [tree]
        while waiting:
            node = waiting.pop()
            read = read_by(node) or changed_by(node)
            use = node.target if isinstance(node, ast.AugAssign) else node
            if read is not None and isinstance(use, ast.expr) and read.key in self._types:
                yield _Use(use, read.field)
            waiting += reversed([*_parts_of(node)])


def _parts_of(node: ast.AST) -> Iterable[ast.AST]:
    """The parts of something that may not be None there."""
    taking = _taking_none(node)
    match node:
        case _ if taking is not None:
            return (part for one in taking for part in ast.iter_child_nodes(one))
        case ast.BoolOp(op=ast.Or(), values=[*others, last]):
            return [*(part for one in others for part in _looked_into(one)), last]
        case ast.IfExp(body=body, orelse=other):
            return [body, other]
        case _:
            return ast.iter_child_nodes(node)


def _looked_into(one: ast.expr) -> Iterable[ast.AST]:
    """The parts that may not be None of something that may be, as something else stands for it then."""
    is_either = isinstance(one, ast.BoolOp | ast.IfExp)
    return ast.iter_child_nodes(one) if read_by(one) is not None else [] if is_either else [one]


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
