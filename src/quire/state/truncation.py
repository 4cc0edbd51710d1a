"""Leaving out the oldest: the one way to shrink that needs no words.

The cut falls where a turn of the user begins; only when the last turn alone is too large does it fall inside
that turn, between groups. Instructions, configuration, handoffs, summaries, pins, calls that wait, the last
message of the user and a result that was not answered yet are never left out.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import partial

from quire.errors import Irreducible
from quire.items import Hide
from quire.state.active import spans_of
from quire.state.judging import last_user
from quire.state.log import Log
from quire.state.positions import first_position, positions
from quire.state.saving import Savings
from quire.state.scroll import Scroll, without
from quire.state.shape import Interval, Run, contains, subtracted, united
from quire.state.staying import must_stay
from quire.state.view import View, checked_view
from quire.tokens import Counter
from quire.tokens.asking import total_by
from quire.tokens.numbers import whole


def truncate(view: View, *, tokens: int, counter: Counter) -> Hide | None:
    """The edit that brings the view within a number of tokens, or none if it is.

    `Irreducible` if it cannot be.
    """
    whole(tokens, "tokens", least=0)
    checked_view(view)
    if view.tokens(counter) <= tokens:
        return None
    return Hide(spans_of(view.log, _Cut(view, tokens, counter).area()))


def newest(view: View, *, tokens: int, counter: Counter) -> Scroll:
    """What truncating would leave shown, for one who may not edit. `Irreducible` if it cannot be."""
    whole(tokens, "tokens", least=0)
    if checked_view(view).tokens(counter) <= tokens:
        return Scroll(view=view)
    return without(view, _Cut(view, tokens, counter).area())


class _Cut:
    """The search for the place of the cut."""

    def __init__(self, view: View, tokens: int, counter: Counter) -> None:
        self._view = view
        self._log = view.log
        self._tokens = tokens
        self._counter = counter
        self._counted = view.counted(counter)
        # The largest sum of counts whose total is within the tokens; -1 where even nothing is too much.
        self._allowed = bisect_right(range(self._counted), tokens, key=partial(total_by, counter)) - 1
        self._runs = [run for run in view.runs() if run.stop > run.start]
        # What a stub counts beyond the content it stands for: less than nothing, as a rule.
        self._stub_tokens = {
            run.start: view.run_tokens(run, counter) - self._log.tokens(run.start, run.stop, counter)
            for run in self._runs
            if run.stand_in is not None
        }
        self._masked = sorted(self._stub_tokens)
        self._protected = united((p, p + 1) for p in must_stay(view))
        self._savings = Savings(view, self._runs, counter, self._protected)

    def area(self) -> list[Interval]:
        """What has to go."""
        area = self._area_of_turns()
        if area is None:
            area = self._area_inside_last_turn(last_user(self._log, self._view.end))
        return area

    def _area_of_turns(self) -> list[Interval] | None:
        """The least that can be left out in whole turns to be enough, if that can be."""
        # Protected items only make a cut save less, so the right one lies between the cut that would be
        # enough without them and the one that would be enough if all of them stood before it.
        users = self._users_between(self._place_saving(0), self._place_saving(self._savings.most_kept))
        surplus = self._counted - self._allowed
        index = bisect_left(users, surplus, key=self._savings.before)
        return self._area_before(users[index]) if index < len(users) else None

    def _place_saving(self, kept: int) -> tuple[int, int]:
        """The first run and position such that leaving out all before, but for `kept` tokens, is enough."""
        surplus = self._counted + kept - self._allowed
        for index, run in enumerate(self._runs):
            size = self._view.run_tokens(run, self._counter)
            if size >= surplus:
                position = _reaching(self._log, run, surplus, self._counter)
                return index, run.stop if run.stand_in is not None else position
            surplus -= size
        return len(self._runs), self._view.end

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

    def _area_tokens(self, area: Sequence[Interval]) -> int:
        tokens = sum(self._log.tokens(start, stop, self._counter) for start, stop in area)
        if self._masked:
            masks = (p for start, stop in area for p in self._masks_between(start, stop))
            tokens += sum(self._stub_tokens[position] for position in masks)
        return tokens

    def _masks_between(self, start: int, stop: int) -> list[int]:
        return self._masked[bisect_left(self._masked, start) : bisect_left(self._masked, stop)]

    def _area_before(self, user: int) -> list[Interval]:
        """All that is shown before a message of the user and may be left out, in whole groups."""
        before: list[Interval] = []
        for run in self._runs:
            if run.start <= user < run.stop:
                before.append((run.start, user))
                break
            before.append((run.start, run.stop))
        area = [part for interval in united(before) for part in subtracted(interval, self._protected)]
        astride = united((p, p + 1) for p in self._savings.astride(user))
        return [part for interval in area for part in subtracted(interval, astride)] if astride else area

    def _area_inside_last_turn(self, user: int | None) -> list[Interval]:
        area = self._area_before(user) if user is not None else []
        surplus = self._counted - self._area_tokens(area) - self._allowed
        gone: list[Interval] = []
        for members in self._groups_outside(area):
            if surplus <= 0:
                break
            group = united((p, p + 1) for p in members)
            surplus -= self._area_tokens(group)
            gone += group
        area = united([*area, *gone])
        if surplus > 0:
            raise self._irreducible(area)
        return area

    def _groups_outside(self, area: Sequence[Interval]) -> Iterator[list[int]]:
        """The groups that may still be left out, oldest first."""
        heads: dict[int, None] = {}
        for run in self._runs:
            for start, stop in subtracted((run.start, run.stop), area):
                heads.update(dict.fromkeys(self._log.head(p) for p in range(start, stop)))
        for head in heads:
            members = self._log.group(head, self._view.end)
            if not any(contains(self._protected, p) for p in members):
                yield members

    def _irreducible(self, area: Sequence[Interval]) -> Irreducible:
        gone = {i.id for start, stop in area for i in self._log.items(start, stop)}
        parts = tuple(item.id for item in self._view if item.id not in gone)
        stays = total_by(self._counter, self._counted - self._area_tokens(area))
        return Irreducible(
            f"{stays} tokens must stay and {self._tokens} are allowed; {len(parts)} items "
            "are instructions, summaries, pins, calls that wait, or what is to be answered",
            parts,
        )


def _reaching(log: Log, run: Run, tokens: int, counter: Counter) -> int:
    """The first position such that the items of a run before it have this many tokens."""
    for segment, a, b in log.pieces(run.start, run.stop):
        sums = segment.count(counter, b)
        if sums[b] - sums[a] >= tokens:
            return segment.start + bisect_left(sums, sums[a] + tokens, a, b)
        tokens -= sums[b] - sums[a]
    return run.stop
