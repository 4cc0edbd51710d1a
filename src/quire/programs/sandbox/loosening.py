"""A program as the type checker is to look at it again where it found fault: less exactly.

The checker takes a dict of several kinds of values to hold any of them under each key, and a list of several
kinds to hold any of them at each place. A program that made them knows better, and is right about it more
often than not. So what it made of several kinds itself is anything, and so is what lists of several kinds
hold that it is given.
"""

import ast
from collections.abc import Collection, Iterator

from quire.programs.sandbox.functions import called_as
from quire.programs.sandbox.marking import Text
from quire.programs.sandbox.naming import declared_in
from quire.programs.sandbox.parsing import module_of

_LOOSE = "quire_of_any_kind"


def loosened(text: Text, tree: ast.Module, stubs: str) -> Iterator[tuple[int, str]]:
    """Marks that make anything of what a program made of several kinds; none in what is held to a type."""
    functions = frozenset(declared_in(stubs).functions)
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if _is_held(node, functions):
            continue
        if isinstance(node, ast.expr) and _is_of_several_kinds(node):
            start, end = text.span(node)
            yield start, f"{_LOOSE}("
            yield end, ")"
        if not isinstance(node, ast.JoinedStr):  # where the text may not be what the tree says
            waiting += ast.iter_child_nodes(node)


def loose_stubs(stubs: str) -> str:
    """Stubs whose variables and results may hold anything in lists of several kinds. The answer may not."""
    tree = module_of(stubs)
    for node in _declarations(tree):
        if isinstance(node, ast.AsyncFunctionDef) and node.returns is not None:
            node.returns = _Loosening().visit(node.returns)
        elif isinstance(node, ast.AnnAssign):
            node.annotation = _Loosening().visit(node.annotation)
    return f"{ast.unparse(tree)}\ndef {_LOOSE}(value): ...\n"


def _declarations(tree: ast.Module) -> Iterator[ast.stmt]:
    """What stubs declare, with the keys of records."""
    for node in tree.body:
        yield node
        if isinstance(node, ast.ClassDef) and node.name != "Output":
            yield from node.body


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


def _is_held(node: ast.AST, functions: Collection[str]) -> bool:
    """Whether this says what the answer or an argument is, or what a name is declared to be."""
    match node:
        case ast.Assign(targets=[ast.Name(id="output")]) | ast.AnnAssign():
            return True
        case ast.Call(func=ast.Name(id=name)):
            return name in functions
        case _:
            return False


def _is_of_several_kinds(node: ast.expr) -> bool:
    match node:
        case ast.Dict(values=values) if len(values) > 1:
            return len({_kind_of(value) for value in values}) > 1 or None in map(_kind_of, values)
        case ast.Call(func=ast.Name(id="dict"), args=[], keywords=[_, _, *_]):
            return True
        case ast.List(elts=several, ctx=ast.Load()) | ast.Tuple(elts=several, ctx=ast.Load()):
            calls = [one for one in several if isinstance(one, ast.Call)]
            return len({called_as(call) for call in calls}) > 1
        case _:
            return False


def _kind_of(value: ast.expr) -> str | None:
    """The kind of a value, where its text says that."""
    return type(value.value).__name__ if isinstance(value, ast.Constant) else None
