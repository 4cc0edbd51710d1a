"""Stubs as the type checker is to look at a program again: what it is given is taken for less exact."""

import ast
from collections.abc import Iterator

from quire.programs.sandbox.loosening import LOOSE
from quire.programs.sandbox.parsing import module_of


def loose_stubs(stubs: str) -> str:
    """Stubs whose variables and results may hold anything in lists of several kinds.

    The answer may not, and neither may what functions are given.
    """
    tree = module_of(stubs)
    for node in _loose_declarations(tree):
        if isinstance(node, ast.AsyncFunctionDef) and node.returns is not None:
            node.returns = _Loosening().visit(node.returns)
        elif isinstance(node, ast.AnnAssign):
            node.annotation = _Loosening().visit(node.annotation)
    return f"{ast.unparse(tree)}\ndef {LOOSE}(value): ...\n"


def _loose_declarations(tree: ast.Module) -> Iterator[ast.stmt]:
    """What stubs declare, with the keys of records that programs are given and do not give."""
    given = _given_by_programs(tree)
    for node in tree.body:
        yield node
        if isinstance(node, ast.ClassDef) and node.name not in given:
            yield from node.body


def _given_by_programs(tree: ast.Module) -> set[str]:
    """The names of all types that the answer and the parameters of functions are made of."""
    types = {name: node for node in tree.body for name in _names_of_type(node)}
    functions = [node for node in tree.body if isinstance(node, ast.AsyncFunctionDef)]
    waiting = ["Output", *(name for node in functions for name in _names_in(node.args))]
    found = set[str]()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _names_in(types[name]) if name in types else ()
    return found


def _names_of_type(node: ast.stmt) -> list[str]:
    match node:
        case ast.ClassDef(name=name) | ast.Assign(targets=[ast.Name(id=name)]):
            return [name]
        case _:
            return []


def _names_in(node: ast.AST) -> list[str]:
    return [one.id for one in ast.walk(node) if isinstance(one, ast.Name)]


class _Loosening(ast.NodeTransformer):
    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """A list of several kinds becomes one of anything."""
        self.generic_visit(node)
        is_list = "list" in (getattr(node.value, "id", ""), getattr(node.value, "attr", ""))
        several = isinstance(node.slice, ast.BinOp) and not _has_none(node.slice)
        return node.value if is_list and several else node


def _has_none(union: ast.expr) -> bool:
    """Whether one of the kinds is nothing at all: whoever is given that has to look."""
    return any(isinstance(one, ast.Constant) and one.value is None for one in ast.walk(union))
