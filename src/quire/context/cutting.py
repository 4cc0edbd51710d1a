"""Making one section smaller: its oldest in steps, or what comes last of a list, in whole groups.

What goes is a multiple of a step. So the cut stays where it is while a step's worth of tokens is added, and a
provider's cache is of use in between.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate
from typing import NamedTuple

from quire.context.gathering import Content, Piece
from quire.errors import Irreducible
from quire.items import Item, Message, ToolResult
from quire.sections import Sifted
from quire.state import Group, Scroll, View, groups, newest, protected_positions, structural

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

    def going_of(self, may_go: int, stays: int) -> tuple[int, int]:
        """The same where only some may go, and what has to go: just that, where the step asks for more."""
        going, least = self.going(may_go + stays), max(may_go + stays - self.granted, 0)
        return (going if going <= may_go else least), least


def steps_in(room: int, base: int, within: int, granted: int, elsewhere: int) -> Steps:
    """The steps for a room that is some of a base; `within` stays in each turn, beyond both.

    What is shown `elsewhere` of the same history takes of the room, too.
    """
    if min(room, base) < _SMALLEST:
        return Steps(granted, granted, max(granted // 2, 1))
    level = _level(room, base)
    return Steps(granted, level + within - elsewhere, max(min(base // 2, level * 2 // 3), 1))


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


def cut_view(piece: Piece, view: View, steps: Steps, sums: Sums) -> Scroll:
    """The newest of a view, within what is granted. `Irreducible` where what must stay is larger."""
    source = piece.origin or view
    # What is shown elsewhere of the source is neither cut nor granted here.
    asked, elsewhere = view.counted(sums), source.counted(sums) - view.counted(sums)
    cut: Scroll | None = None
    with suppress(Irreducible):
        cut = newest(source, tokens=max(asked - steps.going(asked) + elsewhere, 0), counter=sums)
    # As with a list: what has room is not left out for a whole step, if nothing would be left.
    if cut is None or (piece.apart is not None and cut.start >= len(view)):
        cut = newest(source, tokens=steps.granted + elsewhere, counter=sums)
    return cut if source is view else Scroll(cut.before, view, cut.start)


def cut_newest(piece: Piece, items: Sequence[Item], steps: Steps, sums: Sums) -> tuple[Item, ...]:
    """The newest of a list that grows at its end, as with a view; what must stay of its source stays."""
    closely = piece.section.closely
    if isinstance(items, Sifted) and not closely:
        return cut_sifted(piece, items, steps, sums)
    found = groups(items)
    must = frozenset(_must_stay(found, piece.origin))
    sizes = [sum(map(sums.count, group.items)) for group in found]
    needed = sum(sizes[index] for index in must)
    may_go = list(accumulate((0 if index in must else size for index, size in enumerate(sizes)), initial=0))
    if needed > steps.granted:
        raise _irreducible(needed, steps, (i for index in sorted(must) for i in found[index].items))
    turns = [index for index, group in enumerate(found) if closely or _is_users(group.items[0])]
    going = steps.going_of(may_go[-1], needed)
    cut = place_of_cut(turns, range(len(found)), going, may_go.__getitem__, ends=piece.apart is not None)
    gone = {item.id for i, group in enumerate(found[:cut]) if i not in must for item in group.items}
    return tuple(item for item in items if item.id not in gone)


def cut_sifted(piece: Piece, items: Sifted, steps: Steps, sums: Sums) -> tuple[Item, ...]:
    """The same of what was chosen from a history, without going through what is left out."""
    before, must = items.counted_before(sums), items.staying(piece.origin or items.view)
    kept = list(accumulate(map(sums.count, items.at_places(must)), initial=0))
    if kept[-1] > steps.granted:
        raise _irreducible(kept[-1], steps, items.at_places(must))

    def gone_before(place: int) -> int:
        return before(place) - kept[bisect_left(must, place)]

    going = steps.going_of(gone_before(items.reach.stop), kept[-1])
    cut = place_of_cut(items.turns, items.reach, going, gone_before, ends=items.ends)
    return items.from_place(cut, must)


def place_of_cut(
    turns: Sequence[int],
    reach: range,
    going: tuple[int, int],
    gone_before: Callable[[int], int],
    *,
    ends: bool,
) -> int:
    """The first turn before which enough goes; inside the last, where no turn is late enough.

    Of what ends with its last turn, all may go: the turn after it is shown elsewhere. But what has room is
    not left out for a whole step, if nothing would be left.
    """
    first, end = bisect_left(turns, reach.start), bisect_left(turns, reach.stop)
    for enough in going if ends else going[:1]:
        at = bisect_left(turns, enough, first, end, key=gone_before)
        if at < end:
            return turns[at]
    if ends:
        return reach.stop
    last = range(turns[end - 1] if first < end else reach.start, reach.stop)
    return last.start + bisect_left(last, going[0], key=gone_before)


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


def core(piece: Piece, content: Content, sums: Sums) -> list[Item]:
    """What no cut takes from a history."""
    if isinstance(content, View):
        stays = staying_ids(piece)
        return [item for item in content if item.id in stays]
    if isinstance(content, Sifted):
        return content.at_places(content.staying(piece.origin or content.view))
    found = groups(content)
    return [item for index in _must_stay(found, piece.origin) for item in found[index].items]


def staying_ids(piece: Piece) -> frozenset[str]:
    """The ids of what must stay of a history; some may not be shown at all."""
    content, source = piece.content, piece.origin
    if isinstance(content, View):
        view = source or content
        stays = {*protected_positions(view), *view.shape.summaries}
        return frozenset(view.log.item(position).id for position in stays)
    if isinstance(content, Sifted):
        return frozenset(item.id for item in content.at_places(content.staying(source or content.view)))
    found = groups(content)
    return frozenset(item.id for index in _must_stay(found, source) for item in found[index].items)


def frame_tokens(view: View, sums: Sums) -> int:
    """The counts of what gives a conversation its frame, such as instructions: it is in every turn."""
    marks = view.log.positions("marks", 0, view.end)
    return sum(view.log.tokens(p, p + 1, sums) for p in marks if view.run_at(p) is not None)


def _must_stay(found: Sequence[Group], source: View | None) -> Iterator[int]:
    """The groups that stay: by the rule for views where the items are from one, else told from the list."""
    if source is not None:
        ids = {source.log.item(position).id for position in protected_positions(source)}
    else:
        ids = {item.id for item in _to_be_answered(found)}
    for index, group in enumerate(found):
        is_framing = group.pending or structural(group.items[0])
        if is_framing or any(item.id in ids for item in group.items) or _answers_elsewhere(group, source):
            yield index


def _answers_elsewhere(group: Group, source: View | None) -> bool:
    """Whether it is what is left of a group whose call another history shows: it stays with that."""
    first = group.items[0]
    if source is None or not isinstance(first, ToolResult):
        return False
    position = source.log.find(first.id, source.end)
    return position is not None and source.log.head(position) != position


def _to_be_answered(found: Sequence[Group]) -> Iterator[Item]:
    """The last message of the user, and what a tool gave last if nothing came after it."""
    yield from [group.items[0] for group in found if _is_users(group.items[0])][-1:]
    if found and isinstance(found[-1].items[-1], ToolResult):
        yield found[-1].items[-1]


def _is_users(item: Item) -> bool:
    return isinstance(item, Message) and item.role == "user"
