"""Names in a program and in stubs: which are bound, which are used, and which are there to be used."""

import ast
from collections import deque
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple, cast

from quire.programs.sandbox.parsing import module_of

_DEFINED = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_TYPE_PARAMETERS = ("TypeVar", "ParamSpec", "TypeVarTuple")
"""Newer Pythons have them, by these names."""

_ANNOTATIONS = ("annotation", "returns")


class Declared(NamedTuple):
    """What stubs declare, in their order. `types` are only for whoever checks: no program finds them.

    `records` are those of them that are dicts with the keys of their own.
    """

    functions: tuple[str, ...]
    variables: tuple[str, ...]
    types: frozenset[str]
    records: frozenset[str]


@lru_cache(64)
def declared_in(stubs: str) -> Declared:
    """The names at the top level of stubs."""
    body = module_of(stubs).body
    functions = tuple(node.name for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    variables = tuple(name for node in body if isinstance(node, ast.AnnAssign) for name in _names(node))
    types = {name for node in body for name in _names(node)}.difference(functions, variables, ["__all__"])
    records = {name for node in body if _is_record(node) for name in _names(node)}
    return Declared(functions, variables, frozenset(types), frozenset(records))


def _names(node: ast.stmt) -> list[str]:
    """What a statement binds, without the names within a function or a class."""
    parts = [node] if isinstance(node, _DEFINED) else ast.walk(node)
    return [name for part in parts for name in names_bound_by(part)]


def _is_record(node: ast.stmt) -> bool:
    """Whether this is a class of keys, or `Name = TypedDict(...)`."""
    return isinstance(node, ast.ClassDef) or (
        isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
    )


def bindings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every name that a program binds, declares or deletes, anywhere, with its line."""
    for node in ast.walk(tree):
        for name in names_bound_by(node):
            yield getattr(node, "lineno", 1), name


def names_bound_by(node: ast.AST) -> list[str]:
    """The names that one node binds, without those of its parts."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return [name]
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
            return [name]
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            return [name]
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            return names
        case ast.alias(name=name, asname=other):
            return [other or name.partition(".")[0]]
        case _:
            return [str(cast("Any", node).name)] if type(node).__name__ in _TYPE_PARAMETERS else []


def values_named_by(node: ast.AST) -> list[tuple[str, ast.expr]]:
    """What a statement puts under a name, in a list of one or none."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return [(name, value)]
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            return [(name, value)]
        case _:
            return []


def uses(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every name that a program looks up when it is run, with its line."""
    for node in parts_run(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.lineno, node.id


def parts_run(tree: ast.AST) -> Iterator[ast.AST]:
    """Every part of a program that counts when it is run: annotations do not."""
    waiting = deque([tree])
    while waiting:
        node = waiting.popleft()
        yield node
        waiting.extend(child for name, child in _parts(node) if name not in _ANNOTATIONS)


def _parts(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    for name, found in ast.iter_fields(node):
        several = cast("list[object]", found) if isinstance(found, list) else [found]
        yield from ((name, child) for child in several if isinstance(child, ast.AST))
