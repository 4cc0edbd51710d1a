"""The functions that a program defines, and which of them call which."""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping

from quire.programs.check import bindings

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions_in(tree: ast.Module) -> dict[str, Function]:
    """The functions of a program by what they are called as: methods with a dot, `__init__` as its class."""
    found: dict[str, Function] = {}
    methods: set[ast.AST] = set()
    for node in ast.walk(tree):  # a class comes before what is in it
        if isinstance(node, ast.ClassDef):
            own = [one for one in node.body if isinstance(one, Function)]
            methods.update(own)
            found.update((node.name, one) for one in own if one.name == "__init__")
        elif isinstance(node, Function):
            found[f".{node.name}" if node in methods else node.name] = node
    return found


def callees_first(tree: ast.Module, functions: Mapping[str, Function]) -> Iterator[str]:
    """Each function once, after those that it calls.

    Where they call one another in a circle, the one that the program begins with comes last.
    """
    outer = [node for node in tree.body if not isinstance(node, Function | ast.ClassDef)]
    first = [name for node in outer for name in _called_in(node) if name in functions]
    waiting, begun, done = [*functions, *reversed(first)], set[str](), set[str]()
    while waiting:
        name = waiting[-1]
        if name not in begun:
            begun.add(name)
            called = _called_in(functions[name])
            waiting += [one for one in called if one in functions and one not in begun]
            continue
        waiting.pop()
        if name not in done:
            done.add(name)
            yield name


def called_as(call: ast.Call) -> str:
    """What a call calls: a name, an attribute with a dot, or nothing that has a name."""
    match call.func:
        case ast.Name(id=name):
            return name
        case ast.Attribute(attr=name):
            return f".{name}"
        case _:
            return ""


def standing_in(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Names that are bound once, to what is called through them: a name, several, a lambda, a `partial`."""
    bound = Counter(name for _, name in bindings(tree))
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if bound[name] == 1:
                if _stands_for_others(value):
                    yield name, value
            case _:
                pass


def _stands_for_others(value: ast.expr) -> bool:
    match value:
        case ast.Name() | ast.IfExp() | ast.Lambda() | ast.Dict() | ast.List() | ast.Tuple():
            return not any(isinstance(one, ast.Await) for one in ast.walk(value)) and not _calls(value)
        case ast.Call():
            return called_as(value) in ("partial", ".partial")
        case _:
            return False


def _calls(value: ast.expr) -> bool:
    """Whether this calls at once: what is within a lambda is called later."""
    return not isinstance(value, ast.Lambda) and any(isinstance(one, ast.Call) for one in ast.walk(value))


def _called_in(node: ast.AST) -> Iterator[str]:
    return (called_as(one) for one in ast.walk(node) if isinstance(one, ast.Call))
