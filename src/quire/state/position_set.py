"""A set of positions that never changes: with one more or one less it shares nearly all with the one before.

Every shape keeps the sets it came with, for views of the past. Were each a copy, pins and summaries would
take memory by the square of their number. The bits of 64 positions make a leaf, and eight nodes a branch.
"""

from collections.abc import Iterable, Iterator
from math import inf
from typing import TypeAlias

Node: TypeAlias = "int | tuple[Node, ...]"
"""A leaf is its bits; a branch is its nodes. Zero is either, without a position in it."""

_LEAF = 6
"""How many low bits of a position say which bit of a leaf it is."""

_BRANCH = 3
"""How many further bits say which node of a branch it is in."""

_NO_NODES: tuple[Node, ...] = (0,) * (1 << _BRANCH)


class PositionSet:
    """Positions in rising order."""

    __slots__ = ("_levels", "_root")

    def __init__(self, positions: Iterable[int] = ()) -> None:
        self._root: Node = 0
        self._levels = 0  # of branches above the leaves
        for position in positions:
            self._turn(position, True)

    def __contains__(self, position: int) -> bool:
        node = self._root
        if position >> _shift(self._levels + 1):
            return False
        for level in range(self._levels, 0, -1):
            if isinstance(node, int):
                return False
            node = node[_index(position, level)]
        return isinstance(node, int) and bool(node >> _bit(position) & 1)

    def __iter__(self) -> Iterator[int]:
        return _positions(self._root, self._levels, 0)

    def between(self, start: int, stop: int) -> Iterator[int]:
        """Those from `start` to before `stop`; what lies elsewhere is not looked at."""
        return (p for p in _positions(self._root, self._levels, 0, start, stop) if start <= p < stop)

    def __bool__(self) -> bool:
        return self._root != 0

    def __repr__(self) -> str:
        return f"<PositionSet of {sum(1 for _ in self)}>"

    def changed(self, come: Iterable[int] = (), gone: Iterable[int] = ()) -> "PositionSet":
        """The set with some more and without some others."""
        changed = PositionSet()
        changed._root, changed._levels = self._root, self._levels
        for position in gone:
            changed._turn(position, False)
        for position in come:
            changed._turn(position, True)
        return changed

    def turned_into(self, positions: set[int]) -> "PositionSet":
        """The set of just these positions, with all that it can share with this one."""
        before = set(self)
        return self.changed(positions - before, before - positions)

    def _turn(self, position: int, on: bool) -> None:
        while position >> _shift(self._levels + 1):
            self._root = (self._root, *_NO_NODES[1:]) if self._root else 0
            self._levels += 1
        self._root = _turned(self._root, self._levels, position, on)


def _turned(node: Node, level: int, position: int, on: bool) -> Node:
    if level == 0:
        assert isinstance(node, int)
        bit = 1 << _bit(position)
        return node | bit if on else node & ~bit
    nodes = _NO_NODES if isinstance(node, int) else node
    index = _index(position, level)
    inner = _turned(nodes[index], level - 1, position, on)
    changed = (*nodes[:index], inner, *nodes[index + 1 :])
    return changed if any(changed) else 0


def _positions(node: Node, level: int, start: int, first: int = 0, stop: float = inf) -> Iterator[int]:
    """The positions in a node, but for nodes in it that end before `first` or begin at `stop` or after."""
    if isinstance(node, int):
        while node:
            lowest = node & -node
            yield start + lowest.bit_length() - 1
            node ^= lowest
        return
    width = 1 << _shift(level)
    for inner in node:
        if inner and start < stop and start + width > first:
            yield from _positions(inner, level - 1, start, first, stop)
        start += width


def _shift(level: int) -> int:
    """How many bits of a position are below those that choose among the nodes of a level."""
    return _LEAF + _BRANCH * (level - 1)


def _index(position: int, level: int) -> int:
    return position >> _shift(level) & ((1 << _BRANCH) - 1)


def _bit(position: int) -> int:
    return position & ((1 << _LEAF) - 1)


NO_POSITIONS = PositionSet()
