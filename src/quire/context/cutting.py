"""Making one section smaller: its oldest in steps, or what comes last of a list, in whole groups.

What goes is a multiple of a step. So the cut stays where it is while a step's worth of tokens is added, and a
provider's cache is of use in between.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from quire.errors import Irreducible
from quire.items import Item, Message, ToolResult
from quire.state import Group, View, groups, structural
from quire.state.positions import positions
from quire.state.scroll import Scroll
from quire.state.staying import must_stay
from quire.state.truncation import newest

Count = Callable[[Item], int]


class Steps(NamedTuple):
    """What is granted, how much of it is the same in each turn, and the step in which the oldest go."""

    granted: int
    steady: int
    step: int

    def going(self, asked: int) -> int:
        """How much goes: enough, and a multiple of the step."""
        return -(-max(asked - self.steady, 0) // self.step) * self.step


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


def cut_newest(items: Sequence[Item], steps: Steps, count: Count, source: View | None) -> tuple[Item, ...]:
    """The newest of a list that grows at its end, as with a view; what must stay of its source stays."""
    found = groups(items)
    sizes = [sum(map(count, group.items)) for group in found]
    must = set(_must_stay(found, source))
    needed = sum(sizes[index] for index in must)
    if needed > steps.granted:
        parts = tuple(item.id for index in sorted(must) for item in found[index].items)
        raise Irreducible(f"{needed:,} tokens must stay, and there is room for {steps.granted:,}", parts)
    going = min(steps.going(sum(sizes)), sum(sizes) - needed)
    gone: set[int] = set()
    for index in range(len(found)):
        if going > 0 and index not in must:
            gone.add(index)
            going -= sizes[index]
    ids = {item.id for index in gone for item in found[index].items}
    return tuple(item for item in items if item.id not in ids)


def cut_last(items: Sequence[Item], room: int, count: Count) -> tuple[Item, ...]:
    """Items from the first on, as far as they fit in whole groups."""
    kept: set[str] = set()
    for group in groups(items):
        room -= sum(map(count, group.items))
        if room < 0:
            break
        kept.update(item.id for item in group.items)
    return tuple(item for item in items if item.id in kept)


def core(content: View | tuple[Item, ...], source: View | None, sums: Sums) -> list[Item]:
    """What no cut takes from a history."""
    if isinstance(content, View):
        try:
            return list(newest(content, tokens=0, counter=sums))
        except Irreducible as fault:
            parts = set(fault.parts)
            return [item for item in content if item.id in parts]
    found = groups(content)
    return [item for index in _must_stay(found, source) for item in found[index].items]


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
