"""A window: the newest few of something, the oldest falling out."""

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Generic, TypeVar

from quire.errors import InvalidLimit, WrongType
from quire.state.pool import Inherit, checked_limit

T = TypeVar("T")


class Window(Generic[T]):
    """At most `limit` things, in the order they came."""

    __slots__ = ("_things",)

    def __init__(self, things: Iterable[T] = (), *, limit: int) -> None:
        if checked_limit(limit) is None:
            raise InvalidLimit("a window needs a limit")
        if not isinstance(things, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"a window takes several things, not {type(things).__name__}")
        self._things: deque[T] = deque(things, maxlen=limit)

    @property
    def limit(self) -> int:
        """How many things there may be."""
        return self._things.maxlen or 0

    def __len__(self) -> int:
        return len(self._things)

    def __iter__(self) -> Iterator[T]:
        return iter(tuple(self._things))

    def __repr__(self) -> str:
        return f"<Window of {len(self)} of {self.limit}>"

    def add(self, *things: T) -> list[T]:
        """Put things in, and give back those that fell out."""
        excess = max(len(self._things) + len(things) - self.limit, 0)
        fallen = [*islice(self._things, excess), *things[: max(excess - len(self._things), 0)]]
        self._things.extend(things)
        return fallen

    def clear(self) -> list[T]:
        """Take everything out."""
        things = list(self._things)
        self._things.clear()
        return things

    def branch(self, limit: int | Inherit = Inherit.LIMIT) -> "Window[T]":
        """A window with the same things that goes its own way; a smaller limit keeps the newest."""
        return Window(self._things, limit=self.limit if isinstance(limit, Inherit) else limit)
