"""Cutting: leaving out the oldest items of a view or a list, in whole groups.

The cut falls where a turn of the user begins. Only where the last turn alone is too large does it fall inside
that turn, between groups. Instructions, configuration, handoffs, summaries, pins, pending calls, the last user
message and a result that nobody answered yet are never left out. A group that goes on after the cut stays whole.
"""

from abc import abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from itertools import accumulate
from typing import NamedTuple

from quire.errors import Irreducible
from quire.items import Hide, Item, Message, Span, ToolResult
from quire.state.astride import shown_astride
from quire.state.groups import Answers
from quire.state.growing import keep, memos
from quire.state.log import EDIT
from quire.state.positions import positions
from quire.state.scroll import Scroll
from quire.state.selection import structural
from quire.state.shape import Run, Shape
from quire.state.staying import must_stay
from quire.state.view import View, checked_view
from quire.tokens import MOST, Counter, total_by, whole

Count = Callable[[Item], int]


def truncate(view: View, *, tokens: int, counter: Counter) -> Hide | None:
    """Return the edit that brings the view within a number of tokens, or None if it already is.

    Raises `Irreducible` if the items that must stay take more.
    """
    cut = _cut_of(view, tokens, counter, closely=False)
    if cut is None:
        return None
    row, index = cut
    return Hide(row.spans_left_out(index))


def newest(view: View, *, tokens: int, counter: Counter, closely: bool = False) -> Scroll:
    """Return what `truncate` would leave, without an edit.

    With `closely` the cut may fall between any two groups, so that no more goes than has to.
    """
    cut = _cut_of(view, tokens, counter, closely)
    if cut is None:
        return Scroll(view=view)
    row, index = cut
    return row.scroll(index)


def newest_from(view: View, index: int) -> Scroll:
    """Return what a view shows from an index on, the rest of the groups there, and what must stay."""
    return _ViewRow(view, _Nothing()).scroll(index)


def newest_items(
    items: Sequence[Item],
    *,
    tokens: int,
    count: Count,
    stays: Collection[str] | None = None,
    closely: bool = False,
) -> tuple[Item, ...]:
    """Return the newest items of a list, as `newest` does for a view.

    `stays` are the ids of items that must stay because of the view that the list is from. Without them the last
    user message and a last result stay.
    """
    row = _ListRow(items, count, stays)
    surplus = row.counted - tokens
    return tuple(items) if surplus <= 0 else row.kept(row.place(surplus, tokens, closely))


def newest_items_from(
    items: Sequence[Item], index: int, stays: Collection[str] | None = None
) -> tuple[Item, ...]:
    """Return the items from an index on, the rest of the groups there, and what must stay."""
    return _ListRow(items, _nothing, stays).kept(index)


def protected_items(items: Sequence[Item], stays: Collection[str] | None = None) -> list[Item]:
    """Return the items of a list that no cut leaves out."""
    return list(_ListRow(items, _nothing, stays).kept(len(items)))


def without_last(view: View) -> View | list[Item]:
    """Return all but the last item: as a view if that item was recorded last, else as a list."""
    if view.end <= view.shape.tail:
        return view[:-1]  # an edit came after it
    pending = tuple(view.position(call.id) for call in view.pending())
    return View(view.log, view.shape, view.end - 1, pending)


class _Nothing:
    key = "quire.nothing"

    def count(self, item: Item) -> int:
        return 0

    def total(self, counted: int) -> int:
        return 0


def _nothing(item: Item) -> int:
    return 0


class _Row:
    """Items in order, with the places where a cut may fall."""

    length: int
    turn_count: int

    @abstractmethod
    def turn(self, number: int) -> int:
        """Return the index at which a turn of the user begins."""

    @abstractmethod
    def unprotected_before(self, index: int) -> int:
        """Return the tokens of all unprotected items before an index."""

    @abstractmethod
    def gone_before(self, index: int) -> int:
        """Return the tokens of all unprotected groups that end before an index."""

    @abstractmethod
    def protected(self) -> Sequence[Item]:
        """Return the items that no cut leaves out."""

    def place(self, surplus: int, tokens: int, closely: bool) -> int:
        """Return the first index before which at least `surplus` tokens can be left out."""
        turns = 0 if closely else self.turn_count
        within = range(self.turn(turns - 1) if turns else 0, self.length + 1)
        for count, index_of in ((turns, self.turn), (len(within), within.__getitem__)):
            # Groups that go on after the index are rare, so few indexes have to be tried.
            number = bisect_left(range(count), surplus, key=lambda n: self.unprotected_before(index_of(n)))
            while number < count:
                if self.gone_before(index := index_of(number)) >= surplus:
                    return index
                number += 1
        parts = tuple(item.id for item in self.protected())
        raise Irreducible(
            f"{tokens + surplus - self.gone_before(self.length):,} tokens must stay, and there is room for "
            f"{tokens:,}: {len(parts)} items are instructions, summaries, pins, pending calls or the message "
            "to be answered",
            parts,
        )


class _ListRow(_Row):
    """A plain list, measured from its first item to its last."""

    def __init__(self, items: Sequence[Item], count: Count, stays: Collection[str] | None) -> None:
        self._items = items
        self.length = len(items)
        self._turns = [index for index, item in enumerate(items) if is_user_message(item)]
        self.turn_count = len(self._turns)
        answers = Answers(items)
        self._heads = answers.heads
        self._ends = {head: index + 1 for index, head in enumerate(self._heads)}
        self._protected = {self._heads[index] for index in self._protected_indexes(answers, stays)}
        freed = [0] * (self.length + 1)
        self.counted = 0
        for item, head in zip(items, self._heads, strict=True):
            size = count(item)
            self.counted += size
            if head not in self._protected:
                freed[self._ends[head]] += size
        self._gone = list(accumulate(freed))

    def turn(self, number: int) -> int:
        return self._turns[number]

    def unprotected_before(self, index: int) -> int:
        return self._gone[index]

    def gone_before(self, index: int) -> int:
        return self._gone[index]

    def protected(self) -> Sequence[Item]:
        return self.kept(self.length)

    def kept(self, index: int) -> tuple[Item, ...]:
        """Return what stays where the cut falls before an index."""
        pairs = zip(self._items, self._heads, strict=True)
        return tuple(item for item, head in pairs if head in self._protected or self._ends[head] > index)

    def _protected_indexes(self, answers: Answers, stays: Collection[str] | None) -> Iterator[int]:
        yield from (index for calls in answers.waiting.values() for index, _ in calls)
        for index, item in enumerate(self._items):
            if structural(item) or (stays is not None and item.id in stays):
                yield index
        if stays is None:
            yield from self._turns[-1:]
            if self._items and isinstance(self._items[-1], ToolResult):
                yield self.length - 1


class _Placed(NamedTuple):
    """An item as it is shown: at which index, and for how many tokens."""

    place: int
    tokens: int
    item: Item


class _Measured(NamedTuple):
    """The runs of one shape but its tail, with running sums; they are the same until the next edit."""

    shape: Shape
    runs: list[Run]
    indexes: list[int]  # how many items are shown before each run, and last before the tail
    counts: list[int]  # the tokens before each run, and last before the tail
    numbers: dict[int, int]  # by the first position of a run, which run it is
    turns: list[int]  # the positions of the user messages, as far as anybody has looked
    seen: list[tuple[int, int]]  # up to which position anybody looked, and how many turns there were
    summaries: list[_Placed]
    known: dict[int, _Placed | None]  # what protected positions are shown as


class _ViewRow(_Row):
    """A view, of which nothing is measured again but what was appended since the last edit."""

    def __init__(self, view: View, counter: Counter) -> None:
        self._view, self._log, self._counter = view, view.log, counter
        self.length = len(view)
        self._measured = measured = _measured(view, counter)
        self._tail = measured.shape.tail
        end, count = measured.seen[-1]
        if end < view.end:
            more = positions(view.log, "users", end, view.end)
            measured.turns[count : count + len(more)] = more  # another thread may write the same here
            measured.seen.append((view.end, count + len(more)))
        self.turn_count = bisect_left(measured.turns, view.end, measured.seen[0][1])
        self._protected_positions = frozenset(must_stay(view))
        known = measured.known
        for position in self._protected_positions:
            if position not in known:
                known[position] = self._shown(position)
        found = (shown for p in self._protected_positions if (shown := known[p]) is not None)
        self._protected = sorted((*measured.summaries, *found), key=lambda one: one.place)
        self._stay = list(accumulate((one.tokens for one in self._protected), initial=0))

    def turn(self, number: int) -> int:
        index = self._index(self._measured.turns[number])
        assert index is not None  # turns are shown
        return index

    def unprotected_before(self, index: int) -> int:
        return self._counted_before(index) - self._stay[bisect_left(self._protected, index, key=_place_of)]

    def gone_before(self, index: int) -> int:
        return self.unprotected_before(index) - sum(one.tokens for one in self._held(index))

    def protected(self) -> Sequence[Item]:
        return [one.item for one in self._protected]

    def scroll(self, index: int) -> Scroll:
        """Return what stays where the cut falls before an index."""
        kept = [*self._protected[: bisect_left(self._protected, index, key=_place_of)], *self._held(index)]
        return Scroll(tuple(one.item for one in sorted(kept, key=_place_of)), self._view, index)

    def spans_left_out(self, index: int) -> tuple[Span, ...]:
        """Return the spans of what goes where the cut falls before an index."""
        held = {one.item.id for one in self._held(index)}
        stays = sorted({*self._protected_positions, *map(self._view.position, held)})
        spans: list[tuple[int, int]] = []
        for start, stop in sorted(self._stretches(index)):
            for kept in (*stays[bisect_left(stays, start) : bisect_left(stays, stop)], stop):
                if spans and start < kept and spans[-1][1] == start:
                    spans[-1] = (spans[-1][0], kept)
                elif start < kept:
                    spans.append((start, kept))
                start = kept + 1
        return tuple(Span(self._log.item(start).id, self._log.item(stop - 1).id) for start, stop in spans)

    def _stretches(self, index: int) -> Iterator[tuple[int, int]]:
        """Yield the stretches of the log that are shown before an index."""
        measured = self._measured
        for run, before in zip(measured.runs, measured.indexes, strict=False):
            if before >= index:
                return
            yield run.start, run.stop if run.stand_in else min(run.stop, run.start + index - before)
        if index > measured.indexes[-1]:
            yield self._tail, self._tail + index - measured.indexes[-1]

    def _held(self, index: int) -> list[_Placed]:
        """Return the unprotected items before an index whose groups go on from there."""
        if not 0 < index < self.length:
            return []
        place = self._view.place_at(index)
        groups = list(shown_astride(self._log, self._view.end, place))
        position = place[1]
        if position >= 0 and self._log.head(position) not in (EDIT, position):
            groups.append(self._log.group(position, self._view.end))
        members = {p for group in groups if group[0] not in self._protected_positions for p in group}
        return [shown for p in members if (shown := self._shown(p)) is not None and shown.place < index]

    def _shown(self, position: int) -> _Placed | None:
        """Return how a position is shown, if it is."""
        index = self._index(position)
        if index is None:
            return None
        run = self._view.run_at(position)
        if run is not None and run.stand_in is not None:
            return _Placed(index, self._view.run_tokens(run, self._counter), run.stand_in)
        return _Placed(
            index, self._log.tokens(position, position + 1, self._counter), self._log.item(position)
        )

    def _index(self, position: int) -> int | None:
        """Return the index at which a position is shown, if it is."""
        if position >= self._tail:
            return self._measured.indexes[-1] + position - self._tail
        run = self._view.run_at(position)
        if run is None:
            return None
        before = self._measured.indexes[self._measured.numbers[run.start]]
        return before if run.stand_in is not None else before + position - run.start

    def _counted_before(self, index: int) -> int:
        measured = self._measured
        number = bisect_right(measured.indexes, index) - 1
        before, inside = measured.counts[number], index - measured.indexes[number]
        start = self._tail if number == len(measured.runs) else measured.runs[number].start
        return before + (self._log.tokens(start, start + inside, self._counter) if inside else 0)


def _cut_of(view: View, tokens: int, counter: Counter, closely: bool) -> tuple[_ViewRow, int] | None:
    """Return the view as a row and the index of the cut, or None if nothing has to go."""
    whole(tokens, "tokens", least=0)
    if checked_view(view).tokens(counter) <= tokens:
        return None
    row = _ViewRow(view, counter)
    return row, row.place(view.counted(counter) - largest_sum(tokens, counter), tokens, closely)


def largest_sum(tokens: int, counter: Counter) -> int:
    """Return the largest sum of counts whose total is within so many tokens; -1 if there is none."""
    framing = total_by(counter, 0)
    if framing > tokens:
        return -1
    most = tokens - framing
    if total_by(counter, most) == tokens < total_by(counter, most + 1):
        return most
    enough = max(tokens, 1)
    while enough < MOST and total_by(counter, enough) <= tokens:
        enough *= 2
    return bisect_right(range(min(enough, MOST) + 1), tokens, key=partial(total_by, counter)) - 1


def _measured(view: View, counter: Counter) -> _Measured:
    key = (_Measured, counter.key)
    known = memos(view).get(key)
    if isinstance(known, _Measured) and known.shape is view.shape:
        return known
    runs: list[Run] = []
    indexes, counts, turns, summaries = [0], [0], list[int](), list[_Placed]()
    for run in view.runs():
        if run.stop > run.start and run.start >= view.shape.tail:
            break  # the tail, which grows
        tokens = view.run_tokens(run, counter)
        if run.start < run.stop:
            turns.extend(positions(view.log, "users", run.start, run.stop))
        elif run.stand_in is not None:
            summaries.append(_Placed(indexes[-1], tokens, run.stand_in))
        runs.append(run)
        indexes.append(indexes[-1] + run.width)
        counts.append(counts[-1] + tokens)
    numbers = {run.start: number for number, run in enumerate(runs) if run.start < run.stop}
    seen = [(view.shape.tail, len(turns))]
    found = _Measured(view.shape, runs, indexes, counts, numbers, turns, seen, summaries, {})
    keep(view, key, found)
    return found


def _place_of(one: _Placed) -> int:
    return one.place


def is_user_message(item: Item) -> bool:
    """Whether an item is a message of the user, with which a turn begins."""
    return isinstance(item, Message) and item.role == "user"
