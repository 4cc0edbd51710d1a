"""The end of a log: where the next item goes, by which time it is shown, and what it belongs to.

A transcript is this with the verbs for everybody else. Plain items touch the last segment and nothing else;
what comes late is put in its place in the shape.
"""

import logging
from bisect import insort

from quire.items import ConfigChange, Edit, Handoff, Item, Message, Summary, ToolCall, ToolResult, kind_of
from quire.state.editing import Editor
from quire.state.groups import Reply, begins_merge, first_of_merge, is_output
from quire.state.log import EDIT, Log, Segment
from quire.state.placing import Following, inserted, settled_time
from quire.state.shape import Shape
from quire.state.tip import Marks, Tip
from quire.state.view import View
from quire.state.waiting import Waiting, early_result

logger = logging.getLogger("quire.state")

_FRAME = (ConfigChange, Handoff, Summary)  # structural, like messages of the system and the developer


class Growth:
    """A log that grows at its end, and the shape that it is shown in."""

    __slots__ = (
        *("_aside", "_end", "_following", "_last_far", "_last_head", "_latest", "_log", "_open"),
        *("_owned", "_reply", "_segment", "_shape"),
    )

    def __init__(self) -> None:
        self._segment = Segment(0)
        self._log = Log((self._segment,))
        self._owned = True  # whether the last segment is ours to grow
        self._end = 0
        self._shape = Shape()
        self._latest: float = float("-inf")  # the time of what is shown last
        self._open = Waiting()
        self._reply = Reply()  # the model's output at the end, which the next item may join
        self._aside: float | None = None  # the time by which the last item is shown, if that is not last
        self._following: Following | None = None  # what comes after the last item, where that is known
        self._last_head: int = EDIT
        self._last_far: bool = False

    @property
    def view(self) -> View:
        """What is shown now."""
        return View(self._log, self._shown(), self._end, self._open.positions() if self._open else ())

    def _tip(self) -> Tip:
        marks = Marks(self._latest, self._aside, self._following, self._last_head, self._last_far)
        return Tip(self._end, self._shape, self._open.copy(), self._reply.copy(), marks)

    def _set_tip(self, tip: Tip) -> None:
        self._end, self._shape, self._open, self._reply, marks = tip
        self._latest, self._aside, self._following, self._last_head, self._last_far = marks

    def _own(self) -> None:
        self._log = self._log.forked_at(self._end)
        self._segment = self._log.segments[-1]
        self._owned = True

    def _append_edit(self, edit: Edit) -> None:
        shape = Editor(self._log, self._shown(), self._end, self._open.positions()).apply(edit)
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
            elif item.extras:
                head, time = self._merged_reply(item, time)
        else:
            self._reply.head = -1  # closed: whatever comes next begins something new
            if isinstance(item, ToolResult):
                call = self._open.answered(self._log, item)
                if call is not None:
                    head, time = call, self._not_before(call, time)
        if time < self._latest:
            time = self._settled(time, head)
        if isinstance(item, ToolCall):
            head = self._called(item, head, time)
        if time >= self._latest:
            self._store_last(item, head, time)
        else:
            self._store_aside(item, head, time)

    def _merged_reply(self, output: Item, time: float) -> tuple[int, float]:
        """The head and the time of an output whose reply others spoke into between two merges of it."""
        first = first_of_merge(output)
        known = self._log.find(first, self._end) if first else None
        if known is None or self._log.head(known) == EDIT or not begins_merge(self._log.item(known)):
            return self._end, time
        head = self._log.head(known)
        if self.view.run_at(head) is None:  # nothing joins what is not shown
            return self._end, time
        self._reply.head = head
        return head, self._not_before(head, time)

    def _not_before(self, head: int, time: float) -> float:
        """A time that is not before any of a group."""
        if time >= self._latest:
            return time
        return max(time, *(self._log.time(p) for p in self._log.group(head, self._end)))

    def _settled(self, time: float, head: int) -> float:
        """The time by which an item that came late is shown."""
        if self._is_next(time, head):
            return time
        self._following = None
        time, following = settled_time(self._log, self._end, time, head)
        if time < self._latest:
            self._following = following
            self._shape = self._shown()._replace(grows=False)
        return time

    def _is_next(self, time: float, head: int) -> bool:
        """Whether an item that came late belongs right after the one that was recorded last.

        All that comes after an item that is ahead of the clock does, so it should cost no more than others.
        """
        known = self._following
        if known is None or self._aside is None or not self._shape.grows:
            return False
        apart = known.head != self._last_head or known.head == head
        return apart and self._aside <= time < known.time

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
        if self._shape.grows:
            self._show(self._shape.grown(self._end - 1, self._log.time)._replace(grows=False))

    def _store_aside(self, item: Item, head: int, time: float) -> None:
        shape, position = self._shape, self._end
        if not shape.grows:
            shape = shape.closed(position, self._log.time)
        self._aside = time
        self._place(time)
        self._store(item, head)
        if not shape.grows:
            self._show(inserted(self._log, shape, position))
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
        segment.record(item, head)
        self._end += 1
        if head == position:
            self._last_far = False
        else:
            self._join(head, position)
        self._last_head = head

    def _join(self, head: int, position: int) -> None:
        """Take note of how far an item is from the group that it joins."""
        self._last_far = self._last_head != head or self._last_far
        if self._last_far:
            self._segment.note_far(head, position)
        if self._last_far or self._is_placed(position) or self._is_placed(head):
            places = ((self._log.time(p), p) for p in (head, position))
            self._segment.shown_apart.add(head, position, *places)

    def _is_placed(self, position: int) -> bool:
        return position in self._log.segment(position).placed

    def _last_user(self, late: int) -> int:
        """The message of the user that is shown last of those in the segment, with one that came late."""
        users = (*self._segment.last_users[-1:], late)
        return max(users, key=lambda position: (self._log.time(position), position))

    def _shown(self) -> Shape:
        self._shape = shape = self._shape.grown(self._end, self._log.time)
        return shape

    def _show(self, shape: Shape) -> None:
        self._shape = shape
        self._segment.shapes.append((self._end, shape))
