"""The functions that a program defines, and which of them call which."""

import ast
from collections.abc import Iterator, Mapping

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


def _called_in(node: ast.AST) -> Iterator[str]:
    return (called_as(one) for one in ast.walk(node) if isinstance(one, ast.Call))
