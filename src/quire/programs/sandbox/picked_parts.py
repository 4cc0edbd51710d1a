"""Which part of something a program takes, where the place or the key of it is written there."""

import ast
from collections import defaultdict
from collections.abc import Iterable

from quire.programs.sandbox.functions import called_as
from quire.programs.sandbox.handed_in import Handed
from quire.programs.sandbox.loose_flow import Flow, Value

_DEEPEST = 8
_IN_ORDER = ("list", "reversed", "set", "sorted", "tuple")
Place = str | int
Several = list[ast.expr] | None
"""All that something may be; None where it may be something else."""


class Picked:
    """Knows the parts of what a program made itself by their places, and those of what it goes through."""

    def __init__(self, tree: ast.Module, flow: Flow, handed: Handed) -> None:
        self._flow, self._handed = flow, handed
        self._put = defaultdict[tuple[str, Place], list[ast.expr]](list)
        self._counted = defaultdict[str, int](int)
        self._found: dict[tuple[ast.expr, Place], Several] = {}
        for node in ast.walk(tree):
            self._note(node)

    def _note(self, node: ast.AST) -> None:
        """Note what is put under a key that is written there, or into what is under it."""
        match node:
            case ast.Assign([ast.Subscript(ast.Name(name), ast.Constant(str(place)))], one):
                pass
            case ast.Call(ast.Attribute(ast.Subscript(ast.Name(name), ast.Constant(str(place))), how), [one]):
                if how not in ("add", "append"):
                    return
            case _:
                return
        self._put[name, place].append(one)
        self._counted[name] += 1

    def at(self, whole: ast.expr, place: Place, deep: int = 0) -> Several:
        """What is at a place of something."""
        if deep > _DEEPEST:
            return None
        if (whole, place) not in self._found:
            self._found[whole, place] = None  # what is made of itself may have anything there
            self._found[whole, place] = self._looked_up(whole, place, deep)
        return self._found[whole, place]

    def _looked_up(self, whole: ast.expr, place: Place, deep: int) -> Several:
        match whole:
            case ast.Await(value=inner) | ast.NamedExpr(value=inner):
                return self.at(inner, place, deep + 1)
            case ast.Tuple(elts=several) if isinstance(place, int) and not _has_stars(several):
                return several[place : place + 1] or None
            case ast.Dict(keys=keys, values=values) if all(isinstance(key, ast.Constant) for key in keys):
                given = zip(keys, values, strict=True)
                return [one for key, one in given if isinstance(key, ast.Constant) and key.value == place]
            case ast.Name(id=name) if len(self._flow.put.get(name, ())) == self._counted[name]:
                found = self._at_all(self._flow.given.get(name, ()), place, deep)
                return None if found is None else found + self._put[name, place]
            case ast.Call() if called_as(whole) in self._handed.functions:
                return self._at_all([*self._handed.returned_by(called_as(whole))], place, deep)
            case _:
                return None

    def each_in(self, several: ast.expr, target: ast.expr, name: str) -> list[ast.expr]:
        """What a name of a loop's target stands for each of, or for one of."""
        match target:
            case ast.Tuple(elts=names):
                places = (at for at, one in enumerate(names) if isinstance(one, ast.Name) and one.id == name)
                place = next(places, None)
                return [several] if place is None else self._column(several, place)
            case _:
                return [several]

    def _column(self, several: ast.expr, place: int) -> list[ast.expr]:
        match several, place:
            case ast.Call(func=ast.Name("zip"), args=args), _ if place < len(args) and not _has_stars(args):
                return [args[place]]
            case ast.Call(func=ast.Name("enumerate"), args=[inner, *_]), 1:
                return [inner]
            case ast.Call(func=ast.Attribute(value=inner, attr="items"), args=[]), 1:
                return [inner]
            case _:
                rows = self._rows_of(several)
                return (rows and self._at_all(rows, place, 0)) or [several]

    def _rows_of(self, several: ast.expr) -> Several:
        """What a list has in it, where all of that is written there."""
        match several:
            case ast.ListComp(elt=one) | ast.GeneratorExp(elt=one):
                return [one]
            case ast.List(elts=rows):
                return rows
            case ast.Call(func=ast.Name(id=name), args=[inner, *_]) if name in _IN_ORDER:
                return self._rows_of(inner)
            case ast.Name(id=name):
                given = self._flow.given.get(name, ())
                made = [one for one in given if isinstance(one, ast.List | ast.ListComp)]
                put = [one for depth, one in self._flow.put.get(name, ()) if depth == 1 and one is not None]
                is_all = len(made) == len(given) and len(put) == len(self._flow.put.get(name, ()))
                return [*put, *(row for one in made for row in self._rows_of(one) or ())] if is_all else None
            case _:
                return None

    def _at_all(self, several: Iterable[Value], place: Place, deep: int) -> Several:
        found = list[ast.expr]()
        for one in several:
            parts = None if one is None else self.at(one, place, deep + 1)
            if parts is None:
                return None
            found += parts
        return found


def _has_stars(several: Iterable[ast.expr]) -> bool:
    return any(isinstance(one, ast.Starred) for one in several)
