"""A history of which some is left out or changed, taken further as its transcript grows.

Groups are judged whole. What a view shows after an earlier one can change the verdict only of the groups it
joins and of the message that was the user's last: sifting goes back to the first of these, no further.
"""

from array import array
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from quire.errors import WrongType
from quire.items import KINDS, Item, Message, ToolResult
from quire.sections.shown import NEVER_SHOWN, Shown, last_shown, last_user_position, members
from quire.state import View, structural
from quire.state.groups import answers
from quire.state.growing import added_since
from quire.state.staying import must_stay

T = TypeVar("T")
Question = Callable[[Item], bool]
Change = Callable[[Item], Item | None]


class Sift:
    """What is kept of a view, and what is needed to go on from there."""

    __slots__ = ("_before", "_change", "_frame", "_heads", "_indexes", "_keep", "_spared", "_view", "kept")

    def __init__(self, keep: Question | None, change: Change | None) -> None:
        self.kept: list[Item] = []
        self._keep = keep
        self._change = change
        self._view: View | None = None
        self._heads: list[int] = []  # of the groups of what is kept
        self._frame: list[int] = []  # where in what is kept the instructions, summaries and the like are
        self._indexes: dict[int, int] = {}  # where in the view a position is, in the view's order
        self._before = array("L", (0,))  # for each place in the view, how much is kept before it
        self._spared: int | None = None  # where in the view the last message of the user is

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
        self._sift(new, last_user_position(view))
        self._view = view

    def newest(self, view: View, cut: int) -> list[Item]:
        """What is kept from a place on, the rest of the groups there, and what always stays."""
        if not cut:
            return self.kept.copy()
        places = {place for head in set(self._heads[cut:]) for place in members(view, head)}
        places.update(must_stay(view))
        earlier = {index for index in map(self._kept_at, places) if index is not None and index < cut}
        earlier.update(self._frame[: bisect_left(self._frame, cut)])
        return [*(self.kept[index] for index in sorted(earlier)), *self.kept[cut:]]

    def _kept_at(self, position: int) -> int | None:
        index = self._indexes.get(position)
        if index is None or self._before[index] == self._before[index + 1]:
            return None
        return self._before[index]

    def _first_touched(self, view: View, new: Sequence[Shown]) -> int:
        """The first place in the view whose verdict may change, or where what is new begins."""
        known = len(self._indexes)
        start = self._first_of(view, {shown.head for shown in new})
        if self._spared is not None and any(is_users(shown.item) for shown in new):
            start = min(start, self._spared)
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
            self._indexes.popitem()
        kept = self._before[start]
        del self._before[start + 1 :], self.kept[kept:], self._heads[kept:]
        del self._frame[bisect_left(self._frame, kept) :]

    def _sift(self, new: Sequence[Shown], last_user: int | None) -> None:
        groups: dict[int, list[Shown]] = {}
        for shown in new:
            groups.setdefault(shown.head, []).append(shown)
        verdicts: dict[int, Item] = {}
        for group in groups.values():
            verdicts.update(self._judged(group, group[0].position == last_user))
        for shown in new:
            if shown.position == last_user and (self._keep or self._change):
                self._spared = len(self._indexes)
            self._indexes[shown.position] = len(self._indexes)
            item = verdicts.get(shown.position)
            if item is not None:
                if structural(shown.item):
                    self._frame.append(len(self.kept))
                self.kept.append(item)
                self._heads.append(shown.head)
            self._before.append(len(self.kept))

    def _judged(self, group: Sequence[Shown], is_last_user: bool) -> dict[int, Item]:
        """What is kept of a group, by position."""
        keep, change = self._keep, self._change
        if keep is not None and not is_last_user and not all(_is_yes(keep(one.item)) for one in group):
            return {}
        if change is None:
            return {one.position: one.item for one in group}
        changed = {one.position: _changed(change, one.item) for one in group}
        kept = {position: item for position, item in changed.items() if item is not None}
        if is_last_user and not kept:
            return {group[0].position: group[0].item}
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
