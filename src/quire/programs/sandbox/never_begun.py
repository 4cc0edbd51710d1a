"""Calls that a program wrote and never awaited, once it has ended: it may believe that they were made.

A text shows this only in part (a function may give a call back, and its caller lose it). Whoever means to
leave calls alone puts them under names, where he may await them or not. Who gathers calls and catches what
one of them raised, knows that something failed; so does who fails or ends before he has put all together.
Those are let be.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from quire.programs.faults import ProgramFault, at_line
from quire.programs.sandbox.gathering import gathering_in
from quire.programs.sandbox.naming import names_bound_by, values_named_by
from quire.programs.sandbox.other_names import given_to_functions, other_names, reads_in
from quire.programs.sandbox.putting import put_by

_Scope = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Loop = ast.For | ast.AsyncFor | ast.While


class _Where(NamedTuple):
    """In which function something stands, and in which loop of that."""

    scope: ast.AST
    loop: ast.AST | None


class _Holder(NamedTuple):
    """The name that calls are under, and whether one is chosen among them by its key."""

    name: str
    is_chosen_from: bool


def check_none_left(left: Any, code: str, tree: ast.Module, printed: str) -> None:
    """See that a program began the calls that it wrote; `left` are those that it did not, by function."""
    counts = cast("dict[str, int]", left) if isinstance(left, dict) else {}
    for name, count in counts.items():
        lines = {*_lines_left(name, tree)} if count > 0 else set[int]()
        if lines:
            line = lines.pop() if len(lines) == 1 else None
            times = f"{count} times" if count > 1 else "once"
            text = (
                f"`{name}` was called and never awaited, {times}: nothing was done by that. Await each call"
            )
            raise ProgramFault("types", at_line(code, line, text), line, printed)


def _lines_left(name: str, tree: ast.Module) -> Iterator[int]:
    """Where a function is named, by whatever name, and its call not awaited at once, nor by its own name."""
    let_be = {_called(call) for call in _let_be(tree)}
    others, waiting = other_names(tree), reads_in(tree)[name]
    done = set[ast.expr](let_be)
    while waiting:
        node = waiting.pop()
        if node not in done and node not in others:
            yield node.lineno
        elif node not in done:
            waiting += others[node]
        done.add(node)


def _called(call: ast.Call) -> ast.expr:
    """What a call calls: what is mapped is called by `map`."""
    match call:
        case ast.Call(func=ast.Name(id="map"), args=[function, *_]):
            return function
        case _:
            return call.func


def _let_be(tree: ast.Module) -> Iterator[ast.Call]:
    """The calls that are awaited at once, or put under or into names that are awaited where they begin.

    Not those in a dict of which all are gathered: under a key that is there already one is lost.
    """
    where = dict(_placed(tree, _Where(tree, None)))
    bound = _times_bound(where)
    gathering = {*gathering_in(tree)}
    awaited = [node.value for node in where if isinstance(node, ast.Await)]
    gathered = [inner for one in awaited if one in gathering for inner in _given_to(one)]
    by_functions = {(where[value], _holder(value)) for value in gathered}
    values = [*gathered, *(one for one in awaited if one not in gathering)]
    for function, name, value in given_to_functions(tree):
        if (_Where(function, None), _Holder(name, is_chosen_from=False)) in by_functions and bound[
            function, name
        ] == 1:
            values.append(value)
    yield from (call for value in values for call in _calls_in(value))
    waiting = dict[tuple[_Where, _Holder | None], int]()
    for value in sorted(values, key=lambda one: one.lineno):
        waiting[where[value], _holder(value)] = value.lineno
    begun = {(where[node].scope, one.name): where[node] for node in where for one, _ in _named_by(node)}
    for node in where:
        for holder, value in (*_named_by(node), *_put_into(node)):
            named = where[node].scope, holder.name
            awaited_at = waiting.get((begun.get(named, where[node]), holder), 0)
            # What comes later than all is awaited is lost.
            if bound[named] == 1 and named in begun and value.lineno <= awaited_at:
                yield from _calls_in(value)


def _times_bound(where: dict[ast.AST, _Where]) -> Counter[tuple[ast.AST, str]]:
    """How often each function binds names to values. What is added to a value is put into it."""
    added_to = {node.target for node in where if isinstance(node, ast.AugAssign)}
    others = [node for node in where if node not in added_to]
    return Counter((where[node].scope, name) for node in others for name in names_bound_by(node))


def _placed(node: ast.AST, here: _Where) -> Iterator[tuple[ast.AST, _Where]]:
    """All parts of a program with where they stand."""
    waiting = [(node, here)]
    while waiting:
        one, at = waiting.pop()
        yield one, at
        inner = at._replace(loop=one) if isinstance(one, _Loop) else at
        inner = _Where(one, None) if isinstance(one, _Scope) else inner
        waiting += ((child, inner) for child in ast.iter_child_nodes(one))


def _given_to(gather: ast.expr) -> list[ast.expr]:
    """What is gathered, without its stars."""
    given = gather.args if isinstance(gather, ast.Call) else []
    return [one.value if isinstance(one, ast.Starred) else one for one in given]


def _holder(awaited: ast.expr) -> _Holder | None:
    """What something awaited is under."""
    match awaited:
        case ast.Name(id=name):
            return _Holder(name, is_chosen_from=False)
        case ast.Subscript(value=ast.Name(id=name)):
            return _Holder(name, is_chosen_from=True)
        case _:
            return None


def _named_by(node: ast.AST) -> list[tuple[_Holder, ast.expr]]:
    """What a statement puts under names, one or several at once."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
            pairs = zip(names, values, strict=False)
            named = [(one.id, value) for one, value in pairs if isinstance(one, ast.Name)]
        case _:
            named = values_named_by(node)
    return [(_Holder(name, isinstance(value, ast.Dict | ast.DictComp)), value) for name, value in named]


def _put_into(node: ast.AST) -> Iterator[tuple[_Holder, ast.expr]]:
    """What a statement puts into what a name stands for."""
    match node:
        case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name))], value=value):
            yield _Holder(name, is_chosen_from=True), value
        case ast.Expr() | ast.AugAssign(target=ast.Name()):
            names, values = put_by(node, ())
            yield from ((_Holder(name, is_chosen_from=False), one) for name in names for one in values)
        case _:
            pass


def _calls_in(value: ast.expr) -> Iterator[ast.Call]:
    """A call, or those that make up a dict or a row."""
    match value:
        case ast.Call(func=ast.Name(id="list" | "tuple"), args=[one]):
            yield from _calls_in(one)
        case ast.Call():
            yield value
        case ast.Dict(values=several) | ast.List(elts=several) | ast.Tuple(elts=several):
            for one in several:
                yield from _calls_in(one)
        case ast.ListComp(elt=one) | ast.GeneratorExp(elt=one) | ast.DictComp(value=one):
            yield from _calls_in(one)
        case ast.Starred(value=one):
            yield from _calls_in(one)
        case _:
            pass
