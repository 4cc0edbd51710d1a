"""Where something stands in a program: what binds its names, and through which tests it is reached."""

import ast
from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile
from typing import TYPE_CHECKING, TypeVar, cast

from quire.programs.sandbox.field_blocks import Block
from quire.programs.sandbox.fields import Comprehension, Field, binds
from quire.programs.sandbox.functions import Function

if TYPE_CHECKING:
    from quire.programs.sandbox.field_tests import Tests

Binder = Comprehension | ast.For | ast.Lambda | Function
"""What gives a name its values within it."""

Loop = ast.For | ast.While
_Node = TypeVar("_Node", bound=ast.AST)
_BLOCKS = ("body", "orelse", "finalbody")
_WHOLE = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.For, ast.While)
"""What is gone through from its beginning to its end, each time."""


class Places:
    """Knows of each part of a program or a function what is around it."""

    def __init__(self, tree: ast.AST, tests: "Tests") -> None:
        self.around = {part: node for node in ast.walk(tree) for part in ast.iter_child_nodes(node)}
        self._tests = tests
        self._block_at: dict[ast.AST, tuple[Block, int]] = {}
        for node in ast.walk(tree):
            for statements in _blocks_of(node):
                block = Block(statements, tests)
                self._block_at |= {one: (block, at) for at, one in enumerate(statements)}

    def binder_of(self, node: ast.Name) -> Binder | None:
        """The innermost loop or function that gives a name its values; None where that is none of them."""
        for part, around in self.outwards(node):
            if isinstance(around, Binder) and _gives(around, part, node.id):
                return around
        return None

    def known_at(self, node: ast.AST, name: str) -> set[str]:
        """The keys of what has a name that are not None where a node stands, by the tests before."""
        known = set[str]()
        for part, around in self.outwards(node):
            is_bound = False
            if part in self._block_at:
                block, at = self._block_at[part]
                keys, is_bound = block.known_before(at, name)
                known |= keys
            if not is_bound:
                known |= {key for of, key in self._known_within(part, around) if of == name}
            if is_bound or (isinstance(around, Binder) and _gives(around, part, name)):
                break
        return known

    def spared(self, node: ast.AST) -> set[Field] | None:
        """The fields that are not None where a node is not come to; None where it always is, each time."""
        ways = list[set[Field]]()
        for part, around in self.outwards(node):
            match around:
                case ast.If(test=test, body=body):
                    ways.append(self._tests.known(test, part not in body))
                case _ if not isinstance(around, (*_WHOLE, ast.Expr, ast.Assign)):
                    return set()
                case _:
                    pass
            if part in self._block_at:
                block, at = self._block_at[part]
                ways += block.spared_before(at)
            if isinstance(around, _WHOLE):
                break
        return ways[0].intersection(*ways) if ways else None

    def follows(self, node: ast.AST, other: ast.AST) -> bool:
        """Whether a node stands where another was come to before, whichever way the program took."""
        return self._is_placed(node, other, lambda place, at: place > at)

    def is_ahead(self, node: ast.AST, other: ast.AST) -> bool:
        """Whether a node stands in what is done before another is come to, each time."""
        return self._is_placed(node, other, lambda place, at: place < at)

    def _is_placed(self, node: ast.AST, other: ast.AST, how: Callable[[int, int], bool]) -> bool:
        block, at = self._stands_at(other)
        around = (self._block_at.get(part) for part, _ in self.outwards(node))
        return any(one is not None and one[0] is block and how(one[1], at) for one in around)

    def _stands_at(self, node: ast.AST) -> tuple[Block | None, int]:
        parts = (part for part, _ in self.outwards(node) if part in self._block_at)
        return next((self._block_at[part] for part in parts), (None, 0))

    def function_of(self, node: ast.AST) -> ast.AST | None:
        """The innermost function that a node stands in; None where it stands in none."""
        return next((one for _, one in self.outwards(node) if isinstance(one, Function)), None)

    def loop_around(self, node: ast.AST) -> Loop | None:
        """The innermost loop that a node stands in."""
        return next((one for _, one in self.outwards(node) if isinstance(one, Loop)), None)

    def step_of(self, node: ast.AST) -> ast.stmt:
        """What a node stands in, of the statements that are gone through one after the other."""
        parts = (part for part, around in self.outwards(node) if isinstance(around, _WHOLE))
        return cast("ast.stmt", next(parts))

    def outwards(self, node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
        """What a node is in, from within, each with the part of it that this is."""
        part, around = node, self.around.get(node)
        while around is not None:
            yield part, around
            part, around = around, self.around.get(around)

    def place_of(self, statement: ast.AST) -> tuple[Block, int] | None:
        """The statements that one stands among, and at which place; None for what is no statement."""
        return self._block_at.get(statement)

    def is_in(self, node: ast.AST | None, whole: ast.AST) -> bool:
        """Whether a node stands within another."""
        return node is not None and any(around is whole for _, around in self.outwards(node))

    def _known_within(self, part: ast.AST, around: ast.AST) -> set[Field]:
        """What is known of fields in a part of something, by the tests before it."""
        match around:
            case ast.If(test=test) | ast.IfExp(test=test) if part is not test:
                body = around.body if isinstance(around, ast.If) else [around.body]
                return self._tests.known(test, part in body)
            case ast.While(test=test, body=body) if part in body:
                return self._tests.known(test)
            case ast.BoolOp(op=op, values=several):
                is_true = isinstance(op, ast.And)
                return {field for one in _until(part, several) for field in self._tests.known(one, is_true)}
            case ast.comprehension(ifs=ifs) if part in ifs:
                return self._tests.known_of_all(_until(part, ifs))
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                loops = _until(part, around.generators)
                return self._tests.known_of_all(test for one in loops for test in one.ifs)
            case _:
                return set()


def _gives(around: Binder, part: ast.AST, name: str) -> bool:
    """Whether this gives a name its values in a part of it."""
    match around:
        case ast.For(target=target, iter=several):
            return part is not several and binds(target, name)
        case ast.Lambda() | ast.FunctionDef() | ast.AsyncFunctionDef():
            return any(one.arg == name for one in ast.walk(around.args) if isinstance(one, ast.arg))
        case _:
            return any(binds(one.target, name) for one in around.generators)


def _blocks_of(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for name in _BLOCKS:
        several = getattr(node, name, None)
        if isinstance(several, list) and several:
            yield cast("list[ast.stmt]", several)


def _until(part: ast.AST, several: Iterable[_Node]) -> Iterator[_Node]:
    """Those before a part; all of them where it is none of them."""
    return takewhile(lambda one: one is not part, several)
