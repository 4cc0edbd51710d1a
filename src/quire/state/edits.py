"""Edits: what each one does to a shape, and the rules by which one is refused.

A plain edit costs what it touches. An `Undo`, or a `Pin` of something that is not shown word for word, looks
at all edits in force, because what is under the one that goes may be under another that stays.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from quire.errors import CallPending, EditRefused, LastUserMessage, SplitsGroup, UnknownId, cut
from quire.items import Edit, Hide, Item, Mask, Message, Opaque, Pin, Span, Summary, ToolResult, Undo
from quire.state.log import EDIT, Log
from quire.state.shape import Interval, Run, Shape, contains, singles, united, without

MASKED = "masked"
"""The prefix of the state of a masked reply. No digest equals it, so the state does not go back."""


class Cover(NamedTuple):
    """What a `Hide` or a `Summary` takes away: content by area, and summaries by position."""

    area: list[Interval]
    summaries: frozenset[int]
    is_summary: bool


def resolved(log: Log, edit: Hide | Summary, end: int) -> Cover:
    """The spans of an edit as positions."""
    area: list[Interval] = []
    summaries: set[int] = set()
    for span in edit.spans:
        first, last = _located(log, span.first, end), _located(log, span.last, end)
        if first == last and log.head(first) == EDIT and isinstance(log.item(first), Summary):
            summaries.add(first)
        elif EDIT in (log.head(first), log.head(last)) or first > last:
            raise EditRefused(
                f"the span from {cut(span.first)!r} to {cut(span.last)!r} does not run between two items"
            )
        else:
            area.append((first, last + 1))
    return Cover(united(area), frozenset(summaries), isinstance(edit, Summary))


def _located(log: Log, item_id: str, end: int) -> int:
    position = log.find(item_id, end)
    if position is None:
        raise UnknownId(f"an edit names {cut(item_id)!r}, which is not in the transcript")
    return position


def covered_area(log: Log, position: int, end: int) -> list[Interval]:
    """What the summary or the hide at a position covers."""
    edit = log.item(position)
    assert isinstance(edit, Hide | Summary)
    return resolved(log, edit, end).area


def spans_of(log: Log, area: Sequence[Interval], summaries: Iterable[int] = ()) -> tuple[Span, ...]:
    """An area and summaries as spans, each beginning and ending with content."""
    spans: list[Span] = []
    for start, stop in area:
        while start < stop and log.head(start) == EDIT:
            start += 1
        while start < stop and log.head(stop - 1) == EDIT:
            stop -= 1
        if start < stop:
            spans.append(Span(log.item(start).id, log.item(stop - 1).id))
    spans.extend(Span(log.item(p).id, log.item(p).id) for p in summaries)
    return tuple(spans)


def folded_summaries(areas: Mapping[int, Sequence[Interval]]) -> set[int]:
    """The summaries, by position, of which a later one covers all, and maybe more.

    One later summary must cover all of an earlier one. If several could do so together, undoing one of them
    would show the earlier one beside the others.
    """
    reach = {position: (area[0][0], area[-1][1]) for position, area in areas.items()}
    folded: set[int] = set()
    for position, (start, stop) in reach.items():
        around = (p for p, (low, high) in reach.items() if p > position and low <= start and stop <= high)
        if any(not without(areas[position], areas[p]) for p in around):
            folded.add(position)
    return folded


class EditsInForce:
    """All edits up to a revision that were not undone, by what they do."""

    def __init__(self, log: Log, end: int, undoing: int | None = None) -> None:
        self._log = log
        self.undone = set[int]() if undoing is None else {undoing}
        edits = [(position, log.item(position)) for position in log.positions("edits", 0, end)]
        for position, edit in reversed(edits):
            if isinstance(edit, Undo) and position not in self.undone:
                self.undone.add(_located(log, edit.target, end))
        self.covers: dict[int, Cover] = {}  # by position, in order
        self.masks: dict[int, int] = {}  # the position of the mask by that of its target
        self.pins: set[int] = set()  # heads of groups
        for position, edit in edits:
            if position in self.undone:
                continue
            if isinstance(edit, Hide | Summary):
                self.covers[position] = resolved(log, edit, end)
            elif isinstance(edit, Mask):
                self.masks[_located(log, edit.target, end)] = position
            elif isinstance(edit, Pin):
                self.pins.add(log.head(_located(log, edit.target, end)))

    def stubs(self) -> Iterator[tuple[int, Item]]:
        """The masked items with their stubs, by position."""
        for target, position in self.masks.items():
            mask = self._log.item(position)
            assert isinstance(mask, Mask)
            yield target, masked(self._log.item(target), mask)

    def covered(self) -> list[Interval]:
        """All content under a hide or a summary, pins not considered."""
        return united(interval for cover in self.covers.values() for interval in cover.area)

    def summaries(self) -> frozenset[int]:
        """Positions of the summaries to be shown: those that no edit names and no later summary folds."""
        named = frozenset[int]().union(*(cover.summaries for cover in self.covers.values()))
        areas = {position: cover.area for position, cover in self.covers.items() if cover.is_summary}
        return frozenset(areas.keys() - named - folded_summaries(areas))


class Editor:
    """One log at one revision with its open calls: enough to check and apply the next edit."""

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
        if not cover.area and (cover.is_summary or not cover.summaries):
            raise EditRefused("the edit takes nothing away")
        self._check_area(cover.area)
        pinned = self._group_area(head for head in self._shape.pins if contains(cover.area, head))
        area = without(cover.area, pinned)
        named = [p for p in cover.summaries if p in self._shape.summaries]
        if isinstance(edit, Hide):
            return self._changed(area, gone=named)
        # Content that is shown word for word is under no summary, so none has to be looked for.
        is_plain = not pinned and self._is_shown(area)
        gone = [p for p in (named if is_plain else self._shape.summaries) if self._folds(cover, p)]
        return self._changed(area, [Run(cover.area[0][0], cover.area[0][0], edit)], gone, [self._end])

    def _mask(self, edit: Mask) -> Shape:
        position = _located(self._log, edit.target, self._end)
        stub = masked(self._log.item(position), edit)
        self._check_mask(position)
        if self._log.head(position) in self._shape.pins:
            raise EditRefused(f"{cut(edit.target)!r} is pinned")
        if self._shape.run_at(position, self._end) is None:
            return self._changed([])  # the stub appears should the item come back
        return self._changed([(position, position + 1)], [Run(position, position + 1, stub)])

    def _pin(self, edit: Pin) -> Shape:
        head = self._log.head(_located(self._log, edit.target, self._end))
        if head == EDIT:
            raise EditRefused(f"{cut(edit.target)!r} is an edit and cannot be pinned")
        area = self._group_area([head])
        pins = self._shape.pins | {head}
        if self._is_shown(area, word_for_word=True):
            return self._changed([], pins=pins)
        edits = EditsInForce(self._log, self._end)
        edits.pins.add(head)
        return self._recomputed(area, edits, self._shape.summaries)

    def _undo(self, edit: Undo) -> Shape:
        target = _located(self._log, edit.target, self._end)
        if self._log.head(target) != EDIT:
            raise EditRefused(f"{cut(edit.target)!r} is not an edit")
        before = EditsInForce(self._log, self._end)
        if target in before.undone:
            raise EditRefused(f"{cut(edit.target)!r} is undone already")
        after = EditsInForce(self._log, self._end, undoing=target)
        shown = after.summaries()
        self._check_return(before, after, shown)
        return self._recomputed(self._difference(before, after), after, shown)

    def _difference(self, before: EditsInForce, after: EditsInForce) -> list[Interval]:
        """Where two sets of edits may show different things."""
        covers = before.covers.keys() ^ after.covers.keys()
        area = [i for p in covers for i in (before.covers.get(p) or after.covers[p]).area]
        masks = (target for target, _ in before.masks.items() ^ after.masks.items())
        return united([*area, *singles(masks), *self._group_area(before.pins ^ after.pins)])

    def _recomputed(self, area: list[Interval], edits: EditsInForce, shown: frozenset[int]) -> Shape:
        """The shape with everything in an area as the edits in force would have it."""
        pinned = self._group_area(edits.pins)
        other = singles(self._log.positions("edits", 0, self._end))
        visible = without(area, united([*without(edits.covered(), pinned), *other]))
        stubs = {p: stub for p, stub in edits.stubs() if contains(visible, p) and not contains(pinned, p)}
        runs = [Run(start, stop) for start, stop in without(visible, singles(stubs))]
        runs += (Run(position, position + 1, stub) for position, stub in stubs.items())
        before = self._shape.summaries
        for position in shown - before:
            place = edits.covers[position].area[0][0]
            runs.append(Run(place, place, self._log.item(position)))
        return self._changed(area, runs, before - shown, shown - before, frozenset(edits.pins))

    def _changed(
        self,
        area: list[Interval],
        runs: Sequence[Run] = (),
        gone: Collection[int] = (),
        come: Collection[int] = (),
        pins: frozenset[int] | None = None,
    ) -> Shape:
        """The shape with other runs in an area, without the summaries `gone` and with those that `come`."""
        places = {self._log.item(p).id: covered_area(self._log, p, self._end)[0][0] for p in gone}
        shape = self._shape.closed(self._end).spliced(area, runs, places)
        if gone or come:
            shape.summaries = shape.summaries.difference(gone).union(come)
        if pins is not None:
            shape.pins = pins
        return shape

    def _is_shown(self, area: Iterable[Interval], word_for_word: bool = False) -> bool:
        """Whether all content of an area is shown, stubs included unless `word_for_word`."""
        for start, stop in area:
            while start < stop:
                run = None
                if self._log.head(start) != EDIT:
                    run = self._shape.run_at(start, self._end)
                    if run is None or (word_for_word and run.stand_in is not None):
                        return False
                start = start + 1 if run is None else run.stop
        return True

    def _group_area(self, heads: Iterable[int]) -> list[Interval]:
        return singles(p for head in heads for p in self._log.group(head, self._end))

    # The rules.

    def _check_area(self, area: Sequence[Interval]) -> None:
        """Refuse to take away a group with an open call, part of a group, or the last message of the user."""
        log, end = self._log, self._end
        for head, position in one_per_group(log, self._open).items():
            if any(contains(area, member) for member in log.group(head, end)):
                raise CallPending(f"call {cut(log.item(position).id)!r} still waits for its result")
        last = log.last_user(end)
        if last is not None and contains(area, last):
            raise LastUserMessage(f"{cut(log.item(last).id)!r} is the message to be answered")
        for head in self._heads_at_edges(area):
            if len({contains(area, member) for member in log.group(head, end)}) > 1:
                raise SplitsGroup(f"the edit takes part of the group of {cut(log.item(head).id)!r}")

    def _heads_at_edges(self, area: Sequence[Interval]) -> set[int]:
        """The groups that may be partly in an area: those at its edges, and those in several pieces."""
        heads = {self._log.head(p) for start, stop in area for p in (start, stop - 1)} - {EDIT}
        for head, members in self._log.scattered(self._end).items():
            inside = contains(area, head)
            if any(contains(area, member) != inside for member in members):
                heads.add(head)
        return heads

    def _check_mask(self, position: int) -> None:
        if position == self._log.last_user(self._end):
            raise LastUserMessage(f"{cut(self._log.item(position).id)!r} is the message to be answered")

    def _folds(self, cover: Cover, position: int) -> bool:
        """Whether a new summary folds one that is shown; refuses to cover only a part of it."""
        area = covered_area(self._log, position, self._end)
        outside = without(area, cover.area)
        if outside == area and position not in cover.summaries:
            return False
        if outside:
            older = cut(self._log.item(position).id)
            raise EditRefused(f"the summary must cover all that {older!r} covers, or nothing of it")
        return True

    def _check_return(self, before: EditsInForce, after: EditsInForce, shown: frozenset[int]) -> None:
        """Check what an undo brings back: an edit that was undone, or what a pin had kept from an edit."""
        if before.pins - after.pins or after.covers.keys() - before.covers.keys():
            self._check_area(without(after.covered(), self._group_area(after.pins)))
        areas = {position: after.covers[position].area for position in shown}
        if _overlap(areas, shown - self._shape.summaries):
            raise EditRefused("the summary that would come back overlaps another that is shown")
        for position in after.masks.keys() - before.masks.keys():
            self._check_mask(position)


def one_per_group(log: Log, open_calls: Iterable[int]) -> dict[int, int]:
    """For the head of each group with open calls, one of these calls: there may be many."""
    return {log.head(position): position for position in open_calls}


def _overlap(areas: Mapping[int, Sequence[Interval]], some: Collection[int]) -> bool:
    """Whether one of `some` summaries covers anything that another covers."""
    last, reached = -1, 0
    for start, stop, position in sorted((*interval, p) for p, area in areas.items() for interval in area):
        if start < reached and (position in some or last in some):
            return True
        if stop > reached:
            last, reached = position, stop
    return False


def masked(item: Item, mask: Mask) -> Item:
    """The item with a stub for its content; a reply of the model is also marked as not its own words."""
    if isinstance(item, Message) and item.role == "assistant":
        state = msgspec.structs.replace(item.state or Opaque("quire", ""), prefix=MASKED)
        return msgspec.structs.replace(item, content=mask.stub, state=state)
    if isinstance(item, ToolResult) or (isinstance(item, Message) and item.role == "user"):
        return msgspec.structs.replace(item, content=mask.stub)
    raise EditRefused(
        f"{cut(item.id)!r} is not a result or a message of the conversation: it cannot be masked"
    )
