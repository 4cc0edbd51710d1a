"""What the names of a program are given, and what is put into what they hold, whatever the order of it."""

import ast
from collections import defaultdict
from collections.abc import Iterator

from quire.programs.sandbox.naming import names_bound_by

_ADDING = {"add": 0, "append": 0, "appendleft": 0, "insert": 1, "setdefault": 1}
"""Methods that put one of their arguments into something, and which of them."""

_JOINING = ("extend", "extendleft", "update")
_LEAVING = ("clear", "discard", "pop", "popitem", "popleft", "remove")
_READING = ("copy", "count", "get", "index", "items", "keys", "reverse", "sort", "values", *_LEAVING)
_TAKING = ("get", "pop", "setdefault")
"""Methods that give what is in something."""

Value = ast.expr | None
"""None is for a value that nothing is known of."""


class Flow:
    """What a program does with names. It is not told by which function: a name is one for all of them.

    `put` is how deep within a name something was put. `shared` are names of which a part has a name of its
    own, `lent` those that may be filled by another. `within` is what the names of a comprehension are given:
    nobody else has it under them.
    """

    def __init__(self, program: ast.Module) -> None:
        self.given = defaultdict[str, list[Value]](list)
        self.put = defaultdict[str, list[tuple[int, Value]]](list)
        self.shared, self.lent = set[str](), set[str]()
        self.within = set[Value]()
        nodes = [*ast.walk(program)]
        known = set[ast.AST]()
        for node in nodes:
            for target, value in _given_by(node):
                known.add(target)
                self._give(target, value)
                if isinstance(node, ast.comprehension):
                    self.within.add(value)
            self._put_by(node)
        for node in nodes:
            if node not in known and not isinstance(node, ast.alias | ast.Global | ast.Nonlocal):
                for name in names_bound_by(node):
                    self.given[name].append(None)
        answer = {part for node in nodes for part in _answer_in(node)}
        for node in nodes:
            if node not in answer:
                self.lent.update(one.id for one in self._lent_by(node) if isinstance(one, ast.Name))

    def _give(self, target: ast.expr, value: Value) -> None:
        name, depth = path_of(target)
        if isinstance(target, ast.Name):
            self.given[name].append(value)
        elif name:
            is_slice = isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Slice)
            self.put[name].append((depth, part_of(value) if is_slice and value is not None else value))
        whole, within = ("", 0) if value is None else path_of(value)
        if whole and within:
            self.shared.add(whole)

    def _put_by(self, node: ast.AST) -> None:
        match node:
            case ast.AugAssign(target=target, value=value):
                self._put(target, part_of(value))
            case ast.Call(func=ast.Attribute(value=target, attr=method), args=args, keywords=keywords):
                if method in _ADDING:
                    self._put(target, *args[_ADDING[method] :][:1])
                elif method in _JOINING:
                    self._put(target, *map(part_of, args), *(one.value for one in keywords))
                elif method not in _READING:
                    self._put(target, None)
            case _:
                pass

    def _put(self, target: ast.expr, *values: Value) -> None:
        name, depth = path_of(target)
        self.put[name] += ((depth + 1, value) for value in values)

    def _lent_by(self, node: ast.AST) -> list[ast.expr]:
        match node:
            case (
                ast.Assign(value=value)
                | ast.NamedExpr(value=value)
                | ast.AnnAssign(value=ast.expr() as value)
            ):
                return [value]
            case ast.Call(func=ast.Name(id=name)) if name not in self.given:
                return []  # one of Python's or of the host: neither fills what it is given
            case ast.Call(args=args, keywords=keywords):
                return [*args, *(one.value for one in keywords)]
            case ast.IfExp(body=one, orelse=other):
                return [one, other]
            case ast.BoolOp(values=several) | ast.Dict(values=several):
                return several
            case ast.List(elts=several) | ast.Tuple(elts=several) | ast.Set(elts=several):
                return several
            case ast.ListComp(elt=one) | ast.GeneratorExp(elt=one) | ast.DictComp(value=one):
                return [one]
            case _:
                return []


def path_of(value: ast.expr) -> tuple[str, int]:
    """The name that something is a part of, and how deep within; no name where it is a part of none."""
    depth = 0
    while True:
        match value:
            case ast.Subscript(value=inner) | ast.Call(func=ast.Attribute(value=inner, attr="values")):
                value, depth = inner, depth + 1
            case ast.Call(func=ast.Attribute(value=inner, attr=method)) if method in _TAKING:
                value, depth = inner, depth + 1
            case _:
                return (value.id if isinstance(value, ast.Name) else ""), depth


def part_of(value: ast.expr) -> ast.expr:
    """Any part of a value, as a program would say it."""
    return ast.Subscript(value, ast.Constant(0), ast.Load())


def _given_by(node: ast.AST) -> Iterator[tuple[ast.expr, Value]]:
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _paired(target, value)
        case (
            ast.AnnAssign(target=target, value=ast.expr() as value)
            | ast.NamedExpr(target=target, value=value)
        ):
            yield target, value
        case ast.AnnAssign(target=target) | ast.AugAssign(target=ast.Name() as target):
            yield target, ast.Constant(None)  # it holds what it held
        case ast.For(target=target, iter=several) | ast.comprehension(target=target, iter=several):
            yield from _each_of(target, several)
        case _:
            pass


def _paired(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, Value]]:
    """Each name of a row with what it is given, where both are written out."""
    match target, value:
        case (
            (ast.Tuple(elts=names) | ast.List(elts=names)),
            (ast.Tuple(elts=values) | ast.List(elts=values)),
        ):
            is_plain = not any(isinstance(one, ast.Starred) for one in [*names, *values])
            if is_plain and len(names) == len(values):
                yield from zip(names, values, strict=True)
        case ((ast.Tuple() | ast.List()), _):
            pass
        case _:
            yield target, value


def _each_of(target: ast.expr, several: ast.expr) -> Iterator[tuple[ast.expr, Value]]:
    match target, several:
        case ast.Tuple(elts=[ast.Name(), ast.Name() as value]), ast.Call(ast.Attribute(whole, "items"), []):
            yield value, part_of(whole)
        case ast.Name(), ast.Call(func=ast.Attribute(value=whole, attr="values"), args=[]):
            yield target, part_of(whole)
        case ast.Name(), _:
            yield target, part_of(several)
        case _:
            pass


def _answer_in(node: ast.AST) -> Iterator[ast.AST]:
    """The answer as it is written: nothing more comes into what it is made of."""
    match node:
        case ast.Assign(targets=[ast.Name(id="output")], value=value):
            yield node
            yield from (part for part in ast.walk(value) if isinstance(part, ast.Dict | ast.List | ast.Tuple))
        case _:
            pass
