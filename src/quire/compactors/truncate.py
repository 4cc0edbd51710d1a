"""Truncation: thresholds in tokens, messages or turns, and the compactor that leaves out the oldest turns.

A compactor does nothing up to a ceiling, and then goes down to a floor at once. A request is cheap while its
beginning stays the same. A window that slides by one message changes the beginning with every call; a deep
cut changes it rarely.
"""

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import msgspec

from quire.compactors.plan import Plan, Room
from quire.errors import InvalidLimit, InvalidValue, Irreducible
from quire.items import Hide, Item, OptionsMeta, Reasoning, Summary, Unknown
from quire.state import View, is_structural, is_user_message, spans_over, truncate, view_after
from quire.tokens import Counter, Tally, whole

Unit = Literal["tokens", "messages", "turns"]
"""What is counted: tokens, items (see `MESSAGES`), or user messages."""

Size = int | float
"""A whole number of tokens, or a fraction of the room from 0.0 to 1.0."""


def _is_counted(item: Item) -> bool:
    # Instructions and summaries are never cut, and reasoning is cut with its reply.
    return not (is_structural(item) or isinstance(item, Reasoning | Unknown))


MESSAGES = Tally("quire.messages", _is_counted)
"""Counts messages, calls, results and notes, but no instructions, summaries and reasoning."""

TURNS = Tally("quire.turns", is_user_message)
"""Counts user messages, each of which begins a turn."""


class Extent(NamedTuple):
    """A floor and a ceiling in numbers, and the counter."""

    floor: int
    ceiling: int
    counter: Counter


_COUNTERS: dict[str, Counter] = {"messages": MESSAGES, "turns": TURNS}
_DEFAULTS: dict[str, tuple[Size, Size]] = {"tokens": (0.4, 1.0), "messages": (10, 20), "turns": (5, 10)}


class Thresholds(msgspec.Struct, metaclass=OptionsMeta, frozen=True, kw_only=True):
    """A floor and a ceiling in one unit. Tokens may be fractions of the room, and never exceed it."""

    floor: Size | None = None
    ceiling: Size | None = None
    unit: Unit = "tokens"

    def __post_init__(self) -> None:
        if self.unit not in _DEFAULTS:
            raise InvalidValue(f"the unit must be one of {', '.join(_DEFAULTS)}, not {self.unit!r}")
        floor, ceiling = self._sizes()
        for size, what in ((floor, "the floor"), (ceiling, "the ceiling")):
            if self.unit == "tokens":
                checked_size(size, what)
            else:
                whole(size, f"{what} in {self.unit}", least=1)
        if type(floor) is type(ceiling) and floor > ceiling:
            raise InvalidLimit(f"the floor of {floor:,} must not be above the ceiling of {ceiling:,}")

    def _sizes(self) -> tuple[Size, Size]:
        floor, ceiling = _DEFAULTS[self.unit]
        return (
            floor if self.floor is None else self.floor,
            ceiling if self.ceiling is None else self.ceiling,
        )

    def extent(self, room: Room) -> Extent:
        """Return the thresholds as numbers for a room."""
        floor, ceiling = (tokens_of(size, room) for size in self._sizes())
        if self.unit != "tokens":
            return Extent(floor, ceiling, _COUNTERS[self.unit])
        ceiling = min(ceiling, room.tokens)
        return Extent(min(floor, ceiling), ceiling, room.counter)

    def excess(self, size: int, extent: Extent) -> str:
        """Return the reason of a plan."""
        return f"{size:,} {self.unit} are shown, more than the ceiling of {extent.ceiling:,}"


def checked_size(value: Any, what: str) -> Size:
    """Return the value if it is a number of tokens or a fraction."""
    if not isinstance(value, float):
        return whole(value, what, least=0)
    if not 0 <= value <= 1:
        raise InvalidLimit(f"{what} must be a whole number of tokens, or a fraction from 0.0 to 1.0")
    return value


def tokens_of(size: Size, room: Room) -> int:
    """Return a size in tokens."""
    return int(size * room.tokens) if isinstance(size, float) else size


class TruncateOldest(Thresholds, frozen=True, kw_only=True):
    """Leaves out the oldest turns, by tokens, messages or turns.

    By default the ceiling is the whole room and the floor 0.4 of it; 20 and 10 messages; or 10 and 5 turns.
    """

    name = "truncate-oldest"

    def plan(self, view: View, room: Room) -> Plan | None:
        """Return one `Hide` that shrinks the view to the floor; None up to the ceiling."""
        extent = self.extent(room)
        size = view.tokens(extent.counter)
        if size <= (extent.floor if room.early else extent.ceiling):
            return None
        edit = cut_to_floor(view, extent)
        after = view_after(view, (edit,)).tokens(room.counter)
        return Plan(self.name, self.excess(size, extent), view.tokens(room.counter), after, (edit,))


def cut_to_floor(view: View, extent: Extent) -> Hide:
    """Return the edit that brings a view down to the floor.

    If what must stay is above the floor, the cut goes halfway from the ceiling down to that, so that the next
    message does not need another. Raises `Irreducible` if what must stay is above the ceiling.
    """
    counter, highest = extent.counter, view.tokens(extent.counter) - 1
    try:
        edit = truncate(view, tokens=max(min(extent.floor, highest), 0), counter=counter)
    except Irreducible as error:
        stays = [item for item in view if item.id in error.parts]
        lowest, ceiling = counter.total(sum(map(counter.count, stays))), min(extent.ceiling, highest)
        if lowest > ceiling:
            fault = f"{lowest:,} must stay, more than the ceiling of {ceiling:,}"
            raise Irreducible(fault, error.parts) from None
        edit = truncate(view, tokens=(lowest + ceiling) // 2, counter=counter)
    assert edit is not None  # the view is above the ceiling
    return edit


def leaving_out(view: View, stays: Iterable[str]) -> Hide | None:
    """Return the edit that hides all but summaries and the items with these ids; None if it hides nothing."""
    kept = frozenset(stays)
    spans = spans_over(view, (i for i in view if i.id not in kept and not isinstance(i, Summary)))
    return Hide(spans) if spans else None
