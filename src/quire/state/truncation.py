"""Leaving out the oldest: the one way to shrink that needs no words.

The cut falls where a turn of the user begins; only when the last turn alone is too large does it fall inside
that turn, between groups. Instructions, configuration, handoffs, summaries, pins, calls that wait and the
last message of the user are never left out.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from quire.errors import Irreducible
from quire.items import Hide
from quire.state.active import spans_of
from quire.state.judging import last_user
from quire.state.positions import first_position, positions, scattered
from quire.state.shape import Interval, Run, contains, first_after, subtracted, united
from quire.state.view import View
from quire.tokens import Counter
from quire.tokens.numbers import whole


def truncate(view: View, *, tokens: int, counter: Counter) -> Hide | None:
    """The edit that brings the view within a number of tokens, or none if it is.

    `Irreducible` if it cannot be.
    """
    whole(tokens, "tokens", least=0)
    if view.tokens(counter) <= tokens:
        return None
    return _Cut(view, tokens, counter).edit()


class _Cut:
    """The search for the place of the cut."""

    def __init__(self, view: View, tokens: int, counter: Counter) -> None:
        self._view = view
        self._log = view.log
        self._tokens = tokens
        self._counter = counter
        self._counted = view.counted(counter)
        self._runs = [run for run in view.runs() if run.stop > run.start]
        self._protected = united((p, p + 1) for p in self._protected_positions())

    def edit(self) -> Hide:
        # Protected items only make a cut save less, so the right one lies between the cut that would be
        # enough without them and the one that would be enough if all of them stood before it.
        kept = sum(self._log.tokens(start, stop, self._counter) for start, stop in self._protected)
        users = self._users_between(self._place_saving(0), self._place_saving(kept))
        index = bisect_left(users, True, key=lambda user: self._is_enough(self._area_before(user)))
        if index < len(users):
            area = self._area_before(users[index])
        else:
            area = self._area_inside_last_turn(last_user(self._log, self._view.end))
        return Hide(spans_of(self._log, area))

    def _place_saving(self, kept: int) -> tuple[int, int]:
        """The first run and position such that leaving out all before, but for `kept` tokens, is enough."""
        left = self._counted + kept
        for index, run in enumerate(self._runs):
            size = self._view.run_tokens(run, self._counter)
            if self._counter.total(left - size) <= self._tokens:
                return index, self._position_saving(run, left)
            left -= size
        return len(self._runs), self._view.end

    def _position_saving(self, run: Run, left: int) -> int:
        def enough(position: int) -> bool:
            gone = self._log.tokens(run.start, position, self._counter)
            return self._counter.total(left - gone) <= self._tokens

        return run.start + bisect_left(range(run.start, run.stop), True, key=enough)

    def _users_between(self, first: tuple[int, int], last: tuple[int, int]) -> list[int]:
        """Messages of the user from one place to the one that follows another."""
        users: list[int] = []
        for index in range(first[0], len(self._runs)):
            run = self._runs[index]
            start = first[1] if index == first[0] else run.start
            if index < last[0]:
                users += positions(self._log, "users", start, run.stop)
                continue
            middle = max(start, last[1]) if index == last[0] else start
            users += positions(self._log, "users", start, middle)
            following = first_position(self._log, "users", middle, run.stop)
            if following is not None:
                return [*users, following]
        return users

    def _is_enough(self, area: Sequence[Interval]) -> bool:
        return self._remaining(area) <= self._tokens

    def _remaining(self, area: Sequence[Interval]) -> int:
        return self._counter.total(self._counted - self._area_tokens(area))

    def _area_tokens(self, area: Sequence[Interval]) -> int:
        return sum(self._run_tokens(run, area) for run in self._runs)

    def _run_tokens(self, run: Run, area: Sequence[Interval]) -> int:
        if run.stand_in is not None:
            return self._counter.count(run.stand_in) if contains(area, run.start) else 0
        outside = list(subtracted((run.start, run.stop), area))
        inside = subtracted((run.start, run.stop), outside)
        return sum(self._log.tokens(start, stop, self._counter) for start, stop in inside)

    def _area_before(self, cut: int) -> list[Interval]:
        """All that is shown before a position and may be left out, in whole groups."""
        place = (self._log.time(cut), cut)
        before: list[Interval] = []
        for run in self._runs:
            stop = first_after(run.start, run.stop, place, self._log.time)
            if stop > run.start:
                before.append((run.start, stop))
            if stop < run.stop:
                break
        area = [part for interval in united(before) for part in subtracted(interval, self._protected)]
        astride = united((p, p + 1) for p in self._astride(area))
        return [part for interval in area for part in subtracted(interval, astride)]

    def _astride(self, area: Sequence[Interval]) -> Iterator[int]:
        """Members of groups that an area holds in part."""
        for head in scattered(self._log, self._view.end):
            members = self._log.group(head, self._view.end)
            if len({contains(area, p) for p in members}) > 1:
                yield from members

    def _area_inside_last_turn(self, user: int | None) -> list[Interval]:
        area = self._area_before(user) if user is not None else []
        heads: dict[int, None] = {}
        for run in self._runs:
            for position in range(run.start, run.stop):
                if not contains(area, position) and not contains(self._protected, position):
                    heads.setdefault(self._log.head(position))
        for head in heads:
            if self._is_enough(area):
                break
            members = self._log.group(head, self._view.end)
            if not any(contains(self._protected, p) for p in members):
                area = united([*area, *((p, p + 1) for p in members)])
        if not self._is_enough(area):
            raise self._irreducible(area)
        return area

    def _irreducible(self, area: Sequence[Interval]) -> Irreducible:
        left = [i.id for run in self._runs for i in self._log.items(run.start, run.stop)]
        gone = {i.id for start, stop in area for i in self._log.items(start, stop)}
        parts = tuple(item_id for item_id in left if item_id not in gone)
        return Irreducible(
            f"{self._remaining(area)} tokens must stay and {self._tokens} are allowed; {len(parts)} items "
            "are instructions, summaries, pins, calls that wait, or the last message of the user",
            parts,
        )

    def _protected_positions(self) -> Iterable[int]:
        log, end = self._log, self._view.end
        yield from positions(log, "marks", 0, end)
        for head in self._view.shape.pins:
            yield from log.group(head, end)
        for call in self._view.pending():
            yield from log.group(self._view.position(call.id), end)
        last = last_user(log, end)
        if last is not None:
            yield last
