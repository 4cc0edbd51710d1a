"""The transcript: what happened, in order. It only grows.

Edits are items too, and the view is the log with them applied.

Appending, forking and asking for the view take the same time for ten items and for a hundred thousand.
"""

from bisect import bisect_right
from collections.abc import Iterable

from quire.errors import DuplicateId, OutOfRange, WrongType, cut
from quire.items import EDITS, KINDS, Item
from quire.state.closing import closing_results
from quire.state.groups import is_edit
from quire.state.growth import Growth
from quire.state.shape import Shape
from quire.state.view import View
from quire.tokens import digits, whole


def checked_transcript(transcript: object) -> "Transcript":
    """The transcript, if it is one."""
    if not isinstance(transcript, Transcript):
        raise WrongType(f"expected a transcript, not {type(transcript).__name__}")
    return transcript


class Transcript(Growth):
    """An append-only log with a view. One writer at a time; views and forks may be read from any thread."""

    __slots__ = ()

    def __init__(self, items: Iterable[Item] = ()) -> None:
        super().__init__()
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
                return View(self._log, segment.shapes[index - 1][1].grown(revision, self._log.time), revision)
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
            if self._end > kept.end:
                # Forks and views may share the segment, so what was added is left behind in it, unseen.
                self._log = self._log.forked_at(kept.end, highest)
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
