"""Functions by other names: put under one, or given to a function that has a name for what it is given."""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from quire.programs.sandbox.functions import Function
from quire.programs.sandbox.naming import bindings, values_named_by

Reads = list[ast.Name]
"""Where a name is looked up."""


def other_names(tree: ast.Module) -> dict[ast.expr, Reads]:
    """What has another name from there on that nothing else has, with where it is looked up by that."""
    nodes, whole = [*ast.walk(tree)], _Names(tree)
    named = [(whole, *one) for node in nodes for one in (*values_named_by(node), *_gone_through_by(node))]
    named += [(own.names(), name, value) for own, name, value in _given(nodes, whole)]
    found = (
        (one, names.read[name])
        for names, name, value in named
        if names.is_single(name)
        for one in _either_of(value)
    )
    return {one: reads for one, reads in found if reads}  # one that is not looked up is had by other ways


def reads_by_any_name(names: Iterable[str], tree: ast.Module) -> set[ast.Name]:
    """Where the values of some names are looked up, by these or by others."""
    others, reads, found = other_names(tree), reads_in(tree), set[ast.Name]()
    waiting = [node for name in names for node in reads[name]]
    while waiting:
        node = waiting.pop()
        waiting += others.get(node, []) if node not in found else []
        found.add(node)
    return found


def given_to_functions(tree: ast.Module) -> Iterator[tuple[Function, str, ast.expr]]:
    """What a program gives to functions of its own, by the names that they have for it."""
    given = _given([*ast.walk(tree)], _Names(tree))
    return ((own.function, name, value) for own, name, value in given)


class _Names:
    """The names of a program, or of a function in it."""

    def __init__(self, within: ast.AST) -> None:
        self._bound = Counter(name for _, name in bindings(within))
        self.read = reads_in(within)

    def is_single(self, name: str) -> bool:
        return self._bound[name] == 1


class _Own:
    """A function of the program's own; its names are looked for when it is called with something."""

    def __init__(self, function: Function) -> None:
        self.taken = function.args
        self.function = function
        self._names: _Names | None = None

    def names(self) -> _Names:
        self._names = self._names or _Names(self.function)
        return self._names


def reads_in(within: ast.AST) -> defaultdict[str, Reads]:
    """Where names are looked up."""
    found = defaultdict[str, Reads](list)
    for node in ast.walk(within):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found[node.id].append(node)
    return found


def _gone_through_by(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """What a loop goes through, by the name that it has for each."""
    match node:
        case ast.For(target=ast.Name(id=name), iter=several):
            yield name, several
        case ast.comprehension(target=ast.Name(id=name), iter=several):
            yield name, several
        case _:
            pass


def _given(nodes: list[ast.AST], whole: _Names) -> Iterator[tuple[_Own, str, ast.expr]]:
    plain = (one for one in nodes if isinstance(one, Function) and not one.decorator_list)
    functions = {one.name: _Own(one) for one in plain if whole.is_single(one.name)}
    return (one for node in nodes for one in _given_by(node, functions))


def _given_by(node: ast.AST, functions: dict[str, _Own]) -> Iterator[tuple[_Own, str, ast.expr]]:
    """What a call gives to a function of the program's own, by the names that it has for it."""
    match node:
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords) if name in functions:
            own = functions[name]
            given = [(one.arg or "", one.value) for one in keywords if one.arg in _named(own.taken)]
            if not any(isinstance(one, ast.Starred) for one in args):
                given += zip(_in_order(own.taken), args, strict=False)
            yield from ((own, name, value) for name, value in given)
        case _:
            pass


def _in_order(taken: ast.arguments) -> list[str]:
    return [one.arg for one in (*taken.posonlyargs, *taken.args)]


def _named(taken: ast.arguments) -> set[str]:
    return {one.arg for one in (*taken.args, *taken.kwonlyargs)}


def _either_of(value: ast.expr) -> list[ast.expr]:
    """What a value is one of, or holds as rows that are written out."""
    match value:
        case ast.IfExp(body=one, orelse=other):
            return [one, other]
        case ast.List(elts=several) | ast.Tuple(elts=several):
            return several
        case _:
            return [value]
