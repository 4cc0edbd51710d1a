"""What stays at hand of things that can be made again: those that were used last, up to a weight."""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

_Key = TypeVar("_Key", bound=Hashable)
_Kept = TypeVar("_Kept")


class Lately(Generic[_Key, _Kept]):
    """Things by key. One that somebody has in use is never made twice, however long ago it was asked for.

    Whoever uses it sees to it that no two do so at once.
    """

    def __init__(self, most: int, weigh: Callable[[_Kept], int]) -> None:
        self._most, self._weigh = most, weigh
        self._used: dict[_Key, _Kept] = {}  # what was used last is last
        self._alive: WeakValueDictionary[_Key, _Kept] = WeakValueDictionary()

    def __len__(self) -> int:
        return len(self._used)

    def get(self, key: _Key) -> _Kept | None:
        """What is there, at hand or in use."""
        return self._alive.get(key)

    def use(self, key: _Key, made: Callable[[], _Kept]) -> _Kept:
        """What is there, or else what is made; it is the last to be let go."""
        known = self._alive.get(key)
        if known is None:
            self._let_go()  # only now: to weigh all takes time, and what is made takes more
            known = self._alive[key] = made()
        self._used.pop(key, None)
        self._used[key] = known
        return known

    def all(self) -> list[_Kept]:
        """Everything that is at hand or in use."""
        return list(self._alive.values())

    def _let_go(self) -> None:
        weights = {key: self._weigh(kept) for key, kept in self._used.items()}
        total = sum(weights.values())
        for key, weight in weights.items():
            if total <= self._most:
                break
            total -= weight
            del self._used[key]
