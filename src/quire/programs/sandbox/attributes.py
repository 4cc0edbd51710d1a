"""What a program takes of modules, types and values that Python has there, and the sandbox has not."""

import ast
from collections import Counter
from collections.abc import Iterator
from typing import TypeGuard

from quire.programs.sandbox.functions import called_as
from quire.programs.sandbox.known_names import FUNCTION, PATH, PATTERN, Known, imports
from quire.programs.sandbox.lacked import (
    CALLED,
    ENVIRONMENT,
    FILES,
    HELD,
    KEYWORDS,
    METHODS,
    MODULES,
    NAMES,
    OF_PATHS,
    TYPES,
    WHOLE,
)
from quire.programs.sandbox.naming import bindings, parts_run

_NO_VALUE = "a method is no value in the sandbox: write a lambda that calls it"
_FRACTION = "timedelta takes whole numbers in the sandbox: write minutes for half an hour"
_NO_FILES = "there are no files in the sandbox: use the functions and inputs that you are given"
_NO_ENVIRONMENT = "there is no environment in the sandbox: use the inputs that you are given"
_NO_TEXT = (
    "`sub` takes a text as its replacement in the sandbox, and no function: "
    "go through `re.finditer` and put the text together"
)
_OF_VALUES = frozenset(name for kind in TYPES.values() for name in dir(kind) if name[0] != "_")
_TAKING_KEYS = ("max", "min", "sorted", ".sort", "groupby", ".groupby")

Lack = tuple[int, str]
"""A line, and what is wrong there."""


def attributes_lacking(tree: ast.Module) -> Iterator[Lack]:
    """What a program imports or takes of something of which the sandbox has only a part."""
    nodes = [*parts_run(tree)]
    looking = _Looking(nodes, Counter(name for _, name in bindings(tree)))
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from looking.imported(node)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            yield from looking.taken(node)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield from looking.named(node)
        elif isinstance(node, ast.Call | ast.BinOp):
            yield from looking.given(node)


class _Looking:
    """One program: what its names stand for, and where functions are called or asked for."""

    def __init__(self, nodes: list[ast.AST], bound: Counter[str]) -> None:
        self._called = {node.func for node in nodes if isinstance(node, ast.Call)}
        self._asked_for = {one for node in nodes for one in _functions_given(node)}
        self._tried = {one for node in nodes for one in _tried(node)}
        self._own = {*bound, *(node.attr for node in nodes if _is_set(node))}
        self._known = Known(nodes, bound)

    def imported(self, node: ast.Import | ast.ImportFrom) -> Iterator[Lack]:
        if node in self._tried:
            return
        for path in [path for _, path in imports(node)]:
            module, _, name = path.rpartition(".")
            if path in MODULES or module in MODULES:
                yield node.lineno, _lacks("module", path if path in MODULES else module)
            elif name in NAMES.get(module, ()):
                yield node.lineno, _lacks("name", path)

    def named(self, node: ast.Name) -> Iterator[Lack]:
        """A name that was imported by itself."""
        path, _, name = self._known.path_of(node).rpartition(".")
        yield from _of_no_use(node.lineno, path, name)

    def taken(self, node: ast.Attribute) -> Iterator[Lack]:
        path, is_called = self._known.path_of(node.value), node in self._called
        yield from _of_no_use(node.lineno, PATH if self._known.is_path(node.value) else path, node.attr)
        if path in NAMES:
            if node.attr in NAMES[path]:
                yield node.lineno, _lacks("name", f"{path}.{node.attr}")
        elif path in TYPES:
            yield from _taken_of_type(node, path, is_called)
        elif not path and node.attr not in self._own:
            if is_called and node.attr in METHODS:
                yield node.lineno, _lacks("method", node.attr)
            elif (node in self._asked_for or _is_plain(node.value, is_called)) and node.attr in _OF_VALUES:
                yield node.lineno, f"`.{node.attr}`: {_NO_VALUE}"

    def given(self, node: ast.Call | ast.BinOp) -> Iterator[Lack]:
        """What a function is given that it takes in Python alone."""
        if isinstance(node, ast.BinOp):
            sides = (node.left, node.right)
            calls = (one for one in sides if isinstance(one, ast.Call))
            is_scaled = any(self._known.path_of(one.func) == WHOLE for one in calls)
            if is_scaled and any(map(_is_fraction, sides)):
                yield node.lineno, _FRACTION
            return
        path, keywords = self._known.path_of(node.func), [one.arg for one in node.keywords if one.arg]
        for keyword in KEYWORDS.get(path, frozenset()).intersection(keywords):
            yield node.lineno, f"`{path}` has no `{keyword}` in the sandbox: write it another way"
        if path == WHOLE and any(map(_is_fraction, [*node.args, *(one.value for one in node.keywords)])):
            yield node.lineno, _FRACTION
        if any(self._known.kind_of(one) == FUNCTION for one in self._put_in_place(node)):
            yield node.lineno, _NO_TEXT

    def _put_in_place(self, call: ast.Call) -> list[ast.expr]:
        """What a call of `sub` puts in place of what it finds."""
        match call.func:
            case ast.Attribute(value=pattern, attr="sub") if self._known.kind_of(pattern) == PATTERN:
                at = 0
            case _ if self._known.path_of(call.func) == "re.sub":
                at = 1
            case _:
                return []
        return [*call.args[at : at + 1], *(one.value for one in call.keywords if one.arg == "repl")]


def _taken_of_type(node: ast.Attribute, path: str, is_called: bool) -> Iterator[Lack]:
    """What a type has in Python. Calls of those of Python itself are told of when they are made."""
    if node.attr in HELD.get(path, ()) or not callable(getattr(TYPES[path], node.attr, None)):
        return
    if not is_called:
        yield node.lineno, f"`{path}.{node.attr}`: {_NO_VALUE}"
    elif "." in path and node.attr not in CALLED.get(path, ()):
        yield node.lineno, _lacks("method", f"{path}.{node.attr}")


def _is_plain(node: ast.expr, is_called: bool) -> bool:
    """Whether what is taken is a method of a text that is written out, and not called."""
    return not is_called and isinstance(node, ast.JoinedStr | ast.Constant) and _is_text(node)


def _is_text(node: ast.JoinedStr | ast.Constant) -> bool:
    return isinstance(node, ast.JoinedStr) or isinstance(node.value, str)


def _is_fraction(node: ast.expr) -> bool:
    """Whether this is a number with a fraction, whatever it is computed from."""
    match node:
        case ast.Constant(value=float()) | ast.BinOp(op=ast.Div()):
            return True
        case ast.UnaryOp(operand=inner):
            return _is_fraction(inner)
        case _:
            return False


def _of_no_use(line: int, path: str, name: str) -> Iterator[Lack]:
    """What reaches for the machine that a program runs on, or is not there at all."""
    whole = f"{path}.{name}"
    if whole in ENVIRONMENT:
        yield line, f"`{whole}`: {_NO_ENVIRONMENT}"
    elif name in FILES.get(path, ()):
        yield line, f"`{whole}`: {_NO_FILES}"
    elif path == PATH and name in OF_PATHS:
        yield line, _lacks("name", whole)


def _lacks(what: str, path: str) -> str:
    return f"there is no {what} `{path}`: the sandbox has only a part of Python: write it another way"


def _functions_given(node: ast.AST) -> list[ast.expr]:
    """What stands where a function is asked for."""
    match node:
        case ast.Call(args=[first, _, *_]) if called_as(node) in ("filter", "map"):
            return [first]
        case ast.Call(keywords=keywords) if called_as(node) in _TAKING_KEYS:
            return [one.value for one in keywords if one.arg == "key"]
        case _:
            return []


def _tried(node: ast.AST) -> list[ast.stmt]:
    """What a program does in case it can be done, or not at all."""
    match node:
        case ast.Try(body=body):
            return body
        case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING"), body=body):
            return body
        case _:
            return []


def _is_set(node: ast.AST) -> TypeGuard[ast.Attribute]:
    return isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
