"""The transcript: what happened, in order of arrival. It only grows.

Edits are items too, and the view is the log with them applied. Appending, forking and taking the view cost
the same for ten items and for a hundred thousand.
"""

import logging
from collections.abc import Iterable
from typing import NamedTuple

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
from quire.state.edits import Editor
from quire.state.groups import OpenCalls, Reply, is_edit, is_output
from quire.state.log import Log, Segment
from quire.state.shape import Shape
from quire.state.view import View, checked_view
from quire.tokens import whole

logger = logging.getLogger("quire.state")

CLOSED = "quire.closed"
"""The key of `extras` that marks a result no tool gave; its value says what closed the call."""

_STRUCTURAL = frozenset((ConfigChange, Handoff, Summary))


class Tip(NamedTuple):
    """The end of a log, and all that decides what becomes of the next item."""

    end: int
    shape: Shape
    open_calls: OpenCalls
    reply: Reply


class Transcript:
    """An append-only log with a view. One writer at a time; views and forks may be read from any thread."""

    __slots__ = ("_end", "_log", "_open", "_owned", "_reply", "_segment", "_shape")

    def __init__(self, items: Iterable[Item] = ()) -> None:
        self._segment = Segment(0)
        self._log = Log((self._segment,))
        self._owned = True  # whether the last segment may grow by what is appended here
        self._end = 0
        self._shape = Shape()
        self._open = OpenCalls()
        self._reply = Reply()
        self.extend(items)

    @classmethod
    def resume(cls, log: Log, tip: Tip) -> "Transcript":
        """A transcript over an existing log, whose segments may be lazy. It does not write to the log."""
        transcript = cls.__new__(cls)
        transcript._segment, transcript._log, transcript._owned = log.segments[-1], log, False
        transcript._set_tip(tip)
        return transcript

    def __len__(self) -> int:
        return self._end

    def __contains__(self, item_id: object) -> bool:
        return isinstance(item_id, str) and self._log.find(item_id, self._end) is not None

    def __repr__(self) -> str:
        return f"<Transcript of {self._end} items, {len(self.view)} shown>"

    @property
    def revision(self) -> int:
        """How many items have been recorded; `at` takes it."""
        return self._end

    @property
    def view(self) -> View:
        """What is shown now."""
        return View(self._log, self._shape, self._end, self._open.positions() if self._open else ())

    @property
    def tip(self) -> Tip:
        """What `resume` needs beside the log."""
        return Tip(self._end, self._shape, self._open.copy(), self._reply.copy())

    def _set_tip(self, tip: Tip) -> None:
        self._end, self._shape, self._open, self._reply = tip

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
        return View(self._log, self._log.shape_at(revision), revision)

    def _check_revision(self, revision: int) -> None:
        if not 0 <= whole(revision, "a revision") <= self._end:
            raise OutOfRange(f"there are revisions 0 to {self._end}; there is none {revision}")

    def append(self, item: Item) -> None:
        """Record one item; an error changes nothing."""
        kind = type(item)
        if kind not in KINDS:
            raise WrongType(f"a transcript takes items, not {kind.__name__}")
        if not self._owned:
            self._own()
        segment = self._segment
        if item.id in segment.ids or (segment.start and item.id in self):
            raise DuplicateId(f"item {cut(item.id)!r} is in the transcript already")
        if kind in EDITS and is_edit(item):
            self._append_edit(item)
            return
        position = head = self._end
        if is_output(item):
            head = self._reply.join(item, position)
            if isinstance(item, ToolCall):
                self._open.add(item, position, head)
        else:
            self._reply.head = -1  # whatever comes next begins a new reply
            if isinstance(item, Message):
                (segment.users if item.role == "user" else segment.marks).append(position)
            elif isinstance(item, ToolResult):
                call = self._open.answer(item)
                head = position if call is None else call[1]
            elif kind in _STRUCTURAL:
                segment.marks.append(position)
        if head != position and not self._is_adjacent(head, position):
            segment.far.setdefault(head, []).append(position)
        segment.record(item, head)
        self._end = position + 1

    def _is_adjacent(self, head: int, position: int) -> bool:
        """Whether all items from `head` to before a position are of its group."""
        segment = self._segment
        if head >= segment.start:
            return segment.heads[-1] == head and head not in segment.far
        pieces = self._log.pieces(head, position)
        return self._log.head(position - 1) == head and all(head not in one.far for one, _, _ in pieces)

    def _append_edit(self, edit: Edit) -> None:
        self._shape = Editor(self._log, self._shape, self._end, self._open.positions()).apply(edit)
        self._segment.record_edit(edit)
        self._end += 1
        self._segment.shapes.append((self._end, self._shape))
        if self._reply.head >= 0 and self._shape.run_at(self._reply.head, self._end) is None:
            self._reply.head = -1  # nothing joins a reply that is not shown
        logger.debug("edit %s of kind %s", edit.id, kind_of(edit))

    def _own(self) -> None:
        self._log = self._log.forked_at(self._end)
        self._segment = self._log.segments[-1]
        self._owned = True

    def extend(self, items: Iterable[Item]) -> None:
        """Record several items, all or none."""
        if not isinstance(items, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"a transcript takes several items, not {type(items).__name__}")
        kept = self.tip
        try:
            for item in items:
                self.append(item)
        except BaseException:
            if self._end > kept.end:
                # Forks and views may share the segment, so what was added is left behind in it, unseen.
                self._log = self._log.forked_at(kept.end)
                self._segment = self._log.segments[-1]
            self._set_tip(kept)
            raise

    def fork(self) -> "Transcript":
        """A transcript with the same past and a future of its own. Open calls are closed in it."""
        child = self.copy()
        if child._open:
            child.extend(closing_results(child.view))
        return child

    def copy(self) -> "Transcript":
        """A transcript with the same past, open calls included: to try what would become of it."""
        return Transcript.resume(self._log, self.tip)

    __copy__ = copy  # Python's own would have two writers of one segment

    def __deepcopy__(self, _memo: object) -> "Transcript":
        return self.copy()  # items do not change, so they may be shared


def checked_transcript(transcript: object) -> Transcript:
    """The transcript, or `WrongType`."""
    if not isinstance(transcript, Transcript):
        raise WrongType(f"expected a transcript, not {type(transcript).__name__}")
    return transcript


def closing_results(view: View) -> list[Item]:
    """A neutral result for every open call, marked as such: what a fork needs to go on."""
    text = "No result: the conversation was forked while this call was running."
    return [
        ToolResult(call.call_id, call.name, text, extras={CLOSED: "fork"})
        for call in checked_view(view).pending()
    ]


def is_closing(item: Item) -> bool:
    """Whether an item is a result that no tool gave."""
    return isinstance(item, ToolResult) and CLOSED in item.extras
