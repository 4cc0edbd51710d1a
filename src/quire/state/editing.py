"""How an edit changes what is shown.

A plain edit costs what it touches. An `Undo`, or a `Pin` of what is not shown word for word, looks at all
edits in force, because what is under the one that goes may be under another that stays.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec

from quire.errors import EditRefused, cut
from quire.items import Edit, Hide, Item, Mask, Message, Opaque, Pin, Summary, ToolResult, Undo
from quire.state.active import ActiveEdits, Cover, area_of_summary, located, resolved
from quire.state.bounds import bounds
from quire.state.judging import folded, judge, judge_mask, judge_return
from quire.state.log import EDIT, Log
from quire.state.positions import positions
from quire.state.shape import (
    Interval,
    Key,
    Run,
    Shape,
    contains,
    find_run,
    first_after,
    subtracted,
    united,
)
from quire.state.splicing import Change, spliced


class Editor:
    """One log at one revision, with the calls that wait: enough to judge and apply an edit."""

    __slots__ = ("_end", "_log", "_open", "_shape")

    def __init__(self, log: Log, shape: Shape, end: int, open_calls: Iterable[int]) -> None:
        self._log = log
        self._shape = shape
        self._end = end
        self._open = tuple(open_calls)

    def apply(self, edit: Edit) -> Shape:
        """What is shown once this edit is recorded at the end of the log; an error changes nothing."""
        match edit:
            case Summary() | Hide():
                return self._cover(edit)
            case Mask():
                return self._mask(edit)
            case Pin():
                return self._pin(edit)
            case Undo():
                return self._undo(edit)

    def _cover(self, edit: Summary | Hide) -> Shape:
        cover = resolved(self._log, edit, self._end)
        judge(self._log, self._end, cover, self._open)
        # No group is taken in part, so those that matter have their first item in the area.
        pins = (head for interval in cover.area for head in self._shape.pins.between(*interval))
        pinned = self._group_area(pins)
        area = [part for interval in cover.area for part in subtracted(interval, pinned)]
        named = [p for p in cover.summaries if p in self._shape.summaries]
        if isinstance(edit, Hide):
            return self._spliced(area, gone=named)
        # What is shown, and not for a pin alone, is under no summary: there is none to look for.
        untouched = area == cover.area and self._is_shown(area)
        gone = folded(self._log, self._end, cover, named if untouched else self._shape.summaries)
        return self._spliced(area, [self._summary_run(edit, cover.area)], gone, [self._end])

    def _mask(self, edit: Mask) -> Shape:
        position = located(self._log, edit.target, self._end)
        stub = masked(self._log.item(position), edit)
        judge_mask(self._log, self._end, position)
        if self._log.head(position) in self._shape.pins:
            raise EditRefused(f"{cut(edit.target)!r} is pinned")
        if self._run_at(position) is None:
            return self._spliced([])  # the stub appears should the item come back
        return self._spliced([(position, position + 1)], [Run(position, position + 1, stub)])

    def _pin(self, edit: Pin) -> Shape:
        head = self._log.head(located(self._log, edit.target, self._end))
        if head == EDIT:
            raise EditRefused(f"{cut(edit.target)!r} is an edit and cannot be pinned")
        area = self._group_area([head])
        if self._is_shown(area, word_for_word=True):
            return self._spliced([])._replace(pins=self._shape.pins.changed(come=[head]))
        active = ActiveEdits(self._log, self._end)
        active.pins.add(head)
        return self._recomputed(area, active, set(self._shape.summaries))

    def _undo(self, edit: Undo) -> Shape:
        target = located(self._log, edit.target, self._end)
        if self._log.head(target) != EDIT:
            raise EditRefused(f"{cut(edit.target)!r} is not an edit")
        before = ActiveEdits(self._log, self._end)
        if target in before.undone:
            raise EditRefused(f"{cut(edit.target)!r} is undone already")
        after = ActiveEdits(self._log, self._end, undoing=target)
        shown = after.summaries()
        self._judge_return(before, after, shown)
        return self._recomputed(self._difference(before, after), after, shown)

    def _judge_return(self, before: ActiveEdits, after: ActiveEdits, shown: set[int]) -> None:
        """Judge what an undo brings back: an edit that was undone, or what a pin had kept from one."""
        if before.pins - after.pins or after.covers.keys() - before.covers.keys():
            hidden = self._hidden(after)
            if hidden:
                judge(self._log, self._end, Cover(hidden, frozenset(), False), self._open)
        judge_return(shown.difference(self._shape.summaries), shown, after.covers)
        for position in after.masks.keys() - before.masks.keys():
            judge_mask(self._log, self._end, position)

    def _hidden(self, active: ActiveEdits) -> list[Interval]:
        pinned = self._group_area(active.pins)
        return [part for interval in active.hidden() for part in subtracted(interval, pinned)]

    def _difference(self, before: ActiveEdits, after: ActiveEdits) -> list[Interval]:
        changed = before.covers.keys() ^ after.covers.keys()
        area = [i for p in changed for i in (before.covers.get(p) or after.covers[p]).area]
        masks = [
            p for p in before.masks.keys() | after.masks.keys() if before.masks.get(p) != after.masks.get(p)
        ]
        pins = self._group_area(before.pins ^ after.pins)
        return united([*area, *((p, p + 1) for p in masks), *pins])

    def _recomputed(self, area: list[Interval], active: ActiveEdits, shown: set[int]) -> Shape:
        """The shape with everything in an area as the edits in force would have it."""
        pinned = self._group_area(active.pins)
        hidden = self._hidden(active)
        visible = [part for interval in area for part in subtracted(interval, hidden)]
        stubs = {
            position: masked(self._log.item(position), mask)
            for position, mask in active.mask_items()
            if contains(visible, position) and not contains(pinned, position)
        }
        runs = list(self._natural_runs(visible, stubs))
        before = set(self._shape.summaries)
        for position in shown - before:
            summary = self._log.item(position)
            assert isinstance(summary, Summary)
            runs.append(self._summary_run(summary, active.covers[position].area))
        shape = self._spliced(area, runs, before - shown, shown - before)
        return shape._replace(pins=self._shape.pins.turned_into(active.pins))

    def _spliced(
        self,
        area: list[Interval],
        runs: Sequence[Run] = (),
        gone: Collection[int] = (),
        come: Collection[int] = (),
    ) -> Shape:
        """The shape with other runs in an area, without the summaries that go and with those that come."""
        keys = [*bounds(self._log, area), *(self._summary_key(p) for p in gone)]
        change = Change(area, {self._log.item(p).id for p in gone}, runs)
        closed = self._shape.closed(self._end, self._log.time)
        shape = spliced(closed, change, keys, self._log.time)
        return shape._replace(summaries=shape.summaries.changed(come, gone)) if gone or come else shape

    def _is_shown(self, area: Iterable[Interval], word_for_word: bool = False) -> bool:
        """Whether all content of an area is shown, be it by stubs."""
        for start, stop in area:
            while start < stop:
                run = None
                if self._log.head(start) != EDIT:
                    run = self._run_at(start)
                    if run is None or (word_for_word and run.stand_in is not None):
                        return False
                start = start + 1 if run is None else run.stop
        return True

    def _natural_runs(self, visible: Sequence[Interval], stubs: dict[int, Item]) -> Iterator[Run]:
        """What is visible as runs in which no other item's place falls."""
        late = positions(self._log, "late", 0, self._end)
        singles = sorted({*stubs, *late})
        breaks = united((p, p + 1) for p in (*singles, *positions(self._log, "edits", 0, self._end)))
        places = sorted((self._log.time(p), p) for p in late)
        for start, stop in visible:
            for part in subtracted((start, stop), breaks):
                yield from self._split(*part, places)
            for position in singles[bisect_left(singles, start) : bisect_left(singles, stop)]:
                yield Run(position, position + 1, stubs.get(position))

    def _split(self, start: int, stop: int, places: Sequence[tuple[float, int]]) -> Iterator[Run]:
        first = bisect_left(places, (self._log.time(start), start))
        for place in places[first : bisect_left(places, (self._log.time(stop - 1), stop - 1))]:
            cut = first_after(start, stop, place, self._log.time)
            if start < cut:
                yield Run(start, cut)
            start = cut
        yield Run(start, stop)

    def _run_at(self, position: int) -> Run | None:
        if position >= self._shape.tail:
            return Run(self._shape.tail, self._end)
        return find_run(self._shape.branches, (self._log.time(position), position, 1))

    def _summary_run(self, summary: Summary, area: Sequence[Interval]) -> Run:
        place = min(bounds(self._log, area))[1]
        return Run(place, place, summary)

    def _summary_key(self, position: int) -> Key:
        summary = self._log.item(position)
        assert isinstance(summary, Summary)
        area = area_of_summary(self._log, position, self._end)
        return self._summary_run(summary, area).key(self._log.time)

    def _group_area(self, heads: Iterable[int]) -> list[Interval]:
        return united((p, p + 1) for head in heads for p in self._log.group(head, self._end))


MASKED = "masked"
"""The prefix of the state of masked words, which no digest is equal to: it is not to go back."""


def masked(item: Item, mask: Mask) -> Item:
    """The item with a stub for its content; what the model said is also marked as not its own words."""
    if isinstance(item, Message) and item.role == "assistant":
        state = item.state or Opaque("quire", "")
        return msgspec.structs.replace(
            item, content=mask.stub, state=msgspec.structs.replace(state, prefix=MASKED)
        )
    if isinstance(item, ToolResult) or (isinstance(item, Message) and item.role == "user"):
        return msgspec.structs.replace(item, content=mask.stub)
    raise EditRefused(
        f"{cut(item.id)!r} is not a result or a message of the conversation: it cannot be masked"
    )
