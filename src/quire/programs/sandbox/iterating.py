"""What Python goes through once, and the sandbox makes a list of: written so that programs can take the next.

The sandbox's generator expressions, `map`, `zip` and the like are lists at once. That does for most programs,
and such a list may be handed over. One that takes the next of it finds that a list has none.
"""

import ast
from collections.abc import Collection, Iterator

from quire.programs.sandbox.functions import called_as
from quire.programs.sandbox.marking import Text
from quire.programs.sandbox.naming import bindings, uses
from quire.programs.sandbox.parsing import expression_of

_MAP = "map = lambda _function, *_several: [_function(*_each) for _each in zip(*_several)]"
"""The sandbox's own can call no function that is waited for. It is a list at once, as this is."""

_ITER = "_quire_iter"
_OWN_ITER = f"{_ITER} = iter"
_OTHER_ITER = f"from itertools import chain as {_ITER}"
"""`iter` by a name that no program has; the other is for one that is given something by its name."""

_LISTS = frozenset(("enumerate", "filter", "map", "reversed", "zip", ".finditer"))
"""Functions that give iterators in Python, and lists in the sandbox."""

_LONGEST_LOOKED_AT = 2_000


def iterating_ahead(text: Text, tree: ast.Module, taken: Collection[str]) -> str:
    """What a program has need of to go through things, if anything; what it is given by a name is its own."""
    return "; ".join(
        [
            *([_MAP] if _uses("map", text, tree, taken) else []),
            *([_OTHER_ITER if "iter" in taken else _OWN_ITER] if _uses("next", text, tree, taken) else []),
        ]
    )


def iterators_marked(text: Text, tree: ast.Module, taken: Collection[str]) -> Iterator[tuple[int, str]]:
    """Marks that make iterators of lists, in programs that take the next of something."""
    if not _uses("next", text, tree, taken):
        return
    own = {*taken, *(name for _, name in bindings(tree))}
    handed = {id(one) for node in ast.walk(tree) for one in _handed_over(node, taken)}
    for node in standing(text, tree):
        start, end = text.span(node)
        if id(node) in handed:
            continue
        if isinstance(node, ast.GeneratorExp):  # with its parentheses, which may be those of a call
            start, end = start + 1, end - 1
        elif not isinstance(node, ast.Call) or called_as(node) not in _LISTS - own:
            continue
        yield start, f"{_ITER}("
        yield end, ")"


def _handed_over(node: ast.AST, taken: Collection[str]) -> list[ast.expr]:
    """What is given to functions of the host, as the answer, or to a list: that can be, and no iterator."""
    match node:
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords) if name in taken:
            return [*args, *(one.value for one in keywords)]
        case ast.Assign(targets=[ast.Name(id="output")], value=value) | ast.Expr(value=value):
            return [value]
        case ast.AugAssign(value=value):
            return [value]
        case _:
            return []


def _uses(name: str, text: Text, tree: ast.Module, taken: Collection[str]) -> bool:
    return name.encode() in text.data and name not in taken and any(used == name for _, used in uses(tree))


def standing(text: Text, tree: ast.Module) -> Iterator[ast.expr]:
    """Generator expressions and calls where the text is what the tree says: in f-strings it may not be."""
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        node, is_in_text = waiting.pop()
        if isinstance(node, ast.GeneratorExp | ast.Call) and (not is_in_text or is_as_written(text, node)):
            yield node
        is_in_text = is_in_text or isinstance(node, ast.JoinedStr)
        waiting += [(child, is_in_text) for child in ast.iter_child_nodes(node)]


def is_as_written(text: Text, node: ast.expr) -> bool:
    """Whether the text has a node where the tree says that it stands."""
    start, end = text.span(node)
    if not 0 < end - start <= _LONGEST_LOOKED_AT:
        return False
    try:
        found = expression_of(text.data[start:end].decode())
    except (SyntaxError, ValueError):
        return False
    return _shape_of(found) == _shape_of(node)


def _shape_of(node: ast.AST) -> str:
    """What a node is, whether it is read or put into."""
    return ast.dump(node).replace("ctx=Store()", "ctx=Load()")
