"""What the names of a program hold, as it is seen from where they are used."""

import ast
from collections.abc import Iterator

from quire.programs.sandbox.field_places import Places
from quire.programs.sandbox.handed_in import Handed
from quire.programs.sandbox.loose_flow import Flow, Value


class Names:
    """Knows what names are given, and what is put into what they hold."""

    def __init__(self, tree: ast.Module, flow: Flow, handed: Handed, places: Places) -> None:
        self._flow, self._handed, self._places = flow, handed, places
        outer = (node for node in ast.walk(tree) if isinstance(node, ast.Global | ast.Nonlocal))
        self._of_several = {name for node in outer for name in node.names}

    def ever(self, name: str) -> list[Value]:
        """All that a name is given anywhere, with what is put into it."""
        return [*self._given(name), *self._put(name)]

    def last_before(self, node: ast.Name) -> ast.expr | None:
        """What a name surely holds where it is used; None where it may be one or another."""
        own = self._of_its_function(node, [*self._given(node.id)])
        if node.id in self._of_several or len({self._places.block_of(_written(one)) for one in own}) > 1:
            return None
        before = (one for one in reversed(own) if one is not None)
        return next((one for one in before if self._places.follows(node, _written(one))), None)

    def put_since(self, value: ast.expr, node: ast.Name) -> list[Value]:
        """What may have been put into what a name holds, since it was given that."""
        put = self._of_its_function(node, [*self._put(node.id)])
        at = _written(value)
        return [one for one in put if one is None or not self._places.is_ahead(_written(one), at)]

    def _given(self, name: str) -> Iterator[Value]:
        for one in (*self._flow.given.get(name, ()), *self._handed.unpacked[name]):
            is_written = one is None or _written(one) in self._places.around  # or it holds what it held
            if is_written and one not in self._flow.within:
                yield one

    def _put(self, name: str) -> Iterator[Value]:
        return (one for _, one in self._flow.put.get(name, ()))

    def _of_its_function(self, node: ast.Name, values: list[Value]) -> list[Value]:
        """Those in the function that a name is used in, where it has it for itself; all of them otherwise."""
        function = self._places.function_of(node)
        own = [one for one in values if one is None or self._places.function_of(_written(one)) is function]
        return own or values


def _written(value: ast.expr | None) -> ast.AST:
    """What is written in the program of a value: of a part of something, that."""
    while isinstance(value, ast.Subscript) and not hasattr(value, "lineno"):
        value = value.value
    return value or ast.Pass()
