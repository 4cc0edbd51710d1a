"""What the functions of a program are given and give, and what comes to names in other ways."""

import ast
from collections import defaultdict
from collections.abc import Iterator

from quire.programs.sandbox.field_places import Places
from quire.programs.sandbox.functions import Function, functions_in, standing_in


class Handed:
    """Knows the calls of a program's own functions, and which names are given parts of something.

    `unpacked` is what names in a row are given together, `attributes` what is put there by their names.
    """

    def __init__(self, tree: ast.Module, places: Places) -> None:
        self._places = places
        lambdas = {name: one for name, one in standing_in(tree) if isinstance(one, ast.Lambda)}
        self.functions: dict[str, Function | ast.Lambda] = {**lambdas, **functions_in(tree)}
        self._names = {function: name for name, function in self.functions.items()}
        self.unpacked = defaultdict[str, list[ast.expr]](list)
        self.attributes = defaultdict[str, list[ast.expr]](list)
        self._uses = defaultdict[str, list[ast.expr]](list)
        for node in ast.walk(tree):
            self._note(node)

    def _note(self, node: ast.AST) -> None:
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                self._uses[name].append(node)
            case ast.Attribute(attr=name, ctx=ast.Load()):
                self._uses[f".{name}"].append(node)
            case ast.Assign(targets=[ast.Tuple(elts=row) | ast.List(elts=row)], value=value):
                if not isinstance(value, ast.Tuple | ast.List):
                    self._unpack(row, value)
            case ast.Assign(targets=[ast.Attribute(attr=name)], value=value):
                self.attributes[name].append(value)
            case _:
                pass

    def _unpack(self, row: list[ast.expr], value: ast.expr) -> None:
        """Note what the names in a row are given: each what is at its place, where that can be said."""
        has_stars = any(isinstance(one, ast.Starred) for one in row)
        for place, one in enumerate(row):
            if isinstance(one, ast.Name) and not has_stars:
                self.unpacked[one.id].append(ast.Subscript(value, ast.Constant(place), ast.Load()))
                continue
            for name in (part.id for part in ast.walk(one) if isinstance(part, ast.Name)):
                self.unpacked[name].append(value)

    def returned_by(self, name: str) -> Iterator[ast.expr]:
        """What a function gives."""
        function = self.functions[name]
        if isinstance(function, ast.Lambda):
            yield function.body
            return
        for node in ast.walk(function):
            match node:
                case ast.Return(value=ast.expr() as value) | ast.Yield(value=ast.expr() as value):
                    yield value
                case ast.YieldFrom(value=value):
                    yield value
                case _:
                    pass

    def given_to(self, function: Function | ast.Lambda, parameter: str) -> Iterator[ast.expr]:
        """What a function is called with for a parameter, or by another one that it is given to."""
        uses = [function] if isinstance(function, ast.Lambda) else []
        for use in (*uses, *self._uses[self._names.get(function, "")]):
            around = self._places.around[use]
            call = self._places.around[around] if isinstance(around, ast.keyword) else around
            if not isinstance(call, ast.Call):
                continue
            if call.func is use:
                yield from _argument(call, function, parameter)
            else:
                owner = [call.func.value] if isinstance(call.func, ast.Attribute) else []
                yield from (one for one in (*owner, *call.args) if one is not use)


def _argument(call: ast.Call, function: Function | ast.Lambda, parameter: str) -> Iterator[ast.expr]:
    """What a call gives for a parameter; all that it gives in order where that has stars in it."""
    yield from (one.value for one in call.keywords if one.arg in (parameter, None))
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    if parameter not in names or any(isinstance(one, ast.Starred) for one in call.args):
        yield from call.args
        return
    at = names.index(parameter) - isinstance(call.func, ast.Attribute)
    yield from call.args[at : at + 1] if at >= 0 else ()
