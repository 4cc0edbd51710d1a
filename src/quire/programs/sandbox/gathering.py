"""Calls of `asyncio.gather`, by whichever name a program has it."""

import ast
from collections.abc import Iterator


def gathering_in(tree: ast.Module) -> Iterator[ast.Call]:
    """The calls of `gather`."""
    imported = [(node, one) for node in ast.walk(tree) for one in _imports(node)]
    modules = {one.asname or one.name for node, one in imported if isinstance(node, ast.Import)}
    gathers = {one.asname or one.name for node, one in imported if isinstance(node, ast.ImportFrom)}
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(ast.Name(id=name), "gather")) if name in modules:
                yield node
            case ast.Call(func=ast.Name(id=name)) if name in gathers:
                yield node
            case _:
                pass


def _imports(node: ast.AST) -> Iterator[ast.alias]:
    """What a statement imports of `asyncio`, or that itself; of `asyncio` only what gathers."""
    match node:
        case ast.Import(names=names):
            yield from (one for one in names if one.name == "asyncio")
        case ast.ImportFrom(module="asyncio", names=names):
            yield from (one for one in names if one.name == "gather")
        case _:
            pass
