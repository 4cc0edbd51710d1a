"""Leaving out the oldest: the one way to shrink that needs no words.

The cut falls where a turn of the user begins; only when the last turn alone is too large does it fall inside
that turn, between groups. Instructions, configuration, handoffs, summaries, pins, calls that wait, the last
message of the user and a result that was not answered yet are never left out.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import partial

from quire.errors import Irreducible
from quire.items import Hide
from quire.state.active import spans_of
from quire.state.judging import last_user
from quire.state.saving import Savings
from quire.state.scroll import Scroll, without
from quire.state.shape import Interval, first_after, subtracted, united
from quire.state.staying import must_stay
from quire.state.view import View, checked_view
from quire.tokens import Counter, total_by, whole


def truncate(view: View, *, tokens: int, counter: Counter) -> Hide | None:
    """The edit that brings the view within a number of tokens, or none if it is.

    `Irreducible` if it cannot be.
    """
    whole(tokens, "tokens", least=0)
    checked_view(view)
    if view.tokens(counter) <= tokens:
        return None
    cut = _Cut(view, tokens, counter)
    user = cut.turn()
    return Hide(spans_of(view.log, cut.inside_last_turn() if user is None else cut.before(user)))


def newest(view: View, *, tokens: int, counter: Counter) -> Scroll:
    """What truncating would leave shown, for one who may not edit. `Irreducible` if it cannot be."""
    whole(tokens, "tokens", least=0)
    if checked_view(view).tokens(counter) <= tokens:
        return Scroll(view=view)
    cut = _Cut(view, tokens, counter)
    user = cut.turn()
    if user is None:
        return without(view, cut.inside_last_turn())
    return Scroll(cut.savings.kept_before(user), view, cut.savings.scale.index(user))


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
        self._protected = frozenset(must_stay(view))
        self.savings = Savings(view, counter, self._protected)

    def turn(self) -> int | None:
        """The message of the user before which enough can be left out, and no more than has to be."""
        return self.savings.least(self._counted - self._allowed)

    def before(self, user: int) -> list[Interval]:
        """All that is shown before a message of the user and may be left out, in whole groups."""
        before: list[Interval] = []
        for run in self._view.runs():
            if run.start <= user < run.stop:
                before.append((run.start, user))
                break
            before.append((run.start, run.stop))
        stays = united((p, p + 1) for p in (*self._protected, *self.savings.astride(user)))
        return [part for interval in united(before) for part in subtracted(interval, stays)]

    def inside_last_turn(self) -> list[Interval]:
        """What has to go where the last turn alone is too large: all before it, and its oldest groups."""
        user = last_user(self._log, self._view.end)
        area = self.before(user) if user is not None else []
        left_out = self.savings.before(user).tokens if user is not None else 0
        surplus = self._counted - left_out - self._allowed
        gone: list[Interval] = []
        for members in self._groups_from(user):
            if surplus <= 0:
                break
            surplus -= sum(map(self.savings.scale.weight, members))
            gone += ((p, p + 1) for p in members)
        area = united([*area, *gone])
        if surplus > 0:
            raise self._irreducible(area, self._allowed + surplus)
        return area

    def _groups_from(self, user: int | None) -> Iterator[list[int]]:
        """The groups that may still be left out, oldest first: all that go on after a message of the user."""
        seen: set[int] = set()
        for position in self._shown_from(user):
            head = self._log.head(position)
            if head not in seen:
                seen.add(head)
                members = self._log.group(head, self._view.end)
                if self._protected.isdisjoint(members):
                    yield members

    def _shown_from(self, user: int | None) -> Iterator[int]:
        """The positions that are shown from a message of the user on, after those of groups it comes into."""
        if user is None:
            for run in self._view.runs():
                yield from range(run.start, run.stop)
            return
        place, scale = self.savings.place(user), self.savings.scale
        yield from (position for _, position in sorted(map(self.savings.place, self.savings.astride(user))))
        for _, run, _ in scale.runs_from(scale.before(user)):
            yield from range(first_after(run.start, run.stop, place, self._log.time), run.stop)

    def _irreducible(self, area: Sequence[Interval], stays: int) -> Irreducible:
        gone = {i.id for start, stop in area for i in self._log.items(start, stop)}
        parts = tuple(item.id for item in self._view if item.id not in gone)
        return Irreducible(
            f"{total_by(self._counter, stays)} tokens must stay and {self._tokens} are allowed; "
            f"{len(parts)} items are instructions, summaries, pins, calls that wait, "
            "or what is to be answered",
            parts,
        )
