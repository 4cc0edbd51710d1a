"""Edits: what each one does to a shape, and the rules by which one is refused.

A plain edit costs what it touches. An `Undo` applies all edits that stay in force anew, because what is under
the one that goes may be under another.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from quire.errors import CallPending, EditRefused, LastUserMessage, SplitsGroup, UnknownId, cut
from quire.items import Edit, Hide, Item, Mask, Message, Opaque, Pin, Span, Summary, ToolResult, Undo
from quire.state.groups import is_edit
from quire.state.log import EDIT, Log
from quire.state.shape import Interval, Run, Shape, contains, singles, united, without

MASKED = "masked"
"""The prefix of the state of a masked reply. No digest equals it, so the state does not go back."""


class Cover(NamedTuple):
    """What a `Hide` or a `Summary` takes away: content by area, and summaries by position."""

    area: list[Interval]
    summaries: frozenset[int]


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
    return Cover(united(area), frozenset(summaries))


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


def spans_of(log: Log, area: Sequence[Interval], summaries: Iterable[Item] = ()) -> tuple[Span, ...]:
    """An area and summaries as spans, each beginning and ending with content."""
    spans: list[Span] = []
    for start, stop in area:
        while start < stop and log.head(start) == EDIT:
            start += 1
        while start < stop and log.head(stop - 1) == EDIT:
            stop -= 1
        if start < stop:
            spans.append(Span(log.item(start).id, log.item(stop - 1).id))
    spans.extend(Span(summary.id, summary.id) for summary in summaries)
    return tuple(spans)


class EditsInForce:
    """All edits up to a revision that were not undone."""

    def __init__(self, log: Log, end: int, undoing: int | None = None) -> None:
        self.undone = set[int]() if undoing is None else {undoing}
        edits = [(position, log.item(position)) for position in log.positions("edits", 0, end)]
        for position, edit in reversed(edits):
            if isinstance(edit, Undo) and position not in self.undone:
                self.undone.add(_located(log, edit.target, end))
        self.edits = [edit for position, edit in edits if position not in self.undone and is_edit(edit)]
        self.masks = {edit.target: edit for edit in self.edits if isinstance(edit, Mask)}
        self.covers = [(e, resolved(log, e, end)) for e in self.edits if isinstance(e, Hide | Summary)]


class Editor:
    """One log at one revision with its open calls: enough to check and apply the next edit."""

    __slots__ = ("_end", "_log", "_open", "_shape")

    def __init__(self, log: Log, shape: Shape, end: int, open_calls: Iterable[int]) -> None:
        self._log = log
        self._shape = shape
        self._end = end
        self._open = open_calls

    def apply(self, edit: Edit) -> Shape:
        """What is shown once this edit is recorded at the end of the log; an error changes nothing."""
        if isinstance(edit, Undo):
            return self._undone(edit)
        self._check(edit)
        return self._masked([edit]) if isinstance(edit, Mask) else self._applied(edit)

    def _applied(self, edit: Hide | Pin | Summary) -> Shape:
        if isinstance(edit, Pin):
            area = self._group_area([self._log.head(_located(self._log, edit.target, self._end))])
            return self._changed(area, [Run(start, stop, pinned=True) for start, stop in area])
        return self._covered(edit)

    def _masked(self, masks: Iterable[Mask]) -> Shape:
        """The shape with stubs; the stub of an item that is hidden or pinned is shown once it is not."""
        stubs: list[Run] = []
        for mask in masks:
            position = _located(self._log, mask.target, self._end)
            shown = self._shape.run_at(self._log.head(position), self._end)
            if shown is not None and not shown.pinned:
                stubs.append(Run(position, position + 1, masked(self._log.item(position), mask)))
        return self._changed(singles(run.start for run in stubs), stubs)

    def _covered(self, edit: Summary | Hide) -> Shape:
        cover = resolved(self._log, edit, self._end)
        pins = pinned_heads(self._log, self._shape)
        area = without(cover.area, self._group_area(head for head in pins if contains(cover.area, head)))
        # Content that is shown without a pin is under no summary, so only a named one can be folded.
        runs = ((self._shape.run_at(start, self._end), stop) for start, stop in cover.area)
        is_shown = all(run is not None and not run.pinned and stop <= run.stop for run, stop in runs)
        shown = {} if is_shown and not cover.summaries else self._shape.summaries()
        named = {self._log.item(position).id for position in cover.summaries} & shown.keys()
        if isinstance(edit, Hide):
            return self._changed(area, gone=[shown[item_id] for item_id in named])
        near = named if is_shown else shown.keys()
        gone = [shown[one] for one in near if self._folds(cover, shown[one], one in named)]
        return self._changed(area, [Run(cover.area[0][0], cover.area[0][0], edit)], gone)

    def _folds(self, cover: Cover, run: Run, is_named: bool) -> bool:
        """Whether a new summary folds one that is shown; refuses to cover only a part of it.

        One summary must cover all of another. If several could do so together, undoing one of them would show
        the other beside the rest.
        """
        assert isinstance(run.stand_in, Summary)
        area = resolved(self._log, run.stand_in, self._end).area
        outside = without(area, cover.area)
        if outside and (is_named or outside != area):
            raise EditRefused(
                f"the summary must cover all that {cut(run.stand_in.id)!r} covers, or nothing of it"
            )
        return not outside

    def _undone(self, edit: Undo) -> Shape:
        """Apply all edits that stay in force to the content of the log."""
        log, end, target = self._log, self._end, _located(self._log, edit.target, self._end)
        if log.head(target) != EDIT:
            raise EditRefused(f"{cut(edit.target)!r} is not an edit")
        if target in EditsInForce(log, end).undone:
            raise EditRefused(f"{cut(edit.target)!r} is undone already")
        kept = EditsInForce(log, end, undoing=target)
        content = without([(0, end)], singles(log.positions("edits", 0, end)))
        shape = Shape(tail=end + 1).spliced([], [Run(start, stop) for start, stop in content], [])
        for other in kept.edits:
            if isinstance(other, Hide | Pin | Summary):
                shape = Editor(log, shape, end, self._open)._applied(other)
        shape = Editor(log, shape, end, self._open)._masked(kept.masks.values())
        # A group may have grown while a pin, or the undo of another edit, kept it shown.
        covered = united(interval for _, cover in kept.covers for interval in cover.area)
        self._check_area(without(covered, self._group_area(pinned_heads(log, shape))))
        return shape

    def _changed(self, area: list[Interval], runs: Sequence[Run] = (), gone: Sequence[Run] = ()) -> Shape:
        """The shape with other runs in an area and without the summaries `gone`."""
        return self._shape.closed(self._end).spliced(area, runs, gone)

    def _group_area(self, heads: Iterable[int]) -> list[Interval]:
        return singles(p for head in heads for p in self._log.group(head, self._end))

    # The rules.

    def _check(self, edit: Hide | Mask | Pin | Summary) -> None:
        if isinstance(edit, Hide | Summary):
            cover = resolved(self._log, edit, self._end)
            if not cover.area and (isinstance(edit, Summary) or not cover.summaries):
                raise EditRefused("the edit takes nothing away")
            self._check_area(cover.area)
            return
        position = _located(self._log, edit.target, self._end)
        head = self._log.head(position)
        if isinstance(edit, Mask):
            masked(self._log.item(position), edit)
            if position == self._log.last_user(self._end):
                raise LastUserMessage(f"{cut(edit.target)!r} is the message to be answered")
            if (run := self._shape.run_at(head, self._end)) is not None and run.pinned:
                raise EditRefused(f"{cut(edit.target)!r} is pinned")
        elif head == EDIT:
            raise EditRefused(f"{cut(edit.target)!r} is an edit and cannot be pinned")

    def _check_area(self, area: Sequence[Interval]) -> None:
        """Refuse to take away a group with an open call, part of a group, or the last message of the user."""
        log, end = self._log, self._end
        for head, position in one_per_group(log, self._open).items():
            if any(contains(area, member) for member in log.group(head, end)):
                raise CallPending(f"call {cut(log.item(position).id)!r} still waits for its result")
        last = log.last_user(end)
        if last is not None and contains(area, last):
            raise LastUserMessage(f"{cut(log.item(last).id)!r} is the message to be answered")
        # A group may be partly in the area if it is at an edge, or in several pieces.
        edges = {log.head(p) for start, stop in area for p in (start, stop - 1)} - {EDIT}
        members = log.scattered(end) | {head: log.group(head, end) for head in edges}
        for head, positions in members.items():
            if any(contains(area, position) != contains(area, head) for position in positions):
                raise SplitsGroup(f"the edit takes part of the group of {cut(log.item(head).id)!r}")


def pinned_heads(log: Log, shape: Shape) -> set[int]:
    """The heads of the pinned groups."""
    return {log.head(position) for run in shape.pinned() for position in range(run.start, run.stop)}


def one_per_group(log: Log, open_calls: Iterable[int]) -> dict[int, int]:
    """For the head of each group with open calls, one of these calls: there may be many."""
    return {log.head(position): position for position in open_calls}


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
