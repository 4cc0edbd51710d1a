"""The transcript: what happened, in order. It only grows.

Edits are items too, and the view is the log with them applied.

Appending, forking and asking for the view take the same time for ten items and for a hundred thousand.
"""

import logging
from bisect import bisect_right, insort
from collections.abc import Iterable

from quire.errors import DuplicateId, OutOfRange, WrongType, cut
from quire.items import (
    EDITS,
    KINDS,
    ConfigChange,
    Edit,
    Handoff,
    Item,
    Message,
    Summary,
    ToolCall,
    ToolResult,
    kind_of,
)
from quire.state.closing import closing_results
from quire.state.editing import Editor
from quire.state.groups import Reply, is_edit, is_output
from quire.state.log import EDIT, Log, Segment
from quire.state.placing import inserted, settled_time
from quire.state.shape import Shape
from quire.state.view import View
from quire.state.waiting import Waiting, early_result
from quire.tokens.numbers import digits, whole

logger = logging.getLogger("quire.state")

_FRAME = (ConfigChange, Handoff, Summary)  # structural, like messages of the system and the developer

_Tip = tuple[int, Shape, Waiting, Reply, tuple[float, float | None, int, bool]]
"""All that a transcript knows beyond its log, to be taken over by a fork or restored after an error."""


def checked_transcript(transcript: object) -> "Transcript":
    """The transcript, if it is one."""
    if not isinstance(transcript, Transcript):
        raise WrongType(f"expected a transcript, not {type(transcript).__name__}")
    return transcript


class Transcript:
    """An append-only log with a view. One writer at a time; views and forks may be read from any thread."""

    __slots__ = (
        "_aside",
        "_end",
        "_last_far",
        "_last_head",
        "_latest",
        "_log",
        "_open",
        "_owned",
        "_reply",
        "_segment",
        "_shape",
    )

    def __init__(self, items: Iterable[Item] = ()) -> None:
        self._segment = Segment(0)
        self._log = Log((self._segment,))
        self._owned = True  # whether the last segment is ours to grow
        self._end = 0
        self._shape = Shape()
        self._latest: float = float("-inf")  # the time of what is shown last
        self._open = Waiting()
        self._reply = Reply()  # the model's output at the end, which the next item may join
        self._aside: float | None = None  # the time by which the last item is shown, if that is not last
        self._last_head: int = EDIT
        self._last_far: bool = False
        self.extend(items)

    def __len__(self) -> int:
        return self._end

    def __contains__(self, item_id: object) -> bool:
        # Most are asked for that are above all others, because they are new.
        if not isinstance(item_id, str) or item_id > self._segment.highest:
            return False
        return self._log.find(item_id, self._end) is not None

    def __repr__(self) -> str:
        return f"<Transcript of {self._end} items, {len(self.view)} shown>"

    @property
    def revision(self) -> int:
        """How many items have been recorded; `at` takes it."""
        return self._end

    @property
    def latest(self) -> float:
        """The time of what is shown last."""
        return self._latest

    @property
    def view(self) -> View:
        """What is shown now."""
        return View(self._log, self._shape, self._end, self._open.positions() if self._open else ())

    def get(self, item_id: str) -> Item:
        """The item with this id, as it was recorded."""
        return self.view.get(item_id)

    def recorded(self, since: int = 0) -> list[Item]:
        """All items in the order they arrived, edits included, from a revision on."""
        self._check_revision(since)
        return self._log.items(since, self._end)

    def at(self, revision: int) -> View:
        """What was shown at an earlier revision."""
        self._check_revision(revision)
        known = revision
        for segment in reversed(self._log.segments):
            index = bisect_right(segment.shapes, known, key=lambda entry: entry[0])
            if index:
                return View(self._log, segment.shapes[index - 1][1], revision)
            known = min(known, segment.start)  # what came later in an earlier segment is not ours
        return View(self._log, Shape(), revision)

    def _check_revision(self, revision: int) -> None:
        if not 0 <= whole(revision, "a revision") <= self._end:
            raise OutOfRange(f"there are revisions 0 to {self._end}; there is none {digits(revision)}")

    def append(self, item: Item) -> None:
        """Record one item; an error changes nothing."""
        kind = type(item)
        if kind not in KINDS:
            raise WrongType(f"a transcript takes items, not {kind.__name__}")
        if not self._owned:
            self._own()
        if item.id <= self._segment.highest and item.id in self:
            raise DuplicateId(f"item {cut(item.id)!r} is in the transcript already")
        if kind in EDITS and is_edit(item):
            self._append_edit(item)
        else:
            self._append_content(item)

    def extend(self, items: Iterable[Item]) -> None:
        """Record several items, all or none."""
        if not isinstance(items, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"a transcript takes several items, not {type(items).__name__}")
        kept, highest = self._tip(), self._segment.highest
        try:
            for item in items:
                self.append(item)
        except BaseException:
            if self._end > kept[0]:
                # Forks and views may share the segment, so what was added is left behind in it, unseen.
                self._log = self._log.forked_at(kept[0], highest)
                self._segment = self._log.segments[-1]
            self._set_tip(kept)
            raise

    def fork(self) -> "Transcript":
        """A transcript with the same past and a future of its own.

        Calls that wait are closed in it, and marked so.
        """
        child = self.copy()
        if child._open:
            child.extend(closing_results(child.view))
        return child

    def copy(self) -> "Transcript":
        """A transcript with the same past, calls that wait included: to try what would become of it."""
        copy = Transcript.__new__(Transcript)  # it needs no empty log of its own to begin with
        copy._segment, copy._log, copy._owned = self._segment, self._log, False
        copy._set_tip(self._tip())
        return copy

    __copy__ = copy  # Python's own would have two writers of one segment

    def __deepcopy__(self, _memo: object) -> "Transcript":
        return self.copy()  # items do not change, so they may be shared

    def _tip(self) -> _Tip:
        marks = (self._latest, self._aside, self._last_head, self._last_far)
        return (self._end, self._shape, self._open.copy(), self._reply.copy(), marks)

    def _set_tip(self, tip: _Tip) -> None:
        self._end, self._shape, self._open, self._reply, marks = tip
        self._latest, self._aside, self._last_head, self._last_far = marks

    def _own(self) -> None:
        self._log = self._log.forked_at(self._end)
        self._segment = self._log.segments[-1]
        self._owned = True

    def _append_edit(self, edit: Edit) -> None:
        shape = Editor(self._log, self._shape, self._end, self._open.positions()).apply(edit)
        self._segment.record_edit(edit, self._latest)
        self._end += 1
        self._last_head = EDIT
        self._show(shape)
        if self._reply.head >= 0 and self.view.run_at(self._reply.head) is None:
            self._reply.head = -1  # nothing joins what is not shown
        logger.debug("edit %s of kind %s", edit.id, kind_of(edit))

    def _append_content(self, item: Item) -> None:
        """Find the group that an item belongs to and the time by which it is shown, and store it there."""
        head, time = self._end, item.created_at
        if is_output(item):
            head = self._reply.join(item, head)
            if head != self._end:  # it is shown with the rest of its reply, wherever that is
                time = max(time, self._latest) if self._aside is None else self._aside
        else:
            self._reply.head = -1  # closed: whatever comes next begins something new
            if isinstance(item, ToolResult):
                call = self._open.answered(self._log, item)
                head = self._end if call is None else call
                if call is not None and time < self._latest:
                    time = max(time, *(self._log.time(p) for p in self._log.group(head, self._end)))
        if time < self._latest:
            time = settled_time(self._log, self._end, time, head)
        if isinstance(item, ToolCall):
            head = self._called(item, head, time)
        if time >= self._latest:
            self._store_last(item, head, time)
        else:
            self._store_aside(item, head, time)

    def _called(self, call: ToolCall, head: int, time: float) -> int:
        """The head of the group of a call: of its reply or, where its result came before it, of that."""
        early = None
        if time < self._latest:
            shown = self.view.run_at  # nothing joins what is not shown
            early = early_result(self._log, self._end, call, (time, self._end), shown)
        if early is None:
            self._open.add(call, self._end)
            return head
        self._reply.head = -1  # closed, as by any result
        return early

    def _store_last(self, item: Item, head: int, time: float) -> None:
        self._aside = None
        self._latest = time
        if time != item.created_at:
            self._place(time)
        self._store(item, head)

    def _store_aside(self, item: Item, head: int, time: float) -> None:
        closed = self._shape.closed(self._end, self._log.time)
        self._aside = time
        self._place(time)
        self._store(item, head)
        self._show(inserted(self._log, closed, self._end - 1))
        logger.debug("item %s came late and is shown by its time", item.id)

    def _place(self, time: float) -> None:
        segment = self._segment
        segment.late.append(self._end)
        segment.asides.append(self._end)
        segment.placed[self._end] = time
        segment.arrived[self._end] = self._latest
        insort(segment.places, (time, self._end))

    def _store(self, item: Item, head: int) -> None:
        segment, position = self._segment, self._end
        if isinstance(item, Message):
            if item.role == "user":
                segment.last_users.append(position if self._aside is None else self._last_user(position))
                segment.users.append(position)
            elif item.role != "assistant":
                segment.marks.append(position)
        elif isinstance(item, ToolResult):
            if head == position:
                segment.alone.setdefault(item.call_id, []).append(position)
        elif isinstance(item, _FRAME):
            segment.marks.append(position)
        self._last_far = head != position and (self._last_head != head or self._last_far)
        if self._last_far:
            segment.note_far(head, position)
        self._last_head = head
        segment.record(item, head)
        self._end += 1
        if head != position and (self._last_far or self._is_placed(position) or self._is_placed(head)):
            places = ((self._log.time(p), p) for p in (head, position))
            segment.shown_apart.add(head, position, *places)

    def _is_placed(self, position: int) -> bool:
        return position in self._log.segment(position).placed

    def _last_user(self, late: int) -> int:
        """The message of the user that is shown last of those in the segment, with one that came late."""
        users = (*self._segment.last_users[-1:], late)
        return max(users, key=lambda position: (self._log.time(position), position))

    def _show(self, shape: Shape) -> None:
        self._shape = shape
        self._segment.shapes.append((self._end, shape))
