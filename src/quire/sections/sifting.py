"""A history of which some is left out or changed, taken further as its transcript grows.

Groups are judged whole. What a view shows after an earlier one can change the verdict only of the groups it
joins and of the message that was the user's last: sifting goes back to the first of these, no further.
"""

from array import array
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from quire.errors import WrongType
from quire.items import KINDS, Item, Message, ToolResult
from quire.sections.rows import Chosen, Row
from quire.sections.shown import NEVER_SHOWN, Shown, last_shown, last_user_position, members
from quire.sections.sifted import Sifted
from quire.state import View, added_since, answers

T = TypeVar("T")
Question = Callable[[Item], bool]
Change = Callable[[Item], Item | None]


class Sift:
    """What is kept of a view, and what is needed to go on from there."""

    __slots__ = ("_before", "_change", "_indexes", "_keep", "_row", "_spared", "_turns", "_view")

    def __init__(self, keep: Question | None, change: Change | None) -> None:
        self._keep = keep
        self._change = change
        self._view: View | None = None
        self._row = Row()
        self._indexes: dict[int, int] = {}  # where in the view a position is, in the view's order
        self._before = array("L", (0,))  # for each place in the view, how much is kept before it
        self._turns = array("L", (0,))  # for each place in the view, how many turns begin before it
        self._spared: int | None = None  # the position of a message that is kept for being the last

    @property
    def kept(self) -> Sequence[Item]:
        """What is kept of the view."""
        return self._row.items

    def goes_on_in(self, view: View) -> bool:
        """Whether a view only shows more than the one that was sifted."""
        return self._view is None or added_since(view, self._view) is not None

    def read(self, view: View) -> None:
        """Sift what a view shows beyond the last one."""
        known = len(self._indexes)
        new = last_shown(view, len(view) - known)
        start = self._first_touched(view, new) if known else 0
        if start < known:
            self._forget(start)
            new = last_shown(view, len(view) - start)
        kept = self._before[start]
        self._row = self._row.with_end(kept, self._sifted(new, kept, last_user_position(view)))
        self._view = view

    def newest(self, view: View, cut: int) -> Sifted:
        """What is kept from a place on, the rest of the groups there, and what always stays."""
        row = Sifted(self._row, view)
        if not cut:
            return row
        positions = (p for head in set(self._row.heads[cut:]) for p in members(view, head))
        places = {self._row.indexes.get(position, cut) for position in positions}
        places.update(row.staying(view))
        return Sifted(self._row, view, cut, sorted(place for place in places if place < cut))

    def _first_touched(self, view: View, new: Sequence[Shown]) -> int:
        """The first place in the view whose verdict may change, or where what is new begins."""
        known = len(self._indexes)
        start = self._first_of(view, {shown.head for shown in new})
        if self._spared is not None and any(is_users(shown.item) for shown in new):
            start = min(start, self._indexes.get(self._spared, known))
        reached = known
        while start < reached:  # a group that is astride is judged again as a whole
            reached, astride = start, last_shown(view, len(view) - start)
            start = min(start, self._first_of(view, {shown.head for shown in astride}))
        return start

    def _first_of(self, view: View, heads: Iterable[int]) -> int:
        indexes = (self._indexes.get(p) for head in heads for p in members(view, head))
        return min((i for i in indexes if i is not None), default=len(self._indexes))

    def _forget(self, start: int) -> None:
        """Take back all verdicts from a place in the view on."""
        while len(self._indexes) > start:
            position, _ = self._indexes.popitem()
            if position == self._spared:
                self._spared = None
        del self._before[start + 1 :], self._turns[start + 1 :]

    def _sifted(self, new: Sequence[Shown], kept: int, last_user: int | None) -> list[Chosen]:
        """What is kept of what is new, after so many that are kept before it."""
        groups: dict[int, list[Shown]] = {}
        for shown in new:
            groups.setdefault(shown.head, []).append(shown)
        verdicts: dict[int, Item] = {}
        for group in groups.values():
            verdicts.update(self._judged(group) or self._kept_for_being_last(group[0], last_user))
        chosen: list[Chosen] = []
        for shown in new:
            self._indexes[shown.position] = len(self._indexes)
            self._turns.append(self._turns[-1] + is_users(shown.item))
            item = verdicts.get(shown.position)
            if item is not None:
                chosen.append(Chosen(item, shown.position, shown.head, self._turns[-1]))
            self._before.append(kept + len(chosen))
        return chosen

    def _kept_for_being_last(self, first: Shown, last_user: int | None) -> dict[int, Item]:
        """The message to be answered, which is never refused; the next one may take its place."""
        if first.position != last_user:
            return {}
        self._spared = first.position
        changed = first.item if self._change is None else _changed(self._change, first.item)
        return {first.position: first.item if changed is None else changed}

    def _judged(self, group: Sequence[Shown]) -> dict[int, Item]:
        """What is kept of a group, by position."""
        keep, change = self._keep, self._change
        if keep is not None and not all(_is_yes(keep(one.item)) for one in group):
            return {}
        if change is None:
            return {one.position: one.item for one in group}
        changed = {one.position: _changed(change, one.item) for one in group}
        kept = {position: item for position, item in changed.items() if item is not None}
        return {} if _breaks([one.item for one in group], list(kept.values())) else kept


def is_users(item: Item) -> bool:
    """Whether it is a message of the user."""
    return isinstance(item, Message) and item.role == "user"


def _is_yes(answer: object) -> bool:
    return bool(_at_once(answer))


def _at_once(answer: T) -> T:
    if isinstance(answer, Awaitable):
        if isinstance(answer, Coroutine):
            answer.close()  # nobody will await it
        raise WrongType("where and transform answer at once: an async function cannot be asked")
    return answer


def _changed(change: Change, item: Item) -> Item | None:
    """What an item is shown as; it stands for the item, so it has the same id and time."""
    changed = _at_once(change(item))
    if changed is None or changed is item:
        return changed
    if type(changed) not in KINDS or isinstance(changed, NEVER_SHOWN):
        raise WrongType(f"a transform gives an item that can be shown, or None, not {type(changed).__name__}")
    if changed.id == item.id and changed.created_at == item.created_at:
        return changed
    return replace(changed, id=item.id, created_at=item.created_at)


def _breaks(before: Sequence[Item], after: Sequence[Item]) -> bool:
    """Whether calls lost their results, or results their calls."""
    waiting, stray = _loose(before)
    waiting_after, stray_after = _loose(after)
    return waiting_after > waiting or stray_after > stray


def _loose(items: Sequence[Item]) -> tuple[int, int]:
    found, waiting = answers(items)
    return len(waiting), sum(isinstance(item, ToolResult) for item in items) - len(found)
