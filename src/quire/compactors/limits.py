"""Floors and ceilings: when a view is too much, and what it is brought down to."""

from typing import Any, Literal, NamedTuple

import msgspec

from quire.compactors.plan import Room
from quire.errors import InvalidLimit, InvalidValue, WrongType
from quire.items import Item, Message, Reasoning, Unknown
from quire.state import structural
from quire.tokens import Counter, whole

Unit = Literal["tokens", "messages", "turns"]
"""What is counted: tokens as the room has them, what was said and done, or messages of the user."""

Size = int | float
"""So many tokens as a whole number, or as a fraction from 0.0 to 1.0 that part of the room."""


class Messages:
    """Counts all that was said and done: messages, calls, results and notes.

    What gives the conversation its frame counts nothing, because it never goes; nor does a thought, which
    goes with its reply.
    """

    key = "quire.messages"

    def count(self, item: Item) -> int:
        """One, or nothing."""
        return int(not (structural(item) or isinstance(item, Reasoning | Unknown)))

    def total(self, counted: int) -> int:
        """As many as there are."""
        return counted


class Turns:
    """Counts messages of the user: each begins a turn."""

    key = "quire.turns"

    def count(self, item: Item) -> int:
        """One for a message of the user."""
        return int(isinstance(item, Message) and item.role == "user")

    def total(self, counted: int) -> int:
        """As many as there are."""
        return counted


class Extent(NamedTuple):
    """A floor and a ceiling in numbers, and who counts.

    A floor that was given as a number `is_firm`; one that is a part of the room gives way to a frame that is
    larger, such as long instructions in a small room.
    """

    floor: int
    ceiling: int
    counter: Counter
    is_firm: bool = True


_COUNTERS: dict[str, Counter] = {"messages": Messages(), "turns": Turns()}
_DEFAULTS: dict[str, tuple[Size, Size]] = {"tokens": (0.4, 1.0), "messages": (10, 20), "turns": (5, 10)}


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """A floor and a ceiling in one unit.

    Tokens may be given as fractions of the room, and are never above it.
    """

    floor: Size | None = None
    ceiling: Size | None = None
    unit: Unit = "tokens"

    def __post_init__(self) -> None:
        if not isinstance(self.unit, str) or self.unit not in _DEFAULTS:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidValue(f"a compactor goes by {', '.join(_DEFAULTS)}; not by {self.unit!r}")
        for field, default in zip(("floor", "ceiling"), _DEFAULTS[self.unit], strict=True):
            given = getattr(self, field)
            size = default if given is None else self._checked(given, f"the {field}")
            msgspec.structs.force_setattr(self, field, size)
        floor, ceiling = self._sizes()
        if type(floor) is type(ceiling) and floor > ceiling:
            raise InvalidLimit(f"the floor of {floor:,} is above the ceiling of {ceiling:,}")

    def _checked(self, value: Any, what: str) -> Size:
        return checked_size(value, what) if self.unit == "tokens" else whole(value, what, least=1)

    def _sizes(self) -> tuple[Size, Size]:
        assert self.floor is not None and self.ceiling is not None
        return self.floor, self.ceiling

    def extent(self, room: Room) -> Extent:
        """The limits in numbers for one room."""
        floor, ceiling = (tokens_of(size, room) for size in self._sizes())
        if self.unit == "tokens":
            ceiling = min(ceiling, room.tokens)
            return Extent(min(floor, ceiling), ceiling, room.counter, not isinstance(self.floor, float))
        return Extent(floor, ceiling, _COUNTERS[self.unit])

    def excess(self, held: int, extent: Extent) -> str:
        """Why a compactor acts, in words."""
        return f"{held:,} {self.unit} are shown, and {extent.ceiling:,} may be"


def checked_size(value: Any, what: str) -> Size:
    """The value, if it is a number of tokens or a fraction."""
    if not isinstance(value, float):
        return whole(value, what, least=0)
    if not 0 <= value <= 1:
        raise InvalidLimit(f"{what} is a whole number of tokens, or a part of the room from 0.0 to 1.0")
    return value


def checked_room(room: Room) -> Room:
    """The room, if it is one."""
    if not isinstance(room, Room):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"a compactor is given a Room, not {type(room).__name__}")
    return room


def tokens_of(size: Size, room: Room) -> int:
    """A size in numbers."""
    checked_room(room)
    return int(size * room.tokens) if isinstance(size, float) else size
