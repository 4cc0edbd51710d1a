"""Making one section smaller: its oldest in steps, or what comes last of a list, in whole groups.

What goes is a multiple of a step. So the cut stays where it is while a step's worth of tokens is added, and a
provider's cache is of use in between.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from quire.context.gathering import Content
from quire.errors import Irreducible
from quire.items import Item, Message, ToolResult
from quire.sections.sifted import Sifted
from quire.state import Group, View, groups, structural
from quire.state.positions import positions
from quire.state.scroll import Scroll
from quire.state.staying import must_stay
from quire.state.truncation import newest

Count = Callable[[Item], int]

_SMALLEST = 8
"""Tokens below which there are no levels to speak of."""


class Steps(NamedTuple):
    """What is granted, how much of it is the same in each turn, and the step in which the oldest go."""

    granted: int
    steady: int
    step: int

    def going(self, asked: int) -> int:
        """How much goes: enough, and a multiple of the step."""
        return -(-max(asked - self.steady, 0) // self.step) * self.step


def steps_in(room: int, base: int, within: int, granted: int) -> Steps:
    """The steps for a room that is some of a base; `within` stays in each turn, beyond both."""
    if min(room, base) < _SMALLEST:
        return Steps(granted, granted, max(granted // 2, 1))
    level = _level(room, base)
    return Steps(granted, level + within, max(min(base // 2, level * 2 // 3), 1))


def _level(room: int, whole: int) -> int:
    """The largest that a room has space for of a whole, three quarters, a half, three eighths and so on."""
    while whole > room:
        if whole * 3 // 4 <= room:
            return whole * 3 // 4
        whole //= 2
    return whole


class Sums:
    """A counter whose total is the sum of its counts, for parts of a request that is totalled as a whole.

    `count` may remember: what stands before a cut is counted in every turn.
    """

    __slots__ = ("_count", "key")

    def __init__(self, key: str, count: Count) -> None:
        self.key = key
        self._count = count

    def count(self, item: Item) -> int:
        """The count of one item alone."""
        return self._count(item)

    def total(self, counted: int) -> int:
        """The sum itself."""
        return counted


def cut_view(view: View, steps: Steps, sums: Sums) -> Scroll:
    """The newest of a view, within what is granted. `Irreducible` where what must stay is larger."""
    asked = view.counted(sums)
    try:
        return newest(view, tokens=max(asked - steps.going(asked), 0), counter=sums)
    except Irreducible:
        return newest(view, tokens=steps.granted, counter=sums)


def cut_newest(items: Sequence[Item], steps: Steps, sums: Sums, source: View | None) -> tuple[Item, ...]:
    """The newest of a list that grows at its end, as with a view; what must stay of its source stays."""
    if isinstance(items, Sifted):
        return cut_sifted(items, steps, sums, source)
    found = groups(items)
    sizes = [sum(map(sums.count, group.items)) for group in found]
    must = set(_must_stay(found, source))
    needed = sum(sizes[index] for index in must)
    if needed > steps.granted:
        raise _irreducible(needed, steps, (i for index in sorted(must) for i in found[index].items))
    going = min(steps.going(sum(sizes)), sum(sizes) - needed)
    gone: set[int] = set()
    for index in range(len(found)):
        if going > 0 and index not in must:
            gone.add(index)
            going -= sizes[index]
    ids = {item.id for index in gone for item in found[index].items}
    return tuple(item for item in items if item.id not in ids)


def cut_sifted(items: Sifted, steps: Steps, sums: Sums, source: View | None) -> tuple[Item, ...]:
    """The same of what was chosen from a history, without going through what is left out."""
    counted, must = items.sums(sums), items.staying(source or items.view)
    kept = list(accumulate((counted[place + 1] - counted[place] for place in must), initial=0))
    if kept[-1] > steps.granted:
        raise _irreducible(kept[-1], steps, (items[place] for place in must))
    total = counted[len(items)]
    going = min(steps.going(total), total - kept[-1])

    def gone_before(place: int) -> int:
        return counted[place] - kept[bisect_left(must, place)]

    cut = bisect_left(range(len(items)), going, key=gone_before)
    return items.from_place(cut, must)


def _irreducible(needed: int, steps: Steps, must: Iterable[Item]) -> Irreducible:
    parts = tuple(item.id for item in must)
    return Irreducible(f"{needed:,} tokens must stay, and there is room for {steps.granted:,}", parts)


def cut_last(items: Sequence[Item], room: int, size: Callable[[Sequence[Item]], int]) -> tuple[Item, ...]:
    """Items from the first on, as far as they fit in whole groups."""
    kept: set[str] = set()
    for group in groups(items):
        room -= size(group.items)
        if room < 0:
            break
        kept.update(item.id for item in group.items)
    return tuple(item for item in items if item.id in kept)


def core(content: Content, source: View | None, sums: Sums) -> list[Item]:
    """What no cut takes from a history."""
    if isinstance(content, View):
        try:
            return list(newest(content, tokens=0, counter=sums))
        except Irreducible as fault:
            parts = set(fault.parts)
            return [item for item in content if item.id in parts]
    if isinstance(content, Sifted):
        return [content[place] for place in content.staying(source or content.view)]
    found = groups(content)
    return [item for index in _must_stay(found, source) for item in found[index].items]


def staying_ids(content: Content, source: View | None) -> frozenset[str]:
    """The ids of what must stay of a history; some may not be shown at all."""
    if isinstance(content, View):
        stays = {*must_stay(content), *content.shape.summaries}
        return frozenset(content.log.item(position).id for position in stays)
    if isinstance(content, Sifted):
        return frozenset(content[place].id for place in content.staying(source or content.view))
    found = groups(content)
    return frozenset(item.id for index in _must_stay(found, source) for item in found[index].items)


def frame_tokens(view: View, sums: Sums) -> int:
    """The counts of what gives a conversation its frame, such as instructions: it is in every turn."""
    marks = positions(view.log, "marks", 0, view.end)
    return sum(view.log.tokens(p, p + 1, sums) for p in marks if view.run_at(p) is not None)


def _must_stay(found: Sequence[Group], source: View | None) -> Iterator[int]:
    """The groups that stay: by the rule for views where the items are from one, else told from the list."""
    if source is not None:
        ids = {source.log.item(position).id for position in must_stay(source)}
    else:
        ids = {item.id for item in _to_be_answered(found)}
    for index, group in enumerate(found):
        if group.pending or structural(group.items[0]) or any(item.id in ids for item in group.items):
            yield index


def _to_be_answered(found: Sequence[Group]) -> Iterator[Item]:
    """The last message of the user, and what a tool gave last if nothing came after it."""
    yield from [group.items[0] for group in found if _is_users(group.items[0])][-1:]
    if found and isinstance(found[-1].items[-1], ToolResult):
        yield found[-1].items[-1]


def _is_users(item: Item) -> bool:
    return isinstance(item, Message) and item.role == "user"
