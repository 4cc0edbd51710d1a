"""Making one section smaller: the oldest of a view in steps, and whole groups of a list."""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from quire.errors import Irreducible
from quire.items import Item, Message
from quire.state import Group, View, groups, structural
from quire.state.scroll import Scroll
from quire.state.truncation import newest
from quire.tokens import Counter

Count = Callable[[Item], int]


class Sums:
    """A counter whose total is the sum of its counts, for parts of a request that is totalled as a whole."""

    __slots__ = ("count", "key")

    def __init__(self, counter: Counter) -> None:
        self.key = counter.key
        self.count = counter.count

    def total(self, counted: int) -> int:
        """The sum itself."""
        return counted


def cut_view(view: View, room: int, step: int, counter: Counter) -> Scroll:
    """The newest of a view, within its room. `Irreducible` where what must stay is larger.

    What goes is a multiple of `step`, up to the turn that the cut falls in. So the cut stays where it is
    while a step's worth of tokens is added, and a provider's cache is of use in between.
    """
    sums = Sums(counter)
    asked = view.counted(counter)
    steps = -(-(asked - room) // step)
    lowest = asked - steps * step
    try:
        return newest(view, tokens=max(lowest, 0), counter=sums)
    except Irreducible:
        return newest(view, tokens=room, counter=sums)


def cut_items(
    items: Sequence[Item], room: int, count: Count, keeps: Literal["first", "newest"]
) -> tuple[Item, ...]:
    """Items as far as they fit in whole groups: from the first on, or what must stay and then the newest."""
    found = groups(items)
    sizes = [sum(map(count, group.items)) for group in found]
    kept = set(_must_stay(found)) if keeps == "newest" else set[int]()
    room -= sum(sizes[index] for index in kept)
    if room < 0:
        parts = tuple(item.id for index in sorted(kept) for item in found[index].items)
        raise Irreducible(f"{-room} tokens too many must stay", parts)
    for index in range(len(found) - 1, -1, -1) if keeps == "newest" else range(len(found)):
        if index not in kept:
            room -= sizes[index]
            if room < 0:
                break
            kept.add(index)
    ids = {item.id for index in kept for item in found[index].items}
    return tuple(item for item in items if item.id in ids)


def _must_stay(found: Sequence[Group]) -> Iterator[int]:
    """The frame of a conversation, calls that wait, and the last message of the user."""
    last = max((index for index, group in enumerate(found) if _is_users(group)), default=-1)
    for index, group in enumerate(found):
        if index == last or group.pending or structural(group.items[0]):
            yield index


def _is_users(group: Group) -> bool:
    first = group.items[0]
    return isinstance(first, Message) and first.role == "user"
