"""Dicts of a program that are spread into calls, as the type checker is to look at them again.

It takes each value of a dict to be given to any parameter. A program knows which key is for which. So a dict
whose keys the program writes out, and never changes, is looked at as the arguments that it stands for. Any
other may hold what the call takes. A record holds what its type says: the checker knows that by itself.
"""

import ast
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from keyword import iskeyword
from typing import NamedTuple

from quire.programs.sandbox.loose_calls import LOOSE
from quire.programs.sandbox.marking import Span, Text
from quire.programs.sandbox.naming import bindings, values_named_by

LOOSE_SPREAD = f"{LOOSE}_spread"
LOOSE_SPELLED = f"{LOOSE}_spelled_out"
LOOSE_GIVEN = f"{LOOSE}_given"

_Keys = dict[str, ast.expr]


class _Spread(NamedTuple):
    """Where it begins, with its two stars, and its keys where they are known."""

    start: int
    keys: _Keys | None


class Spreads:
    """What a program spreads into calls, at places that the checker `refused`: it did not fit there."""

    def __init__(self, text: Text, tree: ast.Module, refused: Collection[Span]) -> None:
        known, self._spread = _known_dicts(tree), dict[ast.expr, _Spread]()
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            given = {one.arg for one in call.keywords if one.arg}
            for one in call.keywords:
                place = text.span(ast.copy_location(ast.Pass(), one))
                if one.arg is None and place in refused:
                    keys = _keys_of(known.get(getattr(one.value, "id", ""), one.value))
                    is_known = keys is not None and not _has_starred(call) and given.isdisjoint(keys)
                    given.update(keys or ())
                    self._spread[one.value] = _Spread(place.start, keys if is_known else None)

    def marks_of(self, node: ast.expr) -> Iterator[tuple[str, str]]:
        """What is put ahead of an expression and behind it."""
        if node in self._spread:
            name = LOOSE_SPREAD if self._spread[node].keys is None else LOOSE_SPELLED
            yield f"{name}((", "))"

    def arguments_of(self, node: ast.expr) -> Iterator[tuple[int, str]]:
        """The arguments that a dict stands for, ahead of it."""
        start, keys = self._spread.get(node, _Spread(0, None))
        for key, value in (keys or {}).items():
            # Of what is no plain value nobody would know here what it was when the dict was made.
            given = ast.unparse(value) if isinstance(value, ast.Constant) else f"{LOOSE}(0)"
            yield start, f"{key}={LOOSE_GIVEN}({given}), "


def _has_starred(call: ast.Call) -> bool:
    return any(isinstance(one, ast.Starred) for one in call.args)


def _known_dicts(tree: ast.Module) -> _Keys:
    """Dicts by their names, where these are given nothing else and are only read or spread."""
    nodes = [*ast.walk(tree)]
    bound = Counter(name for _, name in bindings(tree))
    used = Counter(node.id for node in nodes if isinstance(node, ast.Name))
    read = Counter(name for node in nodes for name in _read_by(node))
    values = (one for node in nodes for one in values_named_by(node))
    return {name: value for name, value in values if bound[name] == 1 and used[name] == 1 + read[name]}


def _read_by(node: ast.AST) -> Iterable[str]:
    """Names of what is spread there, or asked for what it has under a key."""
    match node:
        case ast.Call(keywords=keywords):
            return [one.value.id for one in keywords if one.arg is None and isinstance(one.value, ast.Name)]
        case ast.Subscript(value=ast.Name(id=name), ctx=ast.Load()):
            return [name]
        case _:
            return []


def _keys_of(value: ast.expr) -> _Keys | None:
    """The keys that are written out, with their values; None where there are others, or none to be named."""
    match value:
        case ast.Dict(keys=keys, values=values):
            found = {_name_of(key): one for key, one in zip(keys, values, strict=True)}
            return None if "" in found else found
        case ast.Call(func=ast.Name(id="dict"), args=[], keywords=keywords):
            named = {one.arg or "": one.value for one in keywords}
            return None if "" in named else named
        case _:
            return None


def _name_of(key: ast.expr | None) -> str:
    """The name of an argument that a key stands for."""
    match key:
        case ast.Constant(value=str(name)) if name.isascii() and name.isidentifier() and not iskeyword(name):
            return name
        case _:
            return ""
