"""Cuts: they leave out the oldest items of a view or a list, in whole groups.

A cut is made before a user message. Only if the last turn alone is too large is it made inside that turn,
between groups. Protected items always stay: instructions, summaries, pins, pending calls, the last user
message, and a result that the model has not answered yet. A group that continues after the cut stays whole.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate, chain
from typing import NamedTuple

from quire.errors import Irreducible
from quire.items import Hide, Item, Span
from quire.state.groups import Grouping, is_structural, is_user_message
from quire.state.log import PAGE, Log, Segment
from quire.state.shape import Shape, singles, united, without
from quire.state.view import Scroll, View, protected_positions
from quire.tokens import Counter, largest_sum, whole


class Cut(NamedTuple):
    """Where a history is cut: the ids of the first item that is shown, and of the first that is shown whole.

    Results between these are shortened to about `size` tokens. Without a `first` nothing is left out.
    `last` is the id of the last item when the cut was made; `ledger` is the most tokens of a ledger.
    """

    first: str
    first_whole: str
    last: str
    size: int
    ledger: int = 0


def truncate(view: View, *, tokens: int, counter: Counter) -> Hide | None:
    """The edit that reduces a view to at most `tokens`, or `None` if it needs none.

    Raises `Irreducible` if the protected items take more.
    """
    if view.tokens(counter) <= whole(tokens, "tokens", least=0):
        return None
    cut = _cut_of(view)
    return Hide(cut.spans(cut.place(tokens, counter)))


def newest(
    content: View | Sequence[Item],
    *,
    tokens: int,
    counter: Counter,
    stays: Collection[str] | None = None,
    closely: bool = False,
) -> Scroll:
    """What `truncate` would leave of a view or a list, without an edit.

    For a list, `stays` are the ids of its protected items; without them the last user message and a last
    result are protected. With `closely` the cut may be between any two groups, so that it leaves out no more
    than it must.
    """
    view = content if isinstance(content, View) else view_of_list(content)
    if view.tokens(counter) <= tokens:
        return Scroll(view=view)
    cut = _cut_of(view, stays, keeps_question=not closely)
    return cut.scroll(cut.place(tokens, counter, closely))


def keep_newest(
    items: Sequence[Item],
    at_least: int,
    prefer: int,
    at_most: int,
    *,
    counter: Counter,
    stays: Collection[str],
) -> Scroll:
    """The newest turns of a list, the fewest that have `at_least` tokens together, and the items `stays`.

    If they have more than `prefer`, the oldest of them is cut between groups, and its user message stays. The
    group at the cut stays unless the result then exceeds `at_most` tokens.
    """
    cut = _cut_of(view_of_list(items), stays, keeps_question=True)
    return cut.scroll(cut.place_newest(at_least, prefer, at_most, counter))


def newest_since(view: View, item_id: str, stays: Collection[str] | None = None) -> Scroll | None:
    """What is shown if the cut is before an item, as it was in an earlier turn; None if that item is gone."""
    position = view.log.find(item_id, view.end)
    return None if position is None else _cut_of(view, stays, keeps_question=True).scroll(position)


def newest_from(content: View | Sequence[Item], index: int, stays: Collection[str] | None = None) -> Scroll:
    """The items from an index on, the rest of their groups, and all protected items."""
    view = content if isinstance(content, View) else view_of_list(content)
    return _cut_of(view, stays).scroll(view.position_at(index))


def without_last(view: View) -> View | list[Item]:
    """All but the last item, as a view unless an edit came after that item."""
    if view.end <= view.shape.tail:
        return view[:-1]
    return View(view.log, view.shape, view.end - 1, view.open_calls())


def view_of_list(items: Sequence[Item]) -> View:
    """A view of a list, in which every item is content."""
    segment, grouping = Segment(0), Grouping()
    for position, item in enumerate(items):
        segment.record(item, grouping.add(item, position))
    return View(Log((segment,)), Shape(), len(items), grouping.open_calls())


def _cut_of(view: View, stays: Collection[str] | None = None, *, keeps_question: bool = False) -> "_Cut":
    if stays is None:
        return _Cut(view, protected_positions(view), keeps_question)
    log, end = view.log, view.end
    protected = (p for p, item in enumerate(log.items(0, end)) if item.id in stays or is_structural(item))
    heads = {log.head(position) for position in (*protected, *view.open_calls())}
    return _Cut(view, (position for head in heads for position in log.group(head, end)), keeps_question)


class _Cut:
    """The search for the position of a cut in a view with protected items.

    With `keeps_question`, a turn that is cut inside keeps its user message.
    """

    def __init__(self, view: View, protected: Iterable[int], keeps_question: bool) -> None:
        self._view, self._log = view, view.log
        self._protected = frozenset(protected)
        self._keeps_question = keeps_question
        shown = (view.index_of(p) for p in self._protected if view.run_at(p) is not None)
        summaries = (view.index_of(run.start) - 1 for run in view.shape.summaries())
        self._protected_indexes = sorted((*shown, *summaries))  # in the view

    def place(self, tokens: int, counter: Counter, closely: bool = False) -> int:
        """The first position before which enough tokens can be left out."""
        view, end, sums = self._view, self._view.end, _Sums(self._view, self._protected_indexes, counter)
        surplus = sums.total - largest_sum(tokens, counter)
        first = sums.first_after(surplus)
        turns = (p for p in self._log.positions("users", first, end) if view.run_at(p) is not None)
        in_last_turn = range(max(first, self._log.last_user(end) or 0), end + 1)
        for position in range(first, end + 1) if closely else chain(turns, in_last_turn):
            if sums.left_out(position, self._held_before(position)) >= surplus:
                return position
        raise self._irreducible(tokens, sums)

    def place_newest(self, at_least: int, prefer: int, at_most: int, counter: Counter) -> int:
        """The position of the cut of `keep_newest`."""
        log, end, sums = self._log, self._view.end, _Sums(self._view, self._protected_indexes, counter)
        # Protected items alone may have more than `at_least`.
        first = min(sums.first_after(sums.total - at_least), end)

        def shown(position: int) -> int:
            return sums.total - sums.left_out(position, self._held_before(position))

        turn = log.last_user(first)
        if turn is not None and self._view.run_at(turn) is not None and shown(turn) <= prefer:
            return turn
        if first > 0 and shown(log.head(first - 1)) <= at_most:
            return log.head(first - 1)
        for position in range(first, end + 1):
            if shown(position) <= at_most:
                return position
        raise self._irreducible(at_most, sums)

    def _irreducible(self, tokens: int, sums: "_Sums") -> Irreducible:
        parts = tuple(self._view[index].id for index in self._protected_indexes)
        return Irreducible(
            f"{sums.protected:,} tokens must stay, and there is room for {tokens:,}: "
            f"{len(parts)} items are instructions, summaries, pins, pending calls or the message to answer",
            parts,
        )

    def scroll(self, position: int) -> Scroll:
        """What stays if the cut is before a position."""
        start = self._view.index_of(position)
        protected = self._protected_indexes[: bisect_left(self._protected_indexes, start)]
        before = sorted((*protected, *self._held_before(position)))
        return Scroll(tuple(self._view[index] for index in before), self._view, start)

    def spans(self, position: int) -> tuple[Span, ...]:
        """The spans that are left out if the cut is before a position."""
        runs = (run for run in self._view.runs() if run.start < position)
        shown = united((run.start, min(run.stop, position)) for run in runs)
        return self._log.spans(without(shown, singles((*self._protected, *self._held(position)))))

    def _held_before(self, position: int) -> list[int]:
        """The indexes of items before a position that stay because their group continues after it."""
        return [self._view.index_of(held) for held in self._held(position) if held < position]

    def _held(self, position: int) -> Iterator[int]:
        """The positions of unprotected items that stay with the items from a position on.

        These are the groups with members on both sides of it and, with `keeps_question`, the user message of
        the turn.
        """
        log, view = self._log, self._view
        around = {log.head(position)} if position < view.end else set[int]()
        for head in around.union(log.detached_members(position, view.end)):
            if head < position and head not in self._protected and view.run_at(head) is not None:
                members = log.group(head, view.end)
                if position <= members[-1]:
                    yield from members
        start = view.index_of(position)
        if self._keeps_question and start < len(view) and not is_user_message(view[start]):
            question = log.last_user(position)
            if question is not None and question not in self._protected and view.run_at(question) is not None:
                yield question


class _Sums:
    """The tokens of a view: all, the protected ones, and those that a cut at a position leaves out."""

    def __init__(self, view: View, protected_indexes: Sequence[int], counter: Counter) -> None:
        self._view, self._protected_indexes = view, protected_indexes
        self._before = partial(view.counted_before, counter=counter)
        self._protected_sums = list(accumulate(map(self._size, protected_indexes), initial=0))
        self.total = view.counted(counter)
        self.protected = counter.total(self._protected_sums[-1])

    def _size(self, index: int) -> int:
        return self._before(index + 1) - self._before(index)

    def unprotected_before(self, position: int) -> int:
        """The tokens of the unprotected items before a position."""
        index = self._view.index_of(position)
        return self._before(index) - self._protected_sums[bisect_left(self._protected_indexes, index)]

    def first_after(self, amount: int) -> int:
        """The first position with at least `amount` unprotected tokens before it, or the end plus one.

        The page is searched first: where a page begins, the sum is known without loading it.
        """
        places = range(self._view.end + 1)
        page = bisect_left(places[::PAGE], amount, key=self.unprotected_before)
        low, high = max((page - 1) * PAGE, 0), min(page * PAGE, len(places))
        return bisect_left(places, amount, low, high, key=self.unprotected_before)

    def left_out(self, position: int, held: Iterable[int]) -> int:
        """The tokens that a cut before a position leaves out if it holds some indexes before it."""
        return self.unprotected_before(position) - sum(map(self._size, held))
