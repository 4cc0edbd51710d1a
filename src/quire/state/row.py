"""Items in a row, read by index or slice: what a view and a scroll have in common."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import overload

from quire.errors import InvalidValue, OutOfRange, WrongType
from quire.items import Item
from quire.tokens import digits, whole


def slice_of(index: slice, length: int) -> tuple[int, int, int]:
    """Where a slice of a sequence of some length starts and stops, and by how much it goes on."""
    if index.step == 0:
        raise InvalidValue("a slice goes on by at least one")
    try:
        return index.indices(length)
    except TypeError:
        raise WrongType("a slice is made of whole numbers") from None


def place_of(index: int, length: int) -> int:
    """Where in a sequence of some length an index is; below zero it is counted from the end."""
    place = index + length if whole(index, "an index") < 0 else index
    if not 0 <= place < length:
        raise OutOfRange(f"there are {length} items; there is none at {digits(index)}")
    return place


class ItemRow(Sequence[Item]):
    """Items that need not be held as a list: whoever holds them gives stretches of them."""

    __slots__ = ()

    @abstractmethod
    def _slice(self, start: int, stop: int) -> list[Item]:
        """The items from an index to before another, neither below zero."""

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> list[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | list[Item]:
        if isinstance(index, slice):
            start, stop, step = slice_of(index, len(self))
            return self._slice(start, stop) if step == 1 else list(self)[index]
        place = place_of(index, len(self))
        return self._slice(place, place + 1)[0]

    def index(self, value: object, start: int = 0, stop: int | None = None) -> int:
        """Where an item comes first, from an index to before another."""
        first, last, _ = slice_of(slice(start, stop), len(self))
        for place, item in enumerate(self._slice(first, last), first):
            if item == value:
                return place
        raise InvalidValue(f"the {type(value).__name__} is not among these items")
