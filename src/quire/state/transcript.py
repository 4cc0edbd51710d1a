"""The transcript: what happened, in order of arrival. It only grows.

Edits are items too, and the view is the log with its edits applied. Appends, forks and views cost the same
for ten items as for a hundred thousand.
"""

from collections.abc import Iterable
from typing import NamedTuple

from quire.errors import DuplicateId, OutOfRange, WrongType, cut
from quire.items import EDITS, KINDS, ConfigChange, Edit, Item, Message, Summary, ToolResult
from quire.state.edits import edited
from quire.state.groups import Grouping, is_edit
from quire.state.log import EDIT, PAGE, Log, Segment
from quire.state.shape import Shape
from quire.state.view import View
from quire.tokens import whole

CLOSED = "quire.closed"
"""The key of `extras` that marks a result without a tool; its value says what closed the call."""


class Tip(NamedTuple):
    """The length, shape and grouping of a transcript, from which `resume` continues."""

    end: int
    shape: Shape
    grouping: Grouping


_EMPTY = Shape()


class Transcript:
    """An append-only log with a view.

    One writer at a time may append; any thread may read views and forks.
    """

    __slots__ = ("_end", "_grouping", "_log", "_owns_segment", "_segment", "_shape")

    def __init__(self, items: Iterable[Item] = ()) -> None:
        self._segment = Segment(0)
        self._log = Log((self._segment,))
        self._owns_segment = True  # whether this transcript may append to the last segment
        self._end = 0
        self._shape = _EMPTY
        self._grouping = Grouping()
        self.extend(items)

    @classmethod
    def resume(cls, log: Log, tip: Tip) -> "Transcript":
        """A transcript over an existing log, to which it never writes."""
        transcript = cls.__new__(cls)
        transcript._segment, transcript._log, transcript._owns_segment = log.segments[-1], log, False
        transcript._end, transcript._shape, transcript._grouping = tip
        return transcript

    def __len__(self) -> int:
        return self._end

    def __contains__(self, item_id: object) -> bool:
        if not isinstance(item_id, str) or item_id > self._segment.highest:
            return False
        return self._log.find(item_id, self._end) is not None

    def __repr__(self) -> str:
        return f"<Transcript of {self._end} items, {len(self.view)} shown>"

    @property
    def revision(self) -> int:
        """The number of recorded items; see `at`."""
        return self._end

    @property
    def view(self) -> View:
        """What is shown now."""
        return View(self._log, self._shape, self._end, self._grouping.open_calls())

    @property
    def tip(self) -> Tip:
        """The state from which `resume` continues."""
        return Tip(self._end, self._shape, self._grouping.copy())

    def get(self, item_id: str) -> Item:
        """The item with this id, as it was recorded."""
        return self.view.get(item_id)

    def recorded(self, since: int = 0) -> list[Item]:
        """All items since a revision, in order of arrival, edits included."""
        self._check_revision(since)
        return self._log.items(since, self._end)

    def at(self, revision: int) -> View:
        """What was shown at an earlier revision."""
        self._check_revision(revision)
        return View(self._log, self._log.shape_at(revision), revision)

    def past(self, revision: int) -> "Transcript":
        """A transcript that continues from an earlier revision."""
        self._check_revision(revision)
        tip = Tip(revision, self._log.shape_at(revision), self._log.grouping_at(revision))
        return Transcript.resume(self._log, tip)

    def _check_revision(self, revision: int) -> None:
        if not 0 <= whole(revision, "a revision") <= self._end:
            raise OutOfRange(f"there are revisions 0 to {self._end}; there is none {revision}")

    def append(self, item: Item) -> None:
        """Record one item; an error changes nothing."""
        kind = type(item)
        if kind not in KINDS:
            raise WrongType(f"a transcript takes items, not {kind.__name__}")
        if not self._owns_segment:
            self._log = self._log.forked_at(self._end)
            self._segment, self._owns_segment = self._log.segments[-1], True
        segment = self._segment
        if item.id <= segment.highest and self._log.find(item.id, self._end) is not None:
            raise DuplicateId(f"item {cut(item.id)!r} is in the transcript already")
        if kind in EDITS and is_edit(item):
            self._append_edit(item)
            return
        head = self._grouping.add(item, self._end)
        is_late = kind is ToolResult and head < self._end and self._log.is_late(head, self._end)
        segment.record(item, head, is_late=is_late)
        self._end += 1
        if not self._end % PAGE:
            segment.page_groupings[self._end] = self._grouping.copy()

    def _append_edit(self, edit: Edit) -> None:
        self._shape = edited(self.view, edit)
        self._segment.record(edit, EDIT)
        self._end += 1
        self._segment.record_shape(self._shape)
        if self._grouping.reply >= 0 and self._shape.run_at(self._grouping.reply, self._end) is None:
            self._grouping.reply = -1  # nothing joins a reply that is not shown
        if not self._end % PAGE:
            self._segment.page_groupings[self._end] = self._grouping.copy()

    def extend(self, items: Iterable[Item]) -> None:
        """Record several items, all or none."""
        before = self.tip
        try:
            for item in items:
                self.append(item)
        except BaseException:
            # Forks and views may share the segment, so the new items stay in it, out of reach.
            self._owns_segment = self._owns_segment and self._end == before.end
            self._end, self._shape, self._grouping = before
            raise

    def fork(self) -> "Transcript":
        """An independent transcript with the same past, in which open calls are closed."""
        child = self.copy()
        if not self._grouping.open_calls():
            return child
        text = "No result: the conversation was forked while this call was running."
        for call in self.view.pending():
            child.append(ToolResult(call.call_id, call.name, text, extras={CLOSED: "fork"}))
        return child

    def copy(self) -> "Transcript":
        """An independent transcript with the same past, open calls included."""
        return Transcript.resume(self._log, self.tip)

    __copy__ = copy  # the default copy would give one segment two writers

    def __deepcopy__(self, _memo: object) -> "Transcript":
        return self.copy()  # items never change


class Config(NamedTuple):
    """The instructions of a model and the names of its tools; `None` where none were set."""

    instructions: str | None = None
    tools: tuple[str, ...] | None = None


def config_at(view: View, item_id: str | None = None, *, separator: str = "\n") -> Config:
    """The configuration after an item, by default at the end; for a summary, after the first item it covers.

    It is read from the log and not from the view, so edits do not change it. `separator` joins the text parts
    of a message.
    """
    end = view.end
    if item_id is not None:
        item = view.get(item_id)
        first = item.spans[0].first if isinstance(item, Summary) and item.spans else item_id
        end = view.position(first) + 1
    config = Config()
    for position in view.log.positions("marks", 0, end):
        item = view.log.item(position)
        if isinstance(item, ConfigChange):
            instructions = config.instructions if item.instructions is None else item.instructions
            config = Config(instructions, config.tools if item.tools is None else item.tools)
        elif isinstance(item, Message):
            texts = (part for part in item.parts if isinstance(part, str))
            config = config._replace(instructions=separator.join(texts))
    return config
