"""Cutting: leaving out the oldest items of a view or a list, in whole groups.

The cut falls where a turn of the user begins. Only where the last turn alone is too large does it fall inside
that turn, between groups. Protected items are never left out: instructions, summaries, pins, pending calls,
the last user message and a result that nobody answered yet. A group that goes on after the cut stays whole.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate, chain

from quire.errors import Irreducible
from quire.items import Hide, Item, Span
from quire.state.edits import spans_of
from quire.state.groups import Grouping, structural
from quire.state.log import Log, Segment
from quire.state.shape import Shape, singles, united, without
from quire.state.view import Scroll, View, checked_view, protected_positions
from quire.tokens import MOST, Counter, total_by, whole


def truncate(view: View, *, tokens: int, counter: Counter) -> Hide | None:
    """The edit that brings the view within a number of tokens, or `None` if it is.

    Raises `Irreducible` if the protected items take more.
    """
    if checked_view(view).tokens(counter) <= whole(tokens, "tokens", least=0):
        return None
    cut = _Cut(view, protected_positions(view))
    return Hide(cut.spans(cut.place(tokens, counter)))


def newest(view: View, *, tokens: int, counter: Counter, closely: bool = False) -> Scroll:
    """What `truncate` would leave, without an edit.

    With `closely` the cut may fall between any two groups, so that no more goes than has to.
    """
    if view.tokens(counter) <= tokens:
        return Scroll(view=view)
    cut = _Cut(view, protected_positions(view))
    return cut.scroll(cut.place(tokens, counter, closely))


def newest_from(view: View, index: int) -> Scroll:
    """What a view shows from an index on, the rest of the groups there, and all that is protected."""
    return _Cut(view, protected_positions(view)).scroll(view.position_at(index))


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
    cut = _cut_of(items, stays)
    is_within = total_by(counter, sum(map(counter.count, items))) <= tokens
    return tuple(items) if is_within else tuple(cut.scroll(cut.place(tokens, counter, closely)))


def newest_items_from(
    items: Sequence[Item], index: int, stays: Collection[str] | None = None
) -> tuple[Item, ...]:
    """The items from an index on, the rest of the groups there, and all that is protected."""
    return tuple(_cut_of(items, stays).scroll(index))


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


def _cut_of(items: Sequence[Item], stays: Collection[str] | None) -> "_Cut":
    """A cut of a plain list, as a view in which every item is content."""
    segment, grouping, end = Segment(0), Grouping(), len(items)
    for position, item in enumerate(items):
        segment.record(item, grouping.take(item, position))
    view = View(Log((segment,)), Shape(), end, grouping.open_calls())
    if stays is None:
        return _Cut(view, protected_positions(view))
    kept = (position for position, item in enumerate(items) if item.id in stays or structural(item))
    heads = {view.log.head(position) for position in (*kept, *view.open_calls())}
    return _Cut(view, (position for head in heads for position in view.log.group(head, end)))


class _Cut:
    """A view, what is protected in it, and the search for the position of the cut."""

    def __init__(self, view: View, protected: Iterable[int]) -> None:
        self._view, self._log = view, view.log
        self._protected = frozenset(protected)
        shown = (view.index_of(p) for p in self._protected if view.run_at(p) is not None)
        summaries = (view.index_of(run.start) - 1 for run in view.shape.summaries().values())
        self._stays = sorted((*shown, *summaries))  # indexes in the view
        self._scattered = view.log.scattered(view.end)

    def place(self, tokens: int, counter: Counter, closely: bool = False) -> int:
        """The first position before which enough can be left out."""
        view, end = self._view, self._view.end
        sums = partial(view.counted_before, counter=counter)

        def size(index: int) -> int:
            return sums(index + 1) - sums(index)

        staying = list(accumulate(map(size, self._stays), initial=0))

        def unprotected_before(position: int) -> int:
            index = view.index_of(position)
            return sums(index) - staying[bisect_left(self._stays, index)]

        surplus = view.counted(counter) - largest_sum(tokens, counter)
        first = bisect_left(range(end + 1), surplus, key=unprotected_before)
        turns = (p for p in self._log.positions("users", first, end) if view.run_at(p) is not None)
        inside = range(first if closely else max(first, self._log.last_user(end) or 0), end + 1)
        for position in inside if closely else chain(turns, inside):
            if unprotected_before(position) - sum(map(size, self._held_before(position))) >= surplus:
                return position
        parts = tuple(view[index].id for index in self._stays)
        raise Irreducible(
            f"{total_by(counter, staying[-1]):,} tokens must stay, and there is room for {tokens:,}: "
            f"{len(parts)} items are instructions, summaries, pins, pending calls or the message to answer",
            parts,
        )

    def scroll(self, position: int) -> Scroll:
        """What stays if the cut falls before a position."""
        start = self._view.index_of(position)
        kept = sorted((*self._stays[: bisect_left(self._stays, start)], *self._held_before(position)))
        return Scroll(tuple(self._view[index] for index in kept), self._view, start)

    def spans(self, position: int) -> tuple[Span, ...]:
        """The spans of what goes if the cut falls before a position."""
        runs = (run for run in self._view.runs() if run.start < position)
        shown = united((run.start, min(run.stop, position)) for run in runs)
        return spans_of(self._log, without(shown, singles((*self._protected, *self._held(position)))))

    def _held_before(self, position: int) -> list[int]:
        """The indexes of items before a position that stay because their group goes on after it."""
        return [self._view.index_of(held) for held in self._held(position) if held < position]

    def _held(self, position: int) -> Iterator[int]:
        """The positions of unprotected groups of which a part is shown before a position and a part after."""
        log, end = self._log, self._view.end
        around = {log.head(position)} if position < end else set[int]()
        for head in around.union(self._scattered):
            if head < position and head not in self._protected and self._view.run_at(head) is not None:
                members = log.group(head, end)
                if position <= members[-1]:
                    yield from members
