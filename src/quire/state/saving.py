"""What a cut before any message of the user would save: a few look-ups, once everything was weighed."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from quire.state.positions import scattered
from quire.state.shape import Interval, Place, Run, contains
from quire.state.view import View
from quire.tokens import Counter

_Apart = tuple[Place, Place, list[int]]
"""The places of the first and the last of a group, and its members."""


class Savings:
    """One view, weighed, with the groups whose members are shown apart: a cut may fall between these."""

    def __init__(
        self, view: View, runs: Sequence[Run], counter: Counter, protected: Sequence[Interval]
    ) -> None:
        self._log = view.log
        self._runs = runs
        self._counter = counter
        self._run_places = [self._place(run.start) for run in runs]
        self._before = list(accumulate((view.run_tokens(run, counter) for run in runs), initial=0))
        self._weights = {run.start: view.run_tokens(run, counter) for run in runs if run.stand_in is not None}
        stays = [p for run in runs for p in _shared(run, protected)]
        self._stay_places = [self._place(p) for p in stays]
        self._staying = list(accumulate(map(self._weight, stays), initial=0))
        self._apart = sorted(self._groups_apart(view, protected))
        self._reach = list(accumulate((last for _, last, _ in self._apart), max))
        self.most_kept = self._staying[-1] + sum(map(self._group_weight, self._apart))

    def before(self, user: int) -> int:
        """The tokens of all that can be left out before a message of the user, in whole groups."""
        place = self._place(user)
        index = bisect_right(self._run_places, place) - 1
        tokens = self._before[index] + self._log.tokens(self._runs[index].start, user, self._counter)
        tokens -= self._staying[bisect_left(self._stay_places, place)]
        return tokens - sum(self._weight(p) for p in self.astride(user) if self._place(p) < place)

    def astride(self, user: int) -> Iterator[int]:
        """Members of groups that are shown in part before a message of the user, and in part after it."""
        place = self._place(user)
        index = bisect_left(self._apart, place, key=_first) - 1
        while index >= 0 and self._reach[index] > place:
            _, last, members = self._apart[index]
            if last > place:
                yield from members
            index -= 1

    def _groups_apart(self, view: View, protected: Sequence[Interval]) -> Iterator[_Apart]:
        for head in scattered(view.log, view.end):
            if not contains(protected, head) and view.run_at(head) is not None:
                members = view.log.group(head, view.end)
                places = [self._place(p) for p in members]
                yield min(places), max(places), members

    def _group_weight(self, group: _Apart) -> int:
        return sum(map(self._weight, group[2]))

    def _weight(self, position: int) -> int:
        weight = self._weights.get(position)
        return self._log.tokens(position, position + 1, self._counter) if weight is None else weight

    def _place(self, position: int) -> Place:
        return (self._log.time(position), position)


def _shared(run: Run, area: Sequence[Interval]) -> Iterator[int]:
    """The positions of a run that are in an area."""
    index = max(bisect_right(area, (run.start, run.stop)) - 1, 0)
    while index < len(area) and area[index][0] < run.stop:
        yield from range(max(area[index][0], run.start), min(area[index][1], run.stop))
        index += 1


def _first(group: _Apart) -> Place:
    return group[0]
