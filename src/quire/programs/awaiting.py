"""Calls of a program that nobody awaits, as far as its text shows that."""

import ast
import builtins
from collections import Counter
from collections.abc import Collection, Iterator

from quire.programs.putting_aside import held_in, left_aside, tells_only
from quire.programs.returning import giving_calls, lost_returns
from quire.programs.sandbox.gathering import gathering_in
from quire.programs.sandbox.naming import bindings, uses

_USES = (
    ast.FormattedValue
    | ast.BinOp
    | ast.Compare
    | ast.BoolOp
    | ast.UnaryOp
    | ast.Subscript
    | ast.Attribute
    | ast.If
    | ast.While
    | ast.For
)
"""What uses the value of a call at once: a call that is put aside may be awaited later."""


def unawaited(tree: ast.Module, functions: Collection[str]) -> Iterator[tuple[int, str]]:
    """Calls of async functions whose value is used as if it were there, or left, by line and name.

    `functions` are those that the program is given: they are given data, and the answer is data too.
    """
    bound = Counter(name for _, name in bindings(tree))
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.AsyncFunctionDef)}
    once = {name for name, count in bound.items() if count == 1}
    awaited = {*functions, *(own & once)}
    awaited |= giving_calls(tree, awaited, once)
    gathering = {*gathering_in(tree)}
    is_last_word = "output" in once and all(name != "output" for _, name in uses(tree))

    def left_in(tree: ast.Module) -> Iterator[ast.Call]:
        used = (call for node in ast.walk(tree) for call in _used_by(node, functions, is_last_word))
        return iter(dict.fromkeys((*used, *left_aside(tree))))

    left = (
        call
        for call in left_in(tree)
        if call in gathering or (isinstance(call.func, ast.Name) and call.func.id in awaited)
    )
    for call in dict.fromkeys((*left, *lost_returns(tree, awaited, once, left_in))):
        yield call.lineno, ast.unparse(call.func)


def _used_by(node: ast.AST, functions: Collection[str], is_last_word: bool) -> Iterator[ast.Call]:
    """The calls whose values something uses at once, or nothing does."""
    match node:
        case ast.Expr(value=value):
            yield from held_in(value)
        case ast.Call(func=ast.Name(id=name)) if name in functions or tells_only(node):
            for given in [*node.args, *(keyword.value for keyword in node.keywords)]:
                yield from held_in(given)
        case ast.Assign(targets=[ast.Tuple() | ast.List()], value=ast.Call() as call):
            yield call
        case ast.comprehension(iter=ast.Call() as call, is_async=0):
            yield call
        case _ if isinstance(node, _USES) or _takes_values(node):
            yield from (child for child in ast.iter_child_nodes(node) if isinstance(child, ast.Call))
        case _ if is_last_word and (answer := _answer_in(node)) is not None:
            yield from held_in(answer)
        case _:
            pass


def _answer_in(node: ast.AST) -> ast.expr | None:
    """What a statement gives `output` as its value."""
    match node:
        case ast.Assign(targets=[ast.Name(id="output")], value=value):
            return value
        case ast.AnnAssign(target=ast.Name(id="output"), value=value):
            return value
        case _:
            return None


def _takes_values(node: ast.AST) -> bool:
    """Whether this calls a function of Python itself, such as `print`: none of them awaits."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and hasattr(builtins, node.func.id)
