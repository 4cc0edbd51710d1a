"""A program's own async functions, marked so that calls of them are counted which nobody awaits.

However such a function is called, by its name or as a value, it is counted when it is called and again when
it begins. So nothing of ours stands between who awaits it and itself, and it has all the depth there is.
"""

import ast
from collections import Counter
from collections.abc import Iterator, Sequence

from quire.programs.sandbox.awaited import LEFT, OWN
from quire.programs.sandbox.marking import Text
from quire.programs.sandbox.naming import bindings

_Defined = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_Compound = (
    _Defined
    | ast.If
    | ast.For
    | ast.AsyncFor
    | ast.While
    | ast.With
    | ast.AsyncWith
    | ast.Try
    | ast.TryStar
    | ast.Match
)
"""Statements that nothing can stand before on their lines."""


def own_calls_marked(text: Text, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Marks on async functions that have their names for themselves; some are lines of their own."""
    for function in _counted(tree):
        yield text.start_of(function.lineno), f'{_indent(text, function)}@{OWN}("{function.name}")\n'
        first, begins = function.body[0], f'{LEFT}["{function.name}"] -= 1'
        if isinstance(first, _Compound):
            yield text.start_of(first.lineno), f"{_indent(text, first)}{begins}\n"
        else:
            yield text.span(first).start, f"{begins}; "


def lines_put_in(tree: ast.Module) -> list[int]:
    """The lines of a program before which one of ours is put, in their order."""
    functions = [*_counted(tree)]
    first = [one.body[0] for one in functions]
    return sorted(one.lineno for one in (*functions, *first) if isinstance(one, _Compound))


def written_at(line: int, put_in: Sequence[int]) -> int:
    """The line of a program as it was written, for one of the program with lines of ours put in."""
    for before in put_in:
        if before >= line:
            break
        line -= 1
    return line


def _counted(tree: ast.Module) -> Iterator[ast.AsyncFunctionDef]:
    """Those that are no methods: which one an attribute is, no text shows."""
    bound = Counter(name for _, name in bindings(tree))
    methods = {one for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for one in node.body}
    for node in ast.walk(tree):
        if isinstance(node, ast.AsyncFunctionDef) and node not in methods and bound[node.name] == 1:
            first = node.body[0]
            if not node.decorator_list and not (isinstance(first, _Defined) and first.decorator_list):
                yield node


def _indent(text: Text, node: ast.stmt) -> str:
    start = text.start_of(node.lineno)
    return text.data[start : start + node.col_offset].decode()
