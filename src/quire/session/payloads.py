"""Payloads that may be edited: what a caller changes in one is in no other.

Messages are rendered once and stand in every payload from then on. To copy them all each turn would cost what
the whole history costs, so one is copied when somebody takes it out. Who writes a payload with msgspec copies
nothing; other writers go through it one by one, and pay for the copy with the rest.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self, SupportsIndex, cast, overload

from quire.errors import WrongType
from quire.providers import Rendered


def made_own(rendered: Rendered) -> None:
    """Let a payload be its caller's own."""
    known = rendered.bare()
    for name, value in rendered.payload.items():
        rendered.payload[name] = OwnList(value, known) if isinstance(value, list) else copied(value)  # pyright: ignore


def rendering_of(sent: Any) -> Rendered | None:
    """The rendering that a payload, or a list in it, came of; none where that cannot be told."""
    if isinstance(sent, Rendered | None):
        return sent
    if not isinstance(sent, Mapping | list | tuple):
        raise WrongType(f"what was sent is what `render` gave, not {type(sent).__name__}")
    held: list[Any] = [*cast("Mapping[str, Any]", sent).values()] if isinstance(sent, Mapping) else [sent]
    return next((value.known for value in held if isinstance(value, OwnList)), None)


def copied(value: Any) -> Any:
    """A copy of a JSON value."""
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value).items()
        return {key: inner if inner.__class__ is str else copied(inner) for key, inner in fields}
    return list(map(copied, value)) if isinstance(value, list) else value  # pyright: ignore


class OwnList(list[Any]):
    """A list that shares what is in it with others until somebody takes it out: then it has a copy.

    `known` is what is known of the rendering that it is of.
    """

    __slots__ = ("_own", "known")

    def __init__(self, values: list[Any], known: Rendered | None = None) -> None:
        super().__init__(values)
        self.known = known
        self._own: set[int] = set()  # what was copied, by identity: it is in this list and so stays there

    @overload
    def __getitem__(self, index: SupportsIndex) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Any:
        if isinstance(index, slice):
            return [self._taken(place) for place in range(*index.indices(len(self)))]
        place = index.__index__()
        return self._taken(place if place >= 0 else place + len(self))

    def __iter__(self) -> Iterator[Any]:
        place = 0
        while place < len(self):
            yield self._taken(place)
            place += 1

    def __reversed__(self) -> Iterator[Any]:
        return (self._taken(place) for place in reversed(range(len(self))))

    def __add__(self, other: list[Any]) -> list[Any]:
        return [*self, *other]

    def __radd__(self, other: list[Any]) -> list[Any]:
        return [*other, *self]

    def __iadd__(self, values: Iterable[Any]) -> Self:
        self.extend(values)
        return self

    def __mul__(self, times: SupportsIndex) -> list[Any]:
        return [*self] * times

    def __rmul__(self, times: SupportsIndex) -> list[Any]:
        return self * times

    def __reduce__(self) -> tuple[type[list[Any]], tuple[list[Any]]]:
        return list, ([*self],)

    @overload
    def __setitem__(self, index: SupportsIndex, value: Any) -> None: ...
    @overload
    def __setitem__(self, index: slice, value: Iterable[Any]) -> None: ...
    def __setitem__(self, index: SupportsIndex | slice, value: Any) -> None:
        values = list(value) if isinstance(index, slice) else [value]
        self._own.update(map(id, values))
        super().__setitem__(index, values if isinstance(index, slice) else value)

    def append(self, value: Any) -> None:
        """Add a value that is the caller's."""
        self.insert(len(self), value)

    def insert(self, index: SupportsIndex, value: Any) -> None:
        """Add a value that is the caller's at a place."""
        self._own.add(id(value))
        super().insert(index, value)

    def extend(self, values: Iterable[Any]) -> None:
        """Add values that are the caller's."""
        self[len(self) :] = values

    def copy(self) -> list[Any]:
        """A list of copies."""
        return [*self]

    def pop(self, index: SupportsIndex = -1) -> Any:
        """Take one out, as a copy of its own."""
        taken = self[index]
        super().pop(index)
        return taken

    def _taken(self, place: int) -> Any:
        value: Any = super().__getitem__(place)
        if isinstance(value, dict | list) and id(value) not in self._own:  # pyright: ignore
            own = copied(value)
            super().__setitem__(place, own)
            self._own.add(id(own))
            return own
        return cast(Any, value)
