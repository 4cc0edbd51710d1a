"""Cutting: leaving out the oldest items of a view or a list, in whole groups.

The cut falls where a turn of the user begins. Only where the last turn alone is too large does it fall inside
that turn, between groups. Protected items are never left out: instructions, summaries, pins, pending calls,
the last user message and a result that nobody answered yet. A group that goes on after the cut stays whole.
"""

from abc import abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from itertools import accumulate, chain, islice

from quire.errors import Irreducible
from quire.items import Hide, Item, Message, Span, ToolResult
from quire.state.edits import covered_area, spans_of
from quire.state.groups import Answers
from quire.state.select import structural
from quire.state.shape import singles, united, without
from quire.state.view import Scroll, View, checked_view, protected_positions
from quire.tokens import MOST, Counter, total_by, whole

Count = Callable[[Item], int]


def truncate(view: View, *, tokens: int, counter: Counter) -> Hide | None:
    """The edit that brings the view within a number of tokens, or `None` if it is.

    Raises `Irreducible` if the protected items take more.
    """
    if _fits(view, tokens, counter):
        return None
    row = _ViewRow(view, counter)
    return Hide(row.spans_before(row.cut(view.counted(counter), tokens, counter)))


def newest(view: View, *, tokens: int, counter: Counter, closely: bool = False) -> Scroll:
    """What `truncate` would leave, without an edit.

    With `closely` the cut may fall between any two groups, so that no more goes than has to.
    """
    if _fits(view, tokens, counter):
        return Scroll(view=view)
    row = _ViewRow(view, counter)
    return row.scroll(row.cut(view.counted(counter), tokens, counter, closely))


def newest_from(view: View, index: int) -> Scroll:
    """What a view shows from an index on, the rest of the groups there, and all that is protected."""
    return _ViewRow(view, _Nothing()).scroll(index)


def newest_items(
    items: Sequence[Item],
    *,
    tokens: int,
    counter: Counter,
    stays: Collection[str] | None = None,
    closely: bool = False,
) -> tuple[Item, ...]:
    """The newest items of a list, as `newest` gives those of a view.

    `stays` are the ids that the view protects which the list is from. Without them the last user message and
    a last result are protected.
    """
    row = _ListRow(items, counter.count, stays)
    is_within = total_by(counter, row.counted) <= tokens
    return tuple(items) if is_within else row.kept(row.cut(row.counted, tokens, counter, closely))


def newest_items_from(
    items: Sequence[Item], index: int, stays: Collection[str] | None = None
) -> tuple[Item, ...]:
    """The items from an index on, the rest of the groups there, and all that is protected."""
    return _ListRow(items, _Nothing().count, stays).kept(index)


def without_last(view: View) -> View | list[Item]:
    """All but the last item: as a view if that item was recorded last, else as a list."""
    if view.end <= view.shape.tail:
        return view[:-1]  # an edit came after it
    return View(view.log, view.shape, view.end - 1, view.open_calls())


def largest_sum(tokens: int, counter: Counter) -> int:
    """The largest sum of counts whose total is within so many tokens; -1 if there is none."""
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


def is_user_message(item: Item) -> bool:
    """Whether an item is a user message, with which a turn begins."""
    return isinstance(item, Message) and item.role == "user"


def _fits(view: View, tokens: int, counter: Counter) -> bool:
    whole(tokens, "tokens", least=0)
    return checked_view(view).tokens(counter) <= tokens


class _Nothing:
    key = "quire.nothing"

    def count(self, item: Item) -> int:
        return 0

    def total(self, counted: int) -> int:
        return 0


class _Row:
    """Items in order, and the search for the place of the cut."""

    length: int

    @abstractmethod
    def turns_from(self, index: int) -> Iterator[int]:
        """The indexes of user messages from an index on."""

    @abstractmethod
    def last_turn(self) -> int:
        """The index of the last user message; 0 if there is none."""

    @abstractmethod
    def unprotected_before(self, index: int) -> int:
        """The tokens of all unprotected items before an index."""

    @abstractmethod
    def gone_before(self, index: int) -> int:
        """The tokens of all unprotected groups that end before an index."""

    @abstractmethod
    def protected(self) -> Sequence[Item]:
        """The items that no cut leaves out."""

    def cut(self, counted: int, tokens: int, counter: Counter, closely: bool = False) -> int:
        """The first index before which enough can be left out."""
        surplus = counted - largest_sum(tokens, counter)
        first = bisect_left(range(self.length + 1), surplus, key=self.unprotected_before)
        turns = iter(()) if closely else self.turns_from(first)
        inside = range(first if closely else max(first, self.last_turn()), self.length + 1)
        for index in chain(turns, inside):
            if self.gone_before(index) >= surplus:
                return index
        parts = tuple(item.id for item in self.protected())
        needed = total_by(counter, counted - self.gone_before(self.length))
        raise Irreducible(
            f"{needed:,} tokens must stay, and there is room for {tokens:,}: {len(parts)} items are "
            "instructions, summaries, pins, pending calls or the message to be answered",
            parts,
        )


class _ViewRow(_Row):
    """A view. Its running sums are known, so only a few places of it are looked at."""

    def __init__(self, view: View, counter: Counter) -> None:
        self._view, self._log, self._counter = view, view.log, counter
        self.length = len(view)
        self._protected = frozenset(protected_positions(view))
        summaries = (covered_area(view.log, p, view.end)[0][0] for p in view.shape.summaries)
        shown = (view.index_of(p) for p in self._protected if view.run_at(p) is not None)
        self._stays = sorted((*shown, *(view.index_of(first) - 1 for first in summaries)))
        self._staying = list(accumulate(map(self._tokens_at, self._stays), initial=0))
        self._scattered = view.log.scattered(view.end)

    def turns_from(self, index: int) -> Iterator[int]:
        view = self._view
        users = view.log.positions("users", self._boundary(index), view.end)
        return (view.index_of(user) for user in users if view.run_at(user) is not None)

    def last_turn(self) -> int:
        last = self._log.last_user(self._view.end)
        return 0 if last is None else self._view.index_of(last)

    def unprotected_before(self, index: int) -> int:
        return (
            self._view.counted_before(index, self._counter) - self._staying[bisect_left(self._stays, index)]
        )

    def gone_before(self, index: int) -> int:
        return self.unprotected_before(index) - sum(map(self._tokens_at, self._held_before(index)))

    def protected(self) -> Sequence[Item]:
        return [self._view[index] for index in self._stays]

    def scroll(self, index: int) -> Scroll:
        """What stays if the cut falls before an index."""
        kept = sorted((*self._stays[: bisect_left(self._stays, index)], *self._held_before(index)))
        return Scroll(tuple(self._view[place] for place in kept), self._view, index)

    def spans_before(self, index: int) -> tuple[Span, ...]:
        """The spans of what goes if the cut falls before an index."""
        stop = self._boundary(index)
        runs = (run for run in self._view.runs() if run.start < stop)
        shown = united((run.start, min(run.stop, stop)) for run in runs)
        return spans_of(self._log, without(shown, singles((*self._protected, *self._held(index)))))

    def _tokens_at(self, index: int) -> int:
        counted_before = self._view.counted_before
        return counted_before(index + 1, self._counter) - counted_before(index, self._counter)

    def _held_before(self, index: int) -> list[int]:
        places = map(self._view.index_of, self._held(index))
        return [place for place in places if place < index]

    def _held(self, index: int) -> Iterator[int]:
        """The positions of unprotected groups of which a part is shown before an index and a part after."""
        if not 0 < index < self.length:
            return
        boundary = self._boundary(index)
        around = {self._log.head(boundary)} if boundary < self._view.end else set[int]()
        for head in around.union(self._scattered):
            if head < boundary and head not in self._protected and self._view.run_at(head) is not None:
                members = self._log.group(head, self._view.end)
                if boundary <= members[-1]:
                    yield from members

    def _boundary(self, index: int) -> int:
        """The position such that all positions before it are shown before an index."""
        if index >= self.length:
            return self._view.end
        position = self._view.position_at(index)
        is_summary = position < 0 or self._log.item(position).id != self._view[index].id
        return position + is_summary


class _ListRow(_Row):
    """A plain list, measured from its first item to its last."""

    def __init__(self, items: Sequence[Item], count: Count, stays: Collection[str] | None) -> None:
        self._items = items
        self.length = len(items)
        self._turns = [index for index, item in enumerate(items) if is_user_message(item)]
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

    def turns_from(self, index: int) -> Iterator[int]:
        return islice(self._turns, bisect_left(self._turns, index), None)

    def last_turn(self) -> int:
        return self._turns[-1] if self._turns else 0

    def unprotected_before(self, index: int) -> int:
        return self._gone[index]

    def gone_before(self, index: int) -> int:
        return self._gone[index]

    def protected(self) -> Sequence[Item]:
        return self.kept(self.length)

    def kept(self, index: int) -> tuple[Item, ...]:
        """What stays if the cut falls before an index."""
        pairs = zip(self._items, self._heads, strict=True)
        return tuple(item for item, head in pairs if head in self._protected or self._ends[head] > index)

    def _protected_indexes(self, answers: Answers, stays: Collection[str] | None) -> Iterator[int]:
        yield from answers.open_calls.positions()
        for index, item in enumerate(self._items):
            if structural(item) or (stays is not None and item.id in stays):
                yield index
        if stays is None:
            yield from self._turns[-1:]
            if self._items and isinstance(self._items[-1], ToolResult):
                yield self.length - 1
