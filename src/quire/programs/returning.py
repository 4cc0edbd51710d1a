"""Functions of a program that give a call back, and not what that gives: nothing is done until it is awaited.

Who calls a plain function of that kind has to await the call that it gives. An async one has been awaited by
then, and what it gave has to be awaited once more.
"""

import ast
from collections.abc import Callable, Collection, Iterable, Iterator
from copy import deepcopy

from quire.programs.putting_aside import held_in
from quire.programs.sandbox.gathering import gathering_in
from quire.programs.sandbox.putting import put_by

_MOST_PASSES = 10
"""One function may give back what another gives, for longer than anybody has time to follow."""

_Own = ast.FunctionDef | ast.AsyncFunctionDef
_Scope = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
Find = Callable[[ast.Module], Iterable[ast.Call]]


def giving_calls(tree: ast.Module, awaited: Collection[str], once: Collection[str]) -> set[str]:
    """The names of plain functions whose calls have to be awaited, as those that are `awaited` have.

    `once` are the names that a program binds once.
    """
    own = {name: values for name, values in _plain_functions(tree) if name in once}
    found = set[str]()
    for _ in range(_MOST_PASSES):
        more = {name for name, values in own.items() if _give(values, {*awaited, *found})}
        if more == found:
            break
        found = more
    return found


def lost_returns(
    tree: ast.Module, awaited: Collection[str], once: Collection[str], find: Find
) -> Iterator[ast.Call]:
    """The calls that async functions give back where some caller does not await them: `find` finds those."""
    giving, read = set[str](), tree
    for _ in range(_MOST_PASSES):
        own = {name: values for name, values in _async_functions(read) if name in once}
        more = {name for name, values in own.items() if _give(values, awaited)}
        if more == giving:
            break
        giving = more
        read = _AwaitedOnce(read := deepcopy(tree), giving).visit(read)
    if not giving:
        return
    lost = [call.func.id for call in find(read) if isinstance(call.func, ast.Name) and call.func.id in giving]
    first = {name: values for name, values in _async_functions(tree) if name in giving}
    for name in _with_inner(lost, dict(_async_functions(read))):
        calls = (call for value in first.get(name, ()) for call in held_in(value))
        yield from (call for call in calls if _name_of(call) in awaited)


class _AwaitedOnce(ast.NodeTransformer):
    """Has the calls that async functions give stand where these functions are awaited, by `gather` too."""

    def __init__(self, tree: ast.Module, giving: Collection[str]) -> None:
        self._giving, self._names = giving, set[str]()
        put = (put_by(node, ()) for node in ast.walk(tree))
        self._names = {name for names, values in put if any(map(self._holds, values)) for name in names}
        self._gathering = {call for call in gathering_in(tree) if any(map(self._holds, call.args))}

    def visit_Await(self, node: ast.Await) -> ast.AST:
        """What is awaited twice stays awaited once."""
        value = node.value
        self.generic_visit(node)
        if not isinstance(value, ast.Call):
            return node
        if _name_of(value) in self._giving:
            return value
        match value.args:
            case [ast.Starred(value=inner)] if value in self._gathering:
                return inner
            case _:
                rows = ast.copy_location(ast.List(value.args, ast.Load()), value)
                return rows if value in self._gathering else node

    def _holds(self, value: ast.expr) -> bool:
        """Whether calls of such functions are within a value, or within what has its name."""
        inner = value.value if isinstance(value, ast.Starred) else value
        if isinstance(inner, ast.Name):
            return inner.id in self._names
        return any(_name_of(call) in self._giving for call in held_in(value))


def _with_inner(names: Iterable[str], functions: dict[str, list[ast.expr]]) -> list[str]:
    """Functions, and those whose calls they give back themselves."""
    found = dict[str, None]()
    waiting = [*names]
    while waiting:
        name = waiting.pop()
        if name in functions and name not in found:
            found[name] = None
            waiting += (_name_of(call) for value in functions[name] for call in held_in(value))
    return [*found]


def _give(values: list[ast.expr], awaited: Collection[str]) -> bool:
    """Whether what a function gives back is calls that have to be awaited, or else nothing."""
    said = [one for one in values if not isinstance(one, ast.Constant)]
    return bool(said) and all(isinstance(one, ast.Call) and _name_of(one) in awaited for one in said)


def _name_of(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _plain_functions(tree: ast.Module) -> Iterator[tuple[str, list[ast.expr]]]:
    """The functions that are not async, with all that they give back."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name, decorator_list=[]):
                yield name, _returned_by(node)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda(body=body)):
                yield name, [body]
            case _:
                pass


def _async_functions(tree: ast.Module) -> Iterator[tuple[str, list[ast.expr]]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.AsyncFunctionDef) and not node.decorator_list:
            yield node.name, _returned_by(node)


def _returned_by(function: _Own) -> list[ast.expr]:
    """What a function gives back itself; nothing of one that yields."""
    values, waiting = list[ast.expr](), list[ast.AST](function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Yield | ast.YieldFrom):
            return []
        if isinstance(node, ast.Return) and node.value is not None:
            values.append(node.value)
        if not isinstance(node, _Scope):
            waiting += ast.iter_child_nodes(node)
    return values
