"""What a conversation holds, worked out from its log: transcripts, the pool, and what was spent."""

from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple

from quire.errors import DuplicateId, OutOfRange, StoreDamaged, WrongType, cut
from quire.items import EDITS, JSON, KINDS, Hide, Item, Note, ToolCall, ToolResult
from quire.session.handles import Handles
from quire.session.recalled import listed_in
from quire.session.spending import Spending
from quire.session.steps import Steps
from quire.state import Pool, Transcript, View
from quire.stores.streams import (
    FORGOTTEN,
    MAIN,
    NAMED,
    ORIGIN,
    PLANS,
    POOL,
    RECALLED,
    RECEIPTS,
    STEPS,
    USAGE,
    WIPED,
    is_own,
)
from quire.stores.tombstones import is_tombstone
from quire.tokens import whole


class Written(NamedTuple):
    """One item, and the stream it is for."""

    stream: str
    item: Item


def mark_of(item: Item) -> bytes:
    """What tells whether two items are the same, word for word."""
    return blake2b(JSON.encode_item(item), digest_size=16).digest()


_OF_CALLS = (ToolCall, ToolResult)

Origin = Callable[[Note], Transcript]
"""The past that a fork begins with, given the note that says which."""


class Workspace:
    """The state of a conversation at a version. Entries are applied in order; nothing else changes it."""

    def __init__(self, origin: Origin | None = None) -> None:
        self._origin = origin
        self.origin: Note | None = None
        """What says where this conversation was forked from."""
        self.version = 0
        self.transcripts: dict[str, Transcript] = {MAIN: Transcript()}
        self._called_in: frozenset[str] = frozenset()  # transcripts in which calls may wait
        self._inherited: dict[str, int] = {}  # how much of a transcript is from before this log began
        self.named: set[str] = set()
        """Names that were given to transcripts, whether somebody has written to them or not."""
        self.pool = Pool()
        self.handles = Handles()
        self.spending = Spending()
        self.steps = Steps()
        self.plans: dict[str, Note] = {}
        """Compactions that were begun and not finished, by id."""
        self.forgetting: dict[str, Note] = {}
        """What somebody began to forget and has not finished, by the id of the note that says so."""
        self.unwiped: set[str] = set()
        """Marks of what was forgotten here, and may still be in the files of the store."""
        self.made: dict[bytes, int] = {}
        """The versions of what was kept for receipts, by the mark of the item."""
        self.recalled: defaultdict[str, set[str]] = defaultdict(set)
        """By which ids quotes are listed that were recalled from elsewhere, by their sources."""
        self._versions: defaultdict[str, array[int]] = defaultdict(lambda: array("Q"))

    def apply(self, written: Sequence[Written]) -> None:
        """Take in what stands in the log next."""
        start = 0
        while start < len(written):  # runs of one stream at a time: a transcript takes several items at once
            stop = start + 1
            while stop < len(written) and written[stop].stream == written[start].stream:
                stop += 1
            self._apply(written[start].stream, [entry.item for entry in written[start:stop]])
            start = stop

    def take(self, name: str, item: Item) -> None:
        """Take in one item of a transcript that is here already."""
        self.version += 1
        self._versions[name].append(self.version)
        self.transcripts[name].append(item)
        if type(item) in _OF_CALLS:
            self._see_calls(name, (item,))

    def check(self, written: Sequence[Written]) -> None:
        """An error where the entries could not be applied; nothing is changed."""
        transcripts: Mapping[str, Transcript] = self.transcripts
        by_stream: dict[str, list[Item]] = {}
        for stream, item in written:
            if type(item) not in KINDS:
                raise WrongType(f"a session keeps items, not {type(item).__name__}")
            if stream == ORIGIN:
                transcripts = {MAIN: self._past(item)}
            elif not is_own(stream):
                by_stream.setdefault(stream, []).append(item)
        for stream, items in by_stream.items():
            _check(transcripts.get(stream), items)

    def views(self) -> dict[str, View]:
        """What each transcript shows now."""
        return {name: transcript.view for name, transcript in self.transcripts.items()}

    def child(self) -> "Workspace":
        """The state of a log that begins where this one stands."""
        child = Workspace(self._origin)
        child.transcripts = {name: transcript.copy() for name, transcript in self.transcripts.items()}
        child._called_in = self._called_in
        child._inherited = {name: len(transcript) for name, transcript in child.transcripts.items()}
        child.pool = self.pool.fork()
        child.handles = Handles(self.handles)
        child.spending = self.spending + Spending()
        return child

    def at(self, version: int) -> dict[str, View]:
        """What each transcript showed at an earlier version; one that nobody had written to is not there."""
        if not 0 <= whole(version, "a version") <= self.version:
            raise OutOfRange(f"there are versions 0 to {self.version}; there is none {version}")
        revisions = {
            name: self._inherited.get(name, 0) + bisect_right(self.versions(name), version)
            for name in self.transcripts
        }
        return {
            name: self.transcripts[name].at(revision)
            for name, revision in revisions.items()
            if revision or name == MAIN
        }

    def versions(self, stream: str) -> Sequence[int]:
        """The version of each entry of a stream, in order."""
        return self._versions.get(stream, ())

    @property
    def forgotten(self) -> int:
        """How often something was forgotten: who was at work meanwhile can tell by it."""
        return len(self.versions(FORGOTTEN))

    def inherits(self, item_id: str) -> bool:
        """Whether an item is from before this log began."""
        return any(True for _ in self.inherited(item_id))

    def inherited(self, item_id: str) -> Iterator[Item]:
        """The item of an id from before this log began, in each transcript that has one."""
        for name, end in self._inherited.items():
            log = self.transcripts[name].view.log
            position = log.find(item_id, end)
            if position is not None:
                yield log.item(position)

    def waiting(self) -> frozenset[str]:
        """The ids of the calls that wait for a result, of all transcripts."""
        return frozenset(call.call_id for call in self.pending())

    def pending(self) -> list[ToolCall]:
        """The calls that wait for a result, of all transcripts."""
        names: Iterable[str] = self._called_in
        if len(self._called_in) > 1:  # in the order of the transcripts, of which there may be thousands
            names = [name for name in self.transcripts if name in self._called_in]
        return [call for name in names for call in self.transcripts[name].view.pending()]

    def _see_calls(self, name: str, items: Sequence[Item]) -> None:
        """Take note of whether calls may wait in a transcript, which has these items now."""
        kinds = {type(item) for item in items}
        if ToolCall in kinds:
            self._called_in |= {name}
        if ToolResult in kinds and not self.transcripts[name].view.pending():
            self._called_in -= {name}

    def _apply(self, stream: str, items: list[Item]) -> None:
        first = self.version + 1
        self.version += len(items)
        self._versions[stream].extend(range(first, self.version + 1))
        if not is_own(stream):
            self._transcript(stream).extend(items)
            self._see_calls(stream, items)
        elif stream == POOL:
            self._pool(items)
        elif stream == STEPS:
            self.steps.take(items, self.pending(), self.forgotten)
        elif stream == RECEIPTS:
            self.made |= {mark_of(item): version for version, item in enumerate(items, first)}
        else:
            self._note(stream, [item for item in items if not is_tombstone(item)])

    def _note(self, stream: str, items: list[Item]) -> None:
        """Take in what is kept beside what was said; of what was forgotten of it, nothing is known."""
        if stream == ORIGIN:
            self._begin(items)
        elif stream == FORGOTTEN:
            self._forget(items)
        elif stream == PLANS:
            self._plan(items)
        elif stream == USAGE:
            self.spending.take(items)
        elif stream == RECALLED:
            for source, listed in listed_in(items):
                self.recalled[source].add(listed)
        elif stream == WIPED:
            self.unwiped.difference_update(*(item.content["of"] for item in items if isinstance(item, Note)))
        elif stream == NAMED:
            self.named.update(item.content["name"] for item in items if isinstance(item, Note))

    def _transcript(self, name: str) -> Transcript:
        if name not in self.transcripts:
            self.transcripts[name] = Transcript()
        return self.transcripts[name]

    def _begin(self, items: Iterable[Item]) -> None:
        """Begin with the past of another conversation."""
        for item in items:
            self.transcripts[MAIN] = self._past(item)
            self._inherited[MAIN] = len(self.transcripts[MAIN])
            self._called_in |= {MAIN}
            self.origin = item if isinstance(item, Note) else None

    def _past(self, origin: Item) -> Transcript:
        if self._origin is None or not isinstance(origin, Note):
            raise StoreDamaged("the conversation that this one was forked from is not known")
        return self._origin(origin)

    def _forget(self, items: Iterable[Item]) -> None:
        for item in items:
            if isinstance(item, Note) and item.content.get("of") is not None:
                self.forgetting.pop(item.content["of"], None)
                self.unwiped.update(item.content.get("unwiped", ()))
            elif isinstance(item, Note):
                self.forgetting[item.id] = item

    def _plan(self, items: Iterable[Item]) -> None:
        for item in items:
            if isinstance(item, Note):
                self.plans[item.id] = item
            elif isinstance(item, Hide):
                for span in item.spans:
                    self.plans.pop(span.first, None)

    def _pool(self, items: Iterable[Item]) -> None:
        for item in items:
            if isinstance(item, Note) and is_tombstone(item):
                self._put_out(str(item.extras.get("instead_of", "")))
            elif isinstance(item, Note):
                self.pool.add(item)
                self.handles.expect(item, self.waiting)
            elif isinstance(item, Hide):
                for span in item.spans:
                    self._put_out(span.first, str(item.extras.get("key", "")))

    def _put_out(self, note_id: str, key: str = "") -> None:
        """Take a note out, unless it is out: two who did not know of each other may say so."""
        if key not in self.pool:
            key = next((note.key or "" for note in self.pool if note.id == note_id), "")
        if key in self.pool and self.pool.get(key).id == note_id:
            self.pool.remove(key)


def _check(transcript: Transcript | None, items: list[Item]) -> None:
    """An error where a transcript would not take the items. Only edits have to be tried."""
    if any(type(item) in EDITS for item in items):
        (Transcript() if transcript is None else transcript.copy()).extend(items)
        return
    known: set[str] = set()
    for item in items:
        if item.id in known or (transcript is not None and item.id in transcript):
            raise DuplicateId(f"item {cut(item.id)!r} is in the transcript already")
        known.add(item.id)
