"""The values of LangGraph's checkpoints, serialized: each is kept once, and known by its number."""

from collections.abc import Collection, Sequence
from itertools import chain
from typing import Any, NamedTuple, cast

Typed = tuple[str, bytes]
"""A value as a serializer writes it."""

NO_LIST = -1


class Listed(NamedTuple):
    """A list: the first `kept` elements of the list with the number `base`, then those `added`, by number.

    If m1, m2, m3 and m4 are the pieces 0, 1, 2 and 4:

        3: Listed(NO_LIST, 0, (0, 1, 2))    m1 m2 m3
        5: Listed(3, 3, (4,))               m1 m2 m3 m4
        6: Listed(5, 2, (4,))               m1 m2 m4
    """

    base: int
    kept: int
    added: tuple[int, ...]


class Pieces:
    """Values and lists of values, numbered in the order in which they were added."""

    def __init__(self) -> None:
        self.all: list[Typed | Listed] = []
        self._numbers: dict[Typed | Listed, int] = {}

    def read(self, fields: Sequence[Any]) -> None:
        """Add a piece that a log has."""
        self.add(tuple(fields) if len(fields) == 2 else Listed(fields[0], fields[1], tuple(fields[2])))

    def add(self, piece: Typed | Listed) -> int:
        """The number of a piece, which is added unless it is there."""
        number = self._numbers.setdefault(piece, len(self.all))
        if number == len(self.all):
            self.all.append(piece)
        return number

    def add_list(self, elements: Sequence[int], base: int = NO_LIST) -> int:
        """The number of a list, which is kept as what it adds to the list `base`."""
        before = self.elements(base)
        differing = (at for at, pair in enumerate(zip(before, elements, strict=False)) if pair[0] != pair[1])
        kept = next(differing, min(len(before), len(elements)))
        if 0 < kept == len(before) == len(elements):
            return base
        return self.add(Listed(base if kept else NO_LIST, kept, tuple(elements[kept:])))

    def is_list(self, number: int) -> bool:
        """Whether a piece is a list."""
        return isinstance(self.all[number], Listed)

    def elements(self, number: int) -> list[int]:
        """The numbers of the elements of a list; none for `NO_LIST`.

        It is read from its end. In the example of `Listed`, the elements of 6 are 0, 1, 4:

            6 adds 4 to two elements of 5
            5 adds 4 to three elements of 3: it is not one of the two
            3 adds 0, 1, 2: the first two
        """
        parts, wanted = list[Sequence[int]](), None
        while number != NO_LIST:
            base, kept, added = cast(Listed, self.all[number])
            wanted = kept + len(added) if wanted is None else wanted
            parts.append(added[: max(wanted - kept, 0)])
            number, wanted = base, min(wanted, kept)
        return [*chain.from_iterable(reversed(parts))]

    def only(self, numbers: Collection[int]) -> list[Typed | Listed]:
        """All pieces in their places. Values are emptied, except these and the elements of these lists."""
        needed = {*numbers, *chain.from_iterable(map(self.elements, filter(self.is_list, numbers)))}
        return [
            piece if at in needed or self.is_list(at) else ("deleted", str(at).encode())
            for at, piece in enumerate(self.all)
        ]
