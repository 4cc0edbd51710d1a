"""How much of what is old is told at once: as much as whoever writes can read, the oldest first.

After an outage, or in a conversation that was begun elsewhere, more than that is old. Then some of it is told
now, and the words for it are folded into those for the rest.
"""

from collections.abc import Callable, Iterator, Sequence

from quire.compactors.plan import Room
from quire.compactors.telling import line_of
from quire.items import Item, Message, Summary
from quire.state import EDIT, View

_FEWEST = 4_096
"""Tokens that every model reads, however small the room is that a conversation is kept in."""

_SHORTER = (1, 2, 4, 8, 16, 32, 64)
"""How many times fewer letters are told of what is long, where it cannot be read otherwise."""


def readable(told: Callable[[int], tuple[Item, ...]], room: Room, size: int) -> tuple[Item, ...]:
    """A prompt that can be read at once, with an answer of so many tokens; else the shortest there is."""
    prompt: tuple[Item, ...] = ()
    for shorter in _SHORTER:
        prompt = told(shorter)
        if _is_read(sum(map(room.counter.count, prompt)), room, size):
            break
    return prompt


def parts(
    view: View, items: Sequence[Item], room: Room, size: int, frame: Sequence[Item]
) -> Iterator[Sequence[Item]]:
    """All of the items where they can be read at once within a frame; else the oldest of them.

    The first has as many as can be read, up to where a turn begins if there is such a place; those that
    follow have more and more, for who has no use for so little. A group that goes on beyond waits for the
    rest of it.
    """
    reach = _reach(items, room, size, frame)
    if reach == len(items):
        yield items
        return
    lasts = _lasts(view, items)
    first = min(last for last, item in zip(lasts, items, strict=True) if not isinstance(item, Summary)) + 1
    turns = (end for end in range(min(reach, len(items) - 1), first - 1, -1) if _is_users(items[end]))
    for end in range(next(turns, max(reach, first)), len(items)):
        yield [item for last, item in zip(lasts[:end], items, strict=False) if last < end]
    yield items


def _reach(items: Sequence[Item], room: Room, size: int, frame: Sequence[Item]) -> int:
    """How many items can be read at once: counted line by line, and never beyond what is read."""
    counted = sum(map(room.counter.count, frame))
    for index, item in enumerate(items):
        line = line_of(item)
        counted += room.counter.count(Message("user", line)) if line else 0
        if not _is_read(counted, room, size):
            return index
    return len(items)


def _is_read(counted: int, room: Room, size: int) -> bool:
    reads = max(room.tokens, _FEWEST) if room.reads is None else room.reads
    return room.counter.total(counted) + size <= reads


def _lasts(view: View, items: Sequence[Item]) -> list[int]:
    """Of each item, where the last of its group stands among them."""
    heads = [view.log.head(view.position(item.id)) for item in items]
    last = {head: index for index, head in enumerate(heads) if head != EDIT}
    return [last.get(head, index) for index, head in enumerate(heads)]


def _is_users(item: Item) -> bool:
    return isinstance(item, Message) and item.role == "user"
