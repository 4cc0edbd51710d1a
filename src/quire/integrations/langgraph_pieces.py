"""The serialized values of LangGraph's checkpoints. Equal values are stored once, under one number."""

from collections.abc import Collection, Sequence
from itertools import chain
from typing import Any, NamedTuple, cast

Typed = tuple[str, bytes]
"""A serialized value: the name of its format, and its bytes."""

NO_LIST = -1


class Listed(NamedTuple):
    """A list: the first `shared` elements of the list number `base`, then the pieces `added`, by number.

    If m1, m2, m3 and m4 are the pieces 0, 1, 2 and 4:

        3: Listed(NO_LIST, 0, (0, 1, 2))    m1 m2 m3
        5: Listed(3, 3, (4,))               m1 m2 m3 m4
        6: Listed(5, 2, (4,))               m1 m2 m4
    """

    base: int
    shared: int
    added: tuple[int, ...]


class Pieces:
    """Values and lists of values, numbered in the order in which they were added."""

    def __init__(self) -> None:
        self.all: list[Typed | Listed] = []
        self._numbers: dict[Typed | Listed, int] = {}

    def load(self, fields: Sequence[Any]) -> None:
        """Add a piece that was read from a log."""
        self.add(tuple(fields) if len(fields) == 2 else Listed(fields[0], fields[1], tuple(fields[2])))

    def add(self, piece: Typed | Listed) -> int:
        """Add a piece unless it is there already, and return its number."""
        number = self._numbers.setdefault(piece, len(self.all))
        if number == len(self.all):
            self.all.append(piece)
        return number

    def add_list(self, elements: Sequence[int], base: int = NO_LIST) -> int:
        """Add a list, stored as its difference to the list `base`, and return its number."""
        before = self.elements(base)
        pairs = enumerate(zip(before, elements, strict=False))
        differing = (index for index, (old, new) in pairs if old != new)
        shared = next(differing, min(len(before), len(elements)))
        if 0 < shared == len(before) == len(elements):
            return base
        return self.add(Listed(base if shared else NO_LIST, shared, tuple(elements[shared:])))

    def is_list(self, number: int) -> bool:
        """Whether a piece is a list."""
        return isinstance(self.all[number], Listed)

    def elements(self, number: int) -> list[int]:
        """The numbers of the elements of a list; none for `NO_LIST`.

        The loop collects them from the last to the first. For the list 6 of the example in `Listed`:

            6 adds 4, after the first two elements of 5
            5 adds 4 after three elements: it is not among the first two
            3 adds 0, 1, 2: the first two are 0 and 1

        So the elements are 0, 1, 4.
        """
        parts, length = list[Sequence[int]](), None
        while number != NO_LIST:
            base, shared, added = cast(Listed, self.all[number])
            length = shared + len(added) if length is None else length
            parts.append(added[: max(length - shared, 0)])
            number, length = base, min(length, shared)
        return [*chain.from_iterable(reversed(parts))]

    def erased_except(self, numbers: Collection[int]) -> list[Typed | Listed]:
        """All pieces in order; only values among `numbers`, or in lists among them, are not erased."""
        needed = {*numbers, *chain.from_iterable(map(self.elements, filter(self.is_list, numbers)))}
        return [
            piece if number in needed or self.is_list(number) else ("deleted", str(number).encode())
            for number, piece in enumerate(self.all)
        ]
