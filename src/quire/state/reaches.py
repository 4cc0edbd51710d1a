"""How far groups in more than one piece reach, so that those over one place are found among all there are.

Reaches are kept in the order they came, with the lowest and the highest place of every 32 of them, of every
32 of these, and so on. Most are short and lie where they came, so a search looks into few of these.
"""

from collections.abc import Iterator

from quire.state.shape import Place

_WIDTH = 32

Reach = tuple[Place, Place]


class Reaches:
    """Pairs of places, each with the head of a group and the member that reaches so far from it."""

    __slots__ = ("_groups", "_levels")

    def __init__(self) -> None:
        self._groups: list[tuple[int, int]] = []  # head and member
        self._levels: list[list[Reach]] = [[]]  # those of the groups, then of every 32 of the level before

    def add(self, head: int, member: int, one: Place, other: Place) -> None:
        """Take in the reach from the head of a group to another member, wherever each is."""
        reach = min(one, other), max(one, other)
        index = len(self._groups)
        self._groups.append((head, member))
        self._levels[0].append(reach)
        for level in self._levels[1:]:
            index //= _WIDTH
            level[index:] = [_hull([*level[index:], reach])]  # the last node, or one more
        top = self._levels[-1]
        if len(top) > _WIDTH:
            self._levels.append([_hull(top[:_WIDTH]), top[_WIDTH]])

    def over(self, place: Place, stop: int) -> Iterator[int]:
        """The heads of groups that reach over a place, by members before `stop`."""
        top = len(self._levels) - 1
        return self._over(top, 0, len(self._levels[top]), place, stop)

    def _over(self, level: int, start: int, end: int, place: Place, stop: int) -> Iterator[int]:
        nodes = self._levels[level]
        for index in range(start, min(end, len(nodes))):
            low, high = nodes[index]
            if low < place <= high:
                if level:
                    yield from self._over(level - 1, index * _WIDTH, (index + 1) * _WIDTH, place, stop)
                elif self._groups[index][1] < stop:
                    yield self._groups[index][0]

    def copy_until(self, end: int) -> "Reaches":
        """The same without members from `end` on."""
        copy = Reaches()
        for (head, member), reach in zip(self._groups.copy(), self._levels[0].copy(), strict=False):
            if member < end:
                copy.add(head, member, *reach)
        return copy


def _hull(reaches: list[Reach]) -> Reach:
    return min(low for low, _ in reaches), max(high for _, high in reaches)
