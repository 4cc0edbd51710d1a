"""The state of a conversation, computed from the entries of its log. Nothing else changes it."""

from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from hashlib import blake2b
from itertools import count, groupby
from operator import attrgetter
from typing import Any, NamedTuple, TypeGuard

import msgspec

from quire.errors import DuplicateId, OutOfRange, StoreDamaged, cut
from quire.items import EDITS, JSON, Hide, Item, Mask, Note, ToolCall, new_id, now
from quire.session.entries import (
    AcceptedJob,
    ApprovedCalls,
    BegunCalls,
    CancelledJob,
    EndedJob,
    JobEntry,
    Lease,
    OwnedCalls,
    TakenJob,
    call_entry,
    job_entry,
    note_of,
)
from quire.session.spending import Spending
from quire.state import PAGE, Cut, Outline, Pool, Transcript, View
from quire.stores import Entry, Stored
from quire.stores.store import is_own, is_tombstone
from quire.stores.streams import (
    CALLS,
    FORGOTTEN,
    JOBS,
    MAIN,
    NAMED,
    OF,
    ORIGIN,
    PLANS,
    POOL,
    RECALLED,
    RECEIPT_PARTS,
    RECEIPTS,
    USAGE,
    WIPED,
)
from quire.tokens import whole

_DETAIL, _CANDIDATES = "receipt detail", "receipt candidates"
"""Descriptions of notes that receipts name."""

SKIMMED = frozenset((RECEIPTS, RECEIPT_PARTS))
"""The streams of which few fields are read: their entries may be large."""


ITEM_WEIGHT = 900
"""Bytes of memory for an item besides its body, measured with messages of 20 to 10,000 characters."""

_TRACKED = frozenset((ORIGIN, POOL, PLANS, CALLS, JOBS))
"""The streams of which some entries are needed later by their versions."""


class Written(NamedTuple):
    """One item, and the stream it is in."""

    stream: str
    item: Item


def weight_of(entry: Entry | Stored) -> int:
    """About how many bytes of memory an entry takes whose item is kept, and rendered for requests."""
    return len(entry.body) + ITEM_WEIGHT


def detail(content: Any, sources: Sequence[str]) -> Note:
    """A note for receipts to name; notes of the same content have the same mark."""
    return Note(content=content, description=_DETAIL, extras={OF: list(sources)} if sources else {})


def candidates(content: bytes, sources: Sequence[str]) -> Note:
    """A note for one receipt to name."""
    return Note(content=content, description=_CANDIDATES, extras={OF: list(sources)})


class _SkimmedPart(msgspec.Struct):
    """A part of a receipt, of which little is read."""

    description: str | None = None
    content: msgspec.Raw = msgspec.Raw()
    extras: msgspec.Raw = msgspec.Raw()


class _SectionCut(msgspec.Struct):
    """A section in a receipt, and where it was cut."""

    name: str
    cut: Cut | None = None


class _Sections(msgspec.Struct):
    parts: list[_SectionCut] = []


class _SkimmedReceipt(msgspec.Struct):
    """A receipt, of which the cuts are read."""

    content: _Sections


_skim_part = msgspec.json.Decoder(_SkimmedPart).decode
_skim_receipt = msgspec.json.Decoder(_SkimmedReceipt).decode


def is_in(view: View | None, item: Item) -> bool:
    """Whether an item is in the log of a view as it is."""
    position = None if view is None else view.log.find(item.id, view.end)
    return view is not None and position is not None and view.log.item(position) == item


def mark_of(item: Item) -> bytes:
    """A digest that is equal for equal items, and for details with equal content."""
    body = JSON.encode_item(item)
    return _mark(body, _skim_part(body))


def _mark(body: bytes, skimmed: _SkimmedPart) -> bytes:
    if skimmed.description == _DETAIL:
        body = b"%b %b" % (skimmed.content, skimmed.extras)
    return blake2b(body, digest_size=16).digest()


def sources_of(item: Item) -> Collection[str]:
    """The names of the items that an item says it was made of; what its spans cover is not included.

    An item of this conversation, its forks and relatives is named by its id, one of another conversation by
    `digest/id`, with the digest of its conversation.
    """
    if isinstance(item, Mask):
        return (item.target,)
    extras = getattr(item, "extras", None)
    return extras.get(OF, ()) if extras else ()


Past = Callable[[Note], tuple[Transcript, int]]
"""Returns the past of a fork, given its note of origin, and how often something was forgotten there."""

_MAX_ENDED = 32
"""How many of the latest jobs that ended are known without reading: one of them that comes again is known.

All that were cancelled are, too: the message of one that never began is nowhere else on the record.
"""

_MAX_RECEIPT_PARTS = 512
"""How many of the latest items that receipts name are known by their marks, to be kept once."""


class Versions:
    """The versions of the items of a transcript, in order. Those of an archive are read page by page."""

    def __init__(
        self,
        outline: Outline | None = None,
        firsts: Sequence[int] = (),
        of_page: Callable[[int], Sequence[int]] = lambda _: (),
    ) -> None:
        self._start = 0 if outline is None else outline.start
        self._length = 0 if outline is None else outline.end - outline.start
        self._firsts, self._of_page = firsts, of_page  # the first version of each page
        self._own = array("Q")

    def __len__(self) -> int:
        return self._length + len(self._own)

    def __getitem__(self, index: int) -> int:
        return self.between(index, index + 1)[0]

    def append(self, version: int) -> None:
        """Add the version of one more item."""
        self._own.append(version)

    def extend(self, versions: Iterable[int]) -> None:
        """Add the versions of more items."""
        self._own.extend(versions)

    def between(self, first: int, last: int) -> list[int]:
        """The versions of the items from an index to before another."""
        found: list[int] = []
        while first < min(last, self._length):
            number = (self._start + first) // PAGE
            begin = max(number * PAGE - self._start, 0)
            page = self._of_page(number)[first - begin : min(last, self._length) - begin]
            found += page
            first += len(page)
        return [*found, *self._own[max(first - self._length, 0) : max(last - self._length, 0)]]

    def count_until(self, version: int) -> int:
        """How many items were recorded up to a version."""
        if self._own and version >= self._own[0]:
            return self._length + bisect_right(self._own, version)
        index = bisect_right(self._firsts, version) - 1
        if index < 0:
            return 0
        number = self._start // PAGE + index
        begin = max(number * PAGE - self._start, 0)
        return min(begin + bisect_right(self._of_page(number), version), self._length)


class CallsState:
    """The calls without a result: which were begun, are of the turn of an agent, and are approved.

    All of it is by the ids of the items of calls, because call ids may repeat.
    """

    def __init__(self) -> None:
        self.begun: dict[str, tuple[str, BegunCalls]] = {}
        """The calls that were about to be run, each with the id of the note that says so and what it says."""
        self.owned: dict[str, str] = {}
        """The calls that the turn of an agent made, each with the id of the note that says so."""
        self.approved: dict[str, str] = {}
        """The calls that a person lets run, likewise."""

    def take(self, items: Iterable[Item], pending: Sequence[ToolCall]) -> None:
        """Apply items of the stream of calls. Nothing is kept of calls that were answered."""
        for item in items:
            match call_entry(item):
                case BegunCalls() as begun:
                    self.begun |= dict.fromkeys(begun.calls, (item.id, begun))
                case OwnedCalls(calls):
                    self.owned |= dict.fromkeys(calls, item.id)
                case ApprovedCalls(calls):
                    self.approved |= dict.fromkeys(calls, item.id)
        waiting = {call.id for call in pending}
        self.begun = {call: entry for call, entry in self.begun.items() if call in waiting}
        self.owned = {call: note for call, note in self.owned.items() if call in waiting}
        self.approved = {call: note for call, note in self.approved.items() if call in waiting}

    def entries(self) -> set[str]:
        """The ids of the notes that have to be applied again to arrive at the same."""
        return {note for note, _ in self.begun.values()}.union(self.owned.values(), self.approved.values())


class JobsState:
    """The jobs that were accepted and have not ended, and who has taken one last."""

    def __init__(self) -> None:
        self.pending: dict[str, PendingJob] = {}
        """By the ids of jobs, in order."""
        self.taken: TakenJob | None = None
        """The last entry of a job that was taken."""
        self.begun: dict[str, TakenJob] = {}
        """The last such entry of each pending job that was ever taken."""
        self.ended: dict[str, tuple[str, EndedJob]] = {}
        """The latest jobs that ended, each with the id of its note."""
        self.cancelled: dict[str, str] = {}
        """The pending jobs that are to end at their next safe point, each with the id of the note."""
        self._notes: dict[str, str] = {}  # by job, the note of the entry in `begun`
        self._taken_note = ""
        self._latest: list[Item] = []  # the items of the job that those which follow belong to
        self._before = 0  # how many more of them come before its message, notes among them

    def copy(self) -> "JobsState":
        """The same jobs; what is applied to one is not seen by the other."""
        copied = copy(self)
        for name in ("pending", "begun", "ended", "cancelled", "_notes"):
            setattr(copied, name, dict(getattr(self, name)))
        return copied

    @property
    def claim(self) -> str | None:
        """The claim under which a job was taken last: nobody else may write a turn."""
        return None if self.taken is None else self.taken.lease.claim

    @property
    def holder(self) -> TakenJob | None:
        """The entry of the job that is being done."""
        return None if self.taken is None else self.begun.get(self.taken.job)

    @property
    def is_cancelled(self) -> bool:
        """Whether the job that is being done is to end."""
        return self.taken is not None and self.taken.job in self.cancelled

    def before(self, job_id: str) -> str | None:
        """The job that was begun and has not ended, and goes first; `None` if it is this one."""
        return None if job_id in self.begun else next(iter(self.begun), None)

    def steering(self) -> "list[PendingJob]":
        """The jobs whose messages are shown to the turn that runs."""
        due = [job for job in self.pending.values() if job.entry.not_before <= now()]
        return [job for job in due if job.entry.steers and job.entry.job not in self.begun]

    def are_settled_by(self, written: Iterable[Written]) -> bool:
        """Whether no job is pending once some entries were applied."""
        entries = [job_entry(item) for stream, item in written if stream == JOBS]
        left = {*self.pending, *(entry.job for entry in entries if isinstance(entry, AcceptedJob))}
        return left <= {entry.job for entry in entries if isinstance(entry, EndedJob)}

    def take(self, items: Iterable[Item]) -> None:
        """Apply items of the stream of jobs."""
        for item in items:
            entry = None if self._before else job_entry(item)
            match entry:
                case AcceptedJob(job, before):
                    self._latest, self._before = [], before
                    self.pending[job] = PendingJob(item.id, entry, self._latest)
                case TakenJob(job):
                    self.taken, self._taken_note = entry, item.id
                    if job in self.pending:
                        self.begun[job], self._notes[job] = entry, item.id
                case CancelledJob(job):
                    self.cancelled |= {job: item.id} if job in self.pending else {}
                case EndedJob(job):
                    for known in (self.pending, self.begun, self.cancelled, self._notes):
                        known.pop(job, None)
                    self.ended[job] = item.id, entry
                    ended = [name for name, (_, end) in self.ended.items() if end.stop != "cancelled"]
                    for job_id in ended[:-_MAX_ENDED]:
                        del self.ended[job_id]
                case None:
                    self._take_brought(item)

    def _take_brought(self, item: Item) -> None:
        if self._before or not isinstance(item, Note):
            self._before -= bool(self._before)
            self._latest.append(item)
        else:  # a job that was forgotten
            self._latest = []

    def entries(self) -> set[str]:
        """The ids of the items that have to be applied again to arrive at the same."""
        taken = [self._taken_note] if self._taken_note else []
        pending = {item.id for job in self.pending.values() for item in job.items}
        accepted = [job.note for job in self.pending.values()]
        ended = [note for note, _ in self.ended.values()]
        return pending.union(accepted, taken, self.cancelled.values(), self._notes.values(), ended)


class PendingJob(NamedTuple):
    """A job that has not ended: the id of the note that accepts it, what that says, and what it brings."""

    note: str
    entry: AcceptedJob
    items: list[Item]


def is_job(item: Item) -> TypeGuard[Note]:
    """Whether an item of the stream of jobs is the note that one was accepted."""
    return isinstance(job_entry(item), AcceptedJob)


def ended_plan(note: Note) -> str | None:
    """The id of the compaction that a note of the stream of plans ends; `None` if it begins one.

    A compaction that is about to ask a model has a note, under a lease, which is written again, with the same
    id, to renew the lease. Then a note with `of`, the id of the first, says what became of it. `of` is empty
    where no model was asked.
    """
    of: str | None = note.content.get("of")
    return of


class State:
    """The state of a conversation at a version. Entries are applied in order."""

    def __init__(self, past: Past | None = None) -> None:
        self._past = past
        self.version = 0
        self.origin: Note | None = None
        """Of a fork: where it began."""
        self.transcripts: dict[str, Transcript] = {MAIN: Transcript()}
        self.named: set[str] = set()
        """Names that were reserved for transcripts."""
        self.pool = Pool()
        self.spending = Spending()
        self.calls = CallsState()
        self.jobs = JobsState()
        self.plans: dict[str, Note] = {}
        """Compactions that were begun and not finished, by id."""
        self.receipt_parts: dict[bytes, int] = {}
        """The versions of what was kept for receipts, by mark."""
        self.cuts: dict[str, Cut] = {}
        """Where sections were cut in the last request that was sent."""
        self.quoting: set[tuple[str, str]] = set()
        """Of the conversation of links: pairs of digests, of a conversation and of one that quoted it."""
        self.forgetting: dict[str, Note] = {}
        """Intents to forget that are not finished, by id."""
        self.unwiped: set[str] = set()
        """Marks of what was forgotten and may still be in the files of the store."""
        self.erased_names: set[str] = set()
        """Names of all that was ever forgotten: what names one of these is a tombstone when it is written."""
        self.forgotten = 0
        """How often something was forgotten."""
        self.past_forgotten = 0
        """Of a fork: how often something was forgotten where it began."""
        self.latest: dict[str, int] = {}
        """The version of the last entry of each stream."""
        self.own_versions: defaultdict[str, Versions] = defaultdict(Versions)
        """The versions of the items of each transcript that are in this log."""
        self.versions_by_id: dict[str, int] = {}
        """The versions of entries of the session's own, by the ids of their items, as far as they matter."""
        self._inherited: dict[str, int] = {}  # how many items of a transcript are from before this log

    def apply(self, written: Sequence[Written]) -> None:
        """Apply the next entries, each run of one stream at once."""
        for stream, run in groupby(written, key=attrgetter("stream")):
            self._apply(stream, [entry.item for entry in run])

    def take(self, name: str, item: Item) -> None:
        """Apply one item of a known transcript: the common case."""
        self.version += 1
        self.own_versions[name].append(self.version)
        self.latest[name] = self.version
        self.transcripts[name].append(item)

    def check(self, written: Sequence[Written]) -> None:
        """Raise an error if the entries could not be applied; nothing is changed."""
        transcripts: Mapping[str, Transcript] = self.transcripts
        by_stream: dict[str, list[Item]] = {}
        for stream, item in written:
            if stream == ORIGIN:
                transcripts = {MAIN: self._past_of(item)[0]}
            elif not is_own(stream):
                by_stream.setdefault(stream, []).append(item)
        for stream, items in by_stream.items():
            _check(transcripts.get(stream), items)

    def version_before_job(self, job_id: str) -> int:
        """The version before a pending job was accepted."""
        return self.versions_by_id[self.jobs.pending[job_id].note] - 1

    def drop_jobs(self) -> list[Written]:
        """Entries that end all pending jobs; whoever does one can write no more of it."""
        holder = self.jobs.holder
        lost = [] if holder is None else [TakenJob(holder.job, Lease(new_id()))]
        dropped = [EndedJob(one, "removed", self.version_before_job(one)) for one in self.jobs.pending]
        entries: list[JobEntry] = [*lost, *dropped]
        return [Written(JOBS, note_of(entry)) for entry in entries]

    def counted_items(self) -> int:
        """How many items of this log were counted, by all counters."""
        views = ((one.view, self.inherited_length(name)) for name, one in self.transcripts.items())
        pieces = (piece for view, start in views for piece in view.log.pieces(start, view.end))
        return sum(segment.counted_items() for segment, _, _ in pieces)

    def inherited_length(self, name: str) -> int:
        """How many items of a transcript are from before this log."""
        return self._inherited.get(name, 0)

    @property
    def is_erasing(self) -> bool:
        """Whether something is being forgotten, or may still be in the files of the store."""
        return bool(self.forgetting or self.unwiped)

    def at(self, version: int) -> dict[str, View]:
        """What each transcript showed at an earlier version; one without items then is left out."""
        self.check_version(version)
        revisions = {name: self.revision_at(version, name) for name in self.transcripts}
        shown = {name: revision for name, revision in revisions.items() if revision or name == MAIN}
        return {name: self.transcripts[name].at(revision) for name, revision in shown.items()}

    def revision_at(self, version: int, name: str) -> int:
        """How many items a transcript had at a version."""
        return self.inherited_length(name) + self.own_versions[name].count_until(version)

    def check_version(self, version: int) -> None:
        """Raise `OutOfRange` if there is no such version."""
        if not 0 <= whole(version, "a version") <= self.version:
            raise OutOfRange(f"there are versions 0 to {self.version}; there is none {version}")

    def version_of(self, item_id: str, name: str) -> int:
        """The version with which an item of a transcript was recorded here."""
        own = self.transcripts[name].view.position(item_id) - self._inherited.get(name, 0)
        if own < 0:
            raise OutOfRange(
                f"{cut(item_id)!r} is from before this conversation began: fork where it is from"
            )
        return self.own_versions[name][own]

    def inherited(self, item_id: str) -> Iterator[Item]:
        """The item of an id from before this log began, in each transcript that has one."""
        for name, end in self._inherited.items():
            log = self.transcripts[name].view.log
            position = log.find(item_id, end)
            if position is not None:
                yield log.item(position)

    def pending(self) -> list[ToolCall]:
        """The open calls of all transcripts."""
        return [call for transcript in self.transcripts.values() for call in transcript.view.pending()]

    def waiting(self) -> frozenset[str]:
        """The call ids of all open calls."""
        return frozenset(call.call_id for call in self.pending())

    def child(self) -> "State":
        """The state of a log that begins where this one stands."""
        child = State(self._past)
        child.transcripts = {name: transcript.copy() for name, transcript in self.transcripts.items()}
        child._inherited = {name: len(transcript) for name, transcript in child.transcripts.items()}
        child.pool = self.pool.fork()
        child.spending = self.spending
        child.erased_names = set(self.erased_names)
        child.cuts = dict(self.cuts)
        child.jobs = self.jobs.copy()
        child.versions_by_id = {one: self.versions_by_id[one] for one in self.jobs.entries()}
        return child

    def names_erased(self, item: Item) -> bool:
        """Whether an item that is about to be written was forgotten, or names what was."""
        return bool(self.erased_names) and (
            item.id in self.erased_names or not self.erased_names.isdisjoint(sources_of(item))
        )

    def _apply(self, stream: str, items: list[Item]) -> None:
        if stream in SKIMMED:
            self.skim(stream, map(JSON.encode_item, items))
            return
        first = self.version + 1
        self.version += len(items)
        self.latest[stream] = self.version
        if stream in _TRACKED:
            self.versions_by_id.update(zip((item.id for item in items), count(first), strict=False))
        if not is_own(stream):
            self.own_versions[stream].extend(range(first, self.version + 1))
            if stream not in self.transcripts:
                self.transcripts[stream] = Transcript()
            self.transcripts[stream].extend(items)
        elif stream == POOL:
            self._apply_to_pool(items)
        elif stream == CALLS:
            self.calls.take(items, self.pending())
        elif stream == JOBS:
            self.jobs.take(items)
        else:
            self.forgotten += len(items) if stream == FORGOTTEN else 0
            for item in items:
                if not is_tombstone(item):
                    self._note(stream, item)

    def skim(self, stream: str, bodies: Iterable[bytes]) -> None:
        """Apply receipts, of which the cuts are read, or parts of them, of which the marks are."""
        for body in bodies:
            self.version += 1
            if stream == RECEIPTS:
                parts = _skim_receipt(body).content.parts
                self.cuts |= {part.name: part.cut for part in parts if part.cut}
            elif (skimmed := _skim_part(body)).description != _CANDIDATES:
                mark = _mark(body, skimmed)
                self.receipt_parts.pop(mark, None)
                self.receipt_parts[mark] = self.version
        self.latest[stream] = self.version
        for mark in list(self.receipt_parts)[:-_MAX_RECEIPT_PARTS]:
            del self.receipt_parts[mark]

    def _note(self, stream: str, item: Item) -> None:
        """Apply an entry of one of the session's own streams."""
        if stream == ORIGIN:
            self.transcripts[MAIN], self.past_forgotten = self._past_of(item)
            self._inherited[MAIN] = len(self.transcripts[MAIN])
            self.origin = item if isinstance(item, Note) else None
        elif not isinstance(item, Note):
            return
        elif stream == PLANS and (ended := ended_plan(item)) is not None:
            self.plans.pop(ended, None)
        elif stream == PLANS:
            self.plans[item.id] = item
        elif stream == USAGE:
            self.spending = self.spending.with_usage(item.content)
        elif stream == RECALLED:
            self.quoting.add((item.content["from"], item.content["by"]))
        elif stream == NAMED:
            self.named.add(item.content["name"])
        elif stream == WIPED:
            self.unwiped.difference_update(item.content["of"])
        elif stream == FORGOTTEN and item.content.get("of") is not None:
            self.forgetting.pop(item.content["of"], None)
            self.unwiped.update(item.content.get("unwiped", ()))
        elif stream == FORGOTTEN:
            self.forgetting[item.id] = item
            self.erased_names.update(item.content["names"])

    def _apply_to_pool(self, items: Iterable[Item]) -> None:
        for item in items:
            if isinstance(item, Note) and is_tombstone(item):
                self._drop(str(item.extras.get("instead_of", "")))
            elif isinstance(item, Note):
                self.pool.add(item)
            elif isinstance(item, Hide):
                self._drop(item.spans[0].first)

    def _drop(self, note_id: str) -> None:
        """Drop a note, unless it is not there: two writers may have dropped it."""
        for key in [str(note.key) for note in self.pool if note.id == note_id]:
            self.pool.remove(key)

    def _past_of(self, origin: Item) -> tuple[Transcript, int]:
        if self._past is None or not isinstance(origin, Note):
            raise StoreDamaged("the conversation that this one was forked from is not known")
        return self._past(origin)


def _check(transcript: Transcript | None, items: list[Item]) -> None:
    """Raise an error if a transcript would not take the items. Only edits have to be tried."""
    if any(type(item) in EDITS for item in items):
        (Transcript() if transcript is None else transcript.copy()).extend(items)
        return
    known: set[str] = set()
    for item in items:
        if item.id in known or (transcript is not None and item.id in transcript):
            raise DuplicateId(f"item {cut(item.id)!r} is in the transcript already")
        known.add(item.id)
