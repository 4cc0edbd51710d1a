"""How often loops of a program are gone through, as far as its text says."""

import ast
from collections import Counter

MOST_TIMES = 1e12
"""No loop counts more often than this."""

_THROUGH = {"enumerate", "list", "reversed", "set", "sorted", "tuple", "zip"}


class Lengths:
    """Those of one program; what its text does not say is `unknown`."""

    def __init__(self, tree: ast.Module, unknown: int) -> None:
        self._unknown = float(unknown)
        self._named: dict[str, float] = {}
        self._named = self._known(tree)

    def of(self, node: ast.AST) -> float:
        """How often a loop over this is gone through."""
        match node:
            case ast.List(elts=several) | ast.Tuple(elts=several) | ast.Set(elts=several):
                starred = any(isinstance(one, ast.Starred) for one in several)
                return self._unknown if starred else float(len(several))
            case ast.Dict(keys=several):
                return float(len(several))
            case ast.Constant(value=str() | bytes() as text):
                return float(len(text))
            case ast.Name(id=name):
                return self._named.get(name, self._unknown)
            case ast.Call(func=ast.Name(id="range"), args=limits):
                return _length_of_range(limits, self._unknown)
            case ast.Call(func=ast.Name(id="map" | "filter"), args=[_, first, *_]):
                return self.of(first)
            case ast.Call(func=ast.Name(id=name), args=[first, *_]) if name in _THROUGH:
                return self.of(first)
            case ast.Call(func=ast.Attribute(value=inner, attr="items" | "keys" | "values"), args=[]):
                return self.of(inner)
            case _:
                return self._unknown

    def _known(self, tree: ast.Module) -> dict[str, float]:
        """Of names that are set once, to something whose length is in the text."""
        stored = Counter(
            node.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        )
        grown = {
            node.value.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        }
        found: dict[str, float] = {}
        for node in tree.body:
            if (
                isinstance(node, ast.Assign)
                and len(node.targets) == 1
                and isinstance(node.targets[0], ast.Name)
            ):
                name = node.targets[0].id
                if stored[name] == 1 and name not in grown:
                    found[name] = self.of(node.value)
        return found


def _length_of_range(limits: list[ast.expr], unknown: float) -> float:
    try:
        numbers = [ast.literal_eval(limit) for limit in limits]
        return min(float(len(range(*numbers))), MOST_TIMES)
    except OverflowError:
        return MOST_TIMES
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return unknown
