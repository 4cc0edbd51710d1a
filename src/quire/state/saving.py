"""What a cut before any message of the user would save: a few look-ups, however much is left out."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import NamedTuple

from quire.items import Item
from quire.state.astride import shown_astride
from quire.state.growing import keep, memos
from quire.state.scale import Scale
from quire.state.shape import Key, Place, Shape
from quire.state.view import View
from quire.tokens import Counter


class Saving(NamedTuple):
    """What leaving out all before a message of the user saves, in whole groups."""

    tokens: int
    held: int  # tokens before it that stay for being of groups which go on after it


class _Stay(NamedTuple):
    """One item that is shown and that no cut takes away, as it is shown."""

    key: Key
    tokens: int
    item: Item


class _Known(NamedTuple):
    """What stays, with none for what is not shown: the same in each turn, as long as the shape is."""

    shape: Shape
    by_position: dict[int, _Stay | None]
    summaries: list[_Stay]


class Savings:
    """One view, weighed, with what no cut takes away."""

    def __init__(self, view: View, counter: Counter, protected: Iterable[int]) -> None:
        self._view = view
        self._log = view.log
        self.scale = Scale(view, counter)
        self._protected = frozenset(protected)
        known = _known(view, counter)
        found = known.by_position
        stays = (found[p] if p in found else found.setdefault(p, self._stay(p)) for p in self._protected)
        self._stays = sorted((*known.summaries, *(stay for stay in stays if stay is not None)), key=_key)
        self._staying = list(accumulate((stay.tokens for stay in self._stays), initial=0))

    def before(self, user: int) -> Saving:
        """What a cut before a message of the user saves."""
        place = self.place(user)
        held = sum(self.scale.weight(p) for p in self.astride(user) if self.place(p) < place)
        stays = self._staying[bisect_left(self._stays, (*place, 1), key=_key)]
        return Saving(self.scale.before(user) - stays - held, held)

    def least(self, surplus: int) -> int | None:
        """The first message of the user such that a cut before it saves so much, if there is one."""
        user = next(self.scale.users_from(surplus), None)
        while user is not None:
            saving = self.before(user)
            if saving.tokens >= surplus:
                return user
            # What is missing must stand between this message and the one to be found, or be held by it.
            before = self.scale.before(user)
            wanted = max(before, before + surplus - saving.tokens - saving.held)
            place = self.place(user)
            later = (other for other in self.scale.users_from(wanted) if self.place(other) > place)
            user = next(later, None)
        return None

    def astride(self, user: int) -> Iterator[int]:
        """Members of groups that are shown in part before a message of the user, and in part after it."""
        for members in shown_astride(self._log, self._view.end, self.place(user)):
            if members[0] not in self._protected and self._view.run_at(members[0]) is not None:
                yield from members

    def kept_before(self, user: int) -> tuple[Item, ...]:
        """What stays of all that is shown before a message of the user."""
        limit = (*self.place(user), 1)
        stays = self._stays[: bisect_left(self._stays, limit, key=_key)]
        held = (stay for stay in map(self._stay, self.astride(user)) if stay is not None)
        kept = sorted((*stays, *(stay for stay in held if stay.key < limit)), key=_key)
        return tuple(stay.item for stay in kept)

    def _stay(self, position: int) -> _Stay | None:
        found = self.scale.find(position)
        if found is None:
            return None
        item = found.run.stand_in or self._log.item(position)
        return _Stay((*self.place(position), 1), self.scale.weight_in(found, position), item)

    def place(self, position: int) -> Place:
        """The time and position by which an item is shown."""
        return (self._log.time(position), position)


def _known(view: View, counter: Counter) -> _Known:
    known = memos(view).get((_Known, counter.key))
    if not isinstance(known, _Known) or known.shape is not view.shape:
        known = _Known(view.shape, {}, list(_summaries(view, counter)))
        keep(view, (_Known, counter.key), known)
    return known


def _summaries(view: View, counter: Counter) -> Iterator[_Stay]:
    """The summaries that are shown: no cut takes one away."""
    for run in view.shape.summary_runs():
        if run.stand_in is not None:
            yield _Stay(run.key(view.log.time), view.run_tokens(run, counter), run.stand_in)


def _key(stay: _Stay) -> Key:
    return stay.key
