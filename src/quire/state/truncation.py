"""Truncation: leaving out the oldest items of a view, the one way to shrink that needs no model.

The cut falls where a turn of the user begins; only where the last turn alone is too large does it fall inside
that turn, between groups. Protected positions and summaries are never left out.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import accumulate

from quire.errors import Irreducible
from quire.items import Hide, Item
from quire.state.edits import covered_area, spans_of
from quire.state.shape import Interval, Run, contains, singles, subtracted, united, without
from quire.state.view import Scroll, View, checked_view, protected_positions
from quire.tokens import Counter, total_by, whole


def truncate(view: View, *, tokens: int, counter: Counter) -> Hide | None:
    """The edit that brings the view within a number of tokens, or `None` if it is.

    Raises `Irreducible` if it cannot be.
    """
    whole(tokens, "tokens", least=0)
    if checked_view(view).tokens(counter) <= tokens:
        return None
    cut = _Cut(view, tokens, counter)
    user = cut.turn()
    return Hide(spans_of(view.log, cut.inside_last_turn() if user is None else cut.before(user)))


def newest(view: View, *, tokens: int, counter: Counter) -> Scroll:
    """What truncating would leave shown, without an edit. Raises `Irreducible` if it cannot be."""
    whole(tokens, "tokens", least=0)
    if checked_view(view).tokens(counter) <= tokens:
        return Scroll(view=view)
    cut = _Cut(view, tokens, counter)
    user = cut.turn()
    if user is None:
        return _without_area(view, cut.inside_last_turn())
    return Scroll(cut.kept_before(user), view, view.index_of(user))


class _Cut:
    """The search for the place of the cut."""

    def __init__(self, view: View, tokens: int, counter: Counter) -> None:
        self._view = view
        self._log = view.log
        self._tokens = tokens
        self._counter = counter
        counted = view.counted(counter)
        # The largest sum of counts whose total is within the tokens; -1 where even nothing is too much.
        self._allowed = bisect_right(range(counted), tokens, key=partial(total_by, counter)) - 1
        self._surplus = counted - self._allowed
        self._protected = frozenset(protected_positions(view))
        places = (covered_area(view.log, p, view.end)[0][0] for p in view.shape.summaries)
        shown = (view.index_of(p) for p in self._protected if view.run_at(p) is not None)
        self._stays = sorted((*shown, *(view.index_of(place) - 1 for place in places)))
        self._staying = list(accumulate(map(self._weight, self._stays), initial=0))
        self._scattered = [
            sorted((head, *members))
            for head, members in view.log.scattered(view.end).items()
            if head not in self._protected and view.run_at(head) is not None
        ]

    def turn(self) -> int | None:
        """The message of the user before which enough can be left out, and no more than has to be."""
        users = self._log.positions("users", 0, self._view.end)
        first = bisect_left(users, self._surplus, key=self._saved_at_most)
        return next((u for u in users[first:] if self._view.run_at(u) and self._is_enough(u)), None)

    def before(self, user: int) -> list[Interval]:
        """All that is shown before a message of the user and may be left out, in whole groups."""
        runs = (run for run in self._view.runs() if run.start < user)
        shown = united((run.start, min(run.stop, user)) for run in runs)
        return without(shown, singles((*self._protected, *self._astride(user))))

    def kept_before(self, user: int) -> tuple[Item, ...]:
        """What stays of all that is shown before a message of the user."""
        index, view = self._view.index_of(user), self._view
        held = (view.index_of(p) for p in self._astride(user) if p < user)
        kept = sorted((*self._stays[: bisect_left(self._stays, index)], *held))
        return tuple(view[place] for place in kept)

    def inside_last_turn(self) -> list[Interval]:
        """What has to go where the last turn alone is too large: all before it, and its oldest groups."""
        user = self._log.last_user(self._view.end)
        area = [] if user is None else self.before(user)
        surplus = self._surplus - (0 if user is None else self._saved(user))
        for members in self._groups_from(user):
            if surplus <= 0:
                break
            surplus -= sum(self._weight(self._view.index_of(p)) for p in members)
            area += singles(members)
        if surplus > 0:
            raise self._irreducible(united(area), self._allowed + surplus)
        return united(area)

    def _weight(self, index: int) -> int:
        counted = self._view.counted_before
        return counted(index + 1, self._counter) - counted(index, self._counter)

    def _saved_at_most(self, user: int) -> int:
        """What leaving out all before a message of the user saves, if no group goes on after it."""
        index = self._view.index_of(user)
        stays = self._staying[bisect_left(self._stays, index)]
        return self._view.counted_before(index, self._counter) - stays

    def _saved(self, user: int) -> int:
        held = (self._weight(self._view.index_of(p)) for p in self._astride(user) if p < user)
        return self._saved_at_most(user) - sum(held)

    def _is_enough(self, user: int) -> bool:
        return self._saved(user) >= self._surplus

    def _astride(self, user: int) -> Iterator[int]:
        """Members of unprotected groups that are shown partly before a message of the user."""
        for members in self._scattered:
            if members[0] < user < members[-1]:
                yield from self._log.group(members[0], self._view.end)

    def _groups_from(self, user: int | None) -> Iterator[list[int]]:
        """The groups that may still be left out, oldest first: all that go on after a message of the user."""
        seen: set[int] = set()
        for position in (
            *(() if user is None else sorted(self._astride(user))),
            *self._shown_from(user or 0),
        ):
            head = self._log.head(position)
            if head not in seen:
                seen.add(head)
                members = self._log.group(head, self._view.end)
                if self._protected.isdisjoint(members):
                    yield members

    def _shown_from(self, start: int) -> Iterator[int]:
        return (p for run in self._view.runs() for p in range(max(run.start, start), run.stop))

    def _irreducible(self, area: Sequence[Interval], stays: int) -> Irreducible:
        gone = {item.id for start, stop in area for item in self._log.items(start, stop)}
        parts = tuple(item.id for item in self._view if item.id not in gone)
        return Irreducible(
            f"{total_by(self._counter, stays)} tokens must stay and {self._tokens} are allowed; "
            f"{len(parts)} items are instructions, summaries, pins, calls that wait, "
            "or what is to be answered",
            parts,
        )


def _without_area(view: View, area: Sequence[Interval]) -> Scroll:
    """What a view shows without an area of the log: a scroll over the view from where nothing is left out."""
    before: list[Item] = []
    since: list[Run] = []  # the runs since the last one of which something was left out
    start = index = 0
    for run in view.runs():
        parts = _parts(run, area)
        if parts == [run]:
            since.append(run)
        else:
            before += (item for kept in since for item in view.shown_by(kept))
            rest = parts.pop() if parts and parts[-1].stop == run.stop else None
            before += (item for kept in parts for item in view.shown_by(kept))
            since = [] if rest is None else [rest]
            start = index + (run.width if rest is None else rest.start - run.start)
        index += run.width
    return Scroll(tuple(before), view, start)


def _parts(run: Run, area: Sequence[Interval]) -> list[Run]:
    """What is left of a run."""
    if run.start == run.stop:
        return [run]
    if run.stand_in is not None:
        return [] if contains(area, run.start) else [run]
    return [Run(start, stop) for start, stop in subtracted((run.start, run.stop), area)]
