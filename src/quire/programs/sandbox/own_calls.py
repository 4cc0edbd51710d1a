"""Calls of a program's own async functions, marked so that those are counted which nobody awaits."""

import ast
from collections import Counter
from collections.abc import Iterator

from quire.programs.sandbox.awaited import OWN
from quire.programs.sandbox.iterating import standing
from quire.programs.sandbox.marking import Text
from quire.programs.sandbox.naming import bindings


def own_calls_marked(text: Text, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Marks around the calls of functions that are async whenever they are called by their names."""
    names = _async_names(tree)
    for node in standing(text, tree) if names else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
            start, end = text.span(node)
            yield start, f'{OWN}("{node.func.id}", '
            yield end, ")"


def _async_names(tree: ast.Module) -> set[str]:
    bound = Counter(name for _, name in bindings(tree))
    return {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.AsyncFunctionDef) and not node.decorator_list and bound[node.name] == 1
    }
