"""What a program puts under names, or into what they stand for."""

import ast
from collections.abc import Collection

from quire.programs.sandbox.functions import called_as

PUTTING = frozenset((".add", ".append", ".appendleft", ".extend", ".insert", ".setdefault", ".update"))
"""What puts values into others."""


def put_by(node: ast.AST, own: Collection[str]) -> tuple[set[str], list[ast.expr]]:
    """The names that something puts values under or into, and these values."""
    match node:
        case ast.Assign(targets=targets, value=value) if all(map(_is_kept_by_name, targets)):
            return names_in(targets), [value]
        case ast.AnnAssign(target=target, value=ast.expr() as value) if _is_kept_by_name(target):
            return names_in([target]), [value]
        case ast.AugAssign(target=target, value=value) if _is_kept_by_name(target):
            return names_in([target]), [value]
        case ast.Expr(ast.Call(func=ast.Attribute(value=ast.Name(id=name)), args=args) as call):
            method = called_as(call)
            return ({name}, args) if method in PUTTING and method not in own else (set(), [])
        case _:
            return set(), []


def _is_kept_by_name(target: ast.expr) -> bool:
    """Whether what is put here is found by one name alone: under that, or in what that stands for."""
    return isinstance(target, ast.Name) or (
        isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name)
    )


def names_in(targets: list[ast.expr]) -> set[str]:
    """The names in what values are put under."""
    return {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}
