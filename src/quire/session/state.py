"""The state of a conversation, computed from the entries of its log and from nothing else."""

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
    ClaimedJob,
    EndedJob,
    JobEntry,
    Lease,
    OwnedCalls,
    call_entry,
    job_entry,
    note_of,
)
from quire.session.spending import Spending
from quire.state import PAGE, Cut, Outline, Pool, Transcript, View
from quire.stores import Entry, Stored
from quire.stores.store import is_internal, is_tombstone
from quire.stores.streams import (
    CALLS,
    FORGOTTEN,
    JOBS,
    MAIN,
    NAMED,
    ORIGIN,
    PLANS,
    POOL,
    RECALLED,
    RECEIPT_PARTS,
    RECEIPTS,
    SOURCES,
    USAGE,
    WIPED,
)
from quire.tokens import whole

_DETAIL, _CANDIDATES = "receipt detail", "receipt candidates"
"""The descriptions of the two kinds of notes that receipts refer to."""

SKIMMED = frozenset((RECEIPTS, RECEIPT_PARTS))
"""Streams with large entries: the state decodes only a few of their fields."""

ITEM_WEIGHT = 900
"""Bytes of memory for an item besides its body, measured with messages of 20 to 10,000 characters."""

_TRACKED = frozenset((ORIGIN, POOL, PLANS, CALLS, JOBS))
"""Streams whose entries are looked up by version later: `State.versions_by_id` has them."""


class Written(NamedTuple):
    """One item and the name of its stream: a decoded entry of the log."""

    stream: str
    item: Item


def weight_of(entry: Entry | Stored) -> int:
    """Estimate the bytes of memory for an entry whose item is kept in memory and rendered for requests."""
    return len(entry.body) + ITEM_WEIGHT


def detail_note(content: Any, sources: Sequence[str]) -> Note:
    """A note that several receipts may refer to: equal contents have equal digests, and are stored once."""
    return Note(content=content, description=_DETAIL, extras={SOURCES: list(sources)} if sources else {})


def candidates_note(content: bytes, sources: Sequence[str]) -> Note:
    """A note that one receipt refers to: what became of the candidates of a section."""
    return Note(content=content, description=_CANDIDATES, extras={SOURCES: list(sources)})


class _SkimmedPart(msgspec.Struct):
    """The fields of a note of `RECEIPT_PARTS` that its digest needs. The larger ones stay encoded."""

    description: str | None = None
    content: msgspec.Raw = msgspec.Raw()
    extras: msgspec.Raw = msgspec.Raw()


class _SectionCut(msgspec.Struct):
    """A section in a receipt, and where its history was cut."""

    name: str
    cut: Cut | None = None


class _Sections(msgspec.Struct):
    parts: list[_SectionCut] = []


class _SkimmedReceipt(msgspec.Struct):
    """The only fields of a receipt that the state needs: the cuts."""

    content: _Sections


_skim_part = msgspec.json.Decoder(_SkimmedPart).decode
_skim_receipt = msgspec.json.Decoder(_SkimmedReceipt).decode


def is_in(view: View | None, item: Item) -> bool:
    """Whether the log of a view has exactly this item, unchanged."""
    if view is None:
        return False
    position = view.log.find(item.id, view.end)
    return position is not None and view.log.item(position) == item


def item_digest(item: Item) -> bytes:
    """A digest of an item. For a `detail_note`, its content and sources count, but not its id or time."""
    body = JSON.encode_item(item)
    return _part_digest(body, _skim_part(body))


def _part_digest(body: bytes, skimmed: _SkimmedPart) -> bytes:
    if skimmed.description == _DETAIL:
        body = b"%b %b" % (skimmed.content, skimmed.extras)
    return blake2b(body, digest_size=16).digest()


def sources_of(item: Item) -> Collection[str]:
    """The names of the items that an item lists as its sources. Items that its spans cover are not included.

    An item is named by its id alone if it is of this conversation, of its parent, or of one of its forks.
    Any other item is named `digest/id`, with the digest of its conversation.
    """
    if isinstance(item, Mask):
        return (item.target,)
    extras = getattr(item, "extras", None)
    return extras.get(SOURCES, ()) if extras else ()


ReadPast = Callable[[Note], tuple[Transcript, int]]
"""Given the origin note of a fork, returns its inherited transcript and the parent's `forget_count`."""

_MAX_ENDED_JOBS = 32
"""How many of the latest ended jobs stay in the state, so that a repeated submission is recognized.

Cancelled jobs all stay. A repeated submission of an older job is recognized by its message in the transcript,
and a job that was cancelled before it began has left none there.
"""

_MAX_RECEIPT_PARTS = 512
"""How many of the latest receipt parts stay in the state, so that an equal part is not stored again."""


class Versions:
    """The versions of the items of a transcript, in order. Versions of archived items are loaded by page."""

    def __init__(
        self,
        outline: Outline | None = None,
        first_versions: Sequence[int] = (),
        load_page: Callable[[int], Sequence[int]] = lambda _: (),
    ) -> None:
        """`first_versions` are the versions of the first items of the archived pages."""
        self._start = 0 if outline is None else outline.start
        self._archived_count = 0 if outline is None else outline.end - outline.start
        self._first_versions, self._load_page = first_versions, load_page
        self._recent = array("Q")

    def __len__(self) -> int:
        return self._archived_count + len(self._recent)

    def __getitem__(self, index: int) -> int:
        return self.between(index, index + 1)[0]

    def append(self, version: int) -> None:
        """Add the version of one more item."""
        self._recent.append(version)

    def extend(self, versions: Iterable[int]) -> None:
        """Add the versions of more items."""
        self._recent.extend(versions)

    def between(self, first: int, last: int) -> list[int]:
        """The versions of the items from the index `first` to before `last`."""
        versions, archived = list[int](), self._archived_count
        archived_last = min(last, archived)
        while first < archived_last:
            number = (self._start + first) // PAGE
            page_start = max(number * PAGE - self._start, 0)
            page = self._load_page(number)[first - page_start : archived_last - page_start]
            versions += page
            first += len(page)
        return [*versions, *self._recent[max(first - archived, 0) : max(last - archived, 0)]]

    def count_until(self, version: int) -> int:
        """How many items have this version or a lower one."""
        if self._recent and version >= self._recent[0]:
            return self._archived_count + bisect_right(self._recent, version)
        index = bisect_right(self._first_versions, version) - 1
        if index < 0:
            return 0
        number = self._start // PAGE + index
        page_start = max(number * PAGE - self._start, 0)
        return min(page_start + bisect_right(self._load_page(number), version), self._archived_count)


class CallsState:
    """Calls without a result: which of them have begun, belong to the turn of an agent, or are approved.

    Each is kept by the id of its `ToolCall` item, because call ids may repeat.
    """

    def __init__(self) -> None:
        self.begun: dict[str, tuple[str, BegunCalls]] = {}
        """Calls that were about to run: the id of the note that records it, and its entry."""
        self.owned: dict[str, str] = {}
        """Calls that the turn of an agent made: the id of the note that records it."""
        self.approved: dict[str, str] = {}
        """Calls that a person approved: the id of the note that records it."""

    def apply(self, items: Iterable[Item], pending: Sequence[ToolCall]) -> None:
        """Apply items of the stream `CALLS`. Calls that are not pending any more are removed."""
        for item in items:
            match call_entry(item):
                case BegunCalls() as begun:
                    self.begun |= dict.fromkeys(begun.calls, (item.id, begun))
                case OwnedCalls(calls):
                    self.owned |= dict.fromkeys(calls, item.id)
                case ApprovedCalls(calls):
                    self.approved |= dict.fromkeys(calls, item.id)
        open_ids = {call.id for call in pending}
        self.begun = {call: entry for call, entry in self.begun.items() if call in open_ids}
        self.owned = {call: note for call, note in self.owned.items() if call in open_ids}
        self.approved = {call: note for call, note in self.approved.items() if call in open_ids}

    def needed_ids(self) -> set[str]:
        """The ids of the notes from which a checkpoint can restore this state."""
        return {note for note, _ in self.begun.values()}.union(self.owned.values(), self.approved.values())


class JobsState:
    """The jobs that were accepted and have not ended, and the latest claim on one of them."""

    def __init__(self) -> None:
        self.pending: dict[str, PendingJob] = {}
        """Jobs by id, in the order in which they were accepted."""
        self.last_claimed: ClaimedJob | None = None
        """The latest entry that claims a job, or renews a claim."""
        self.begun: dict[str, ClaimedJob] = {}
        """The latest claim of each pending job that was ever claimed."""
        self.ended: dict[str, tuple[str, EndedJob]] = {}
        """The latest jobs that ended, each with the id of its note."""
        self.cancelled: dict[str, str] = {}
        """Pending jobs that must end at their next safe point, each with the id of its note."""
        self._claim_notes: dict[str, str] = {}  # by job, the note of its entry in `begun`
        self._last_claim_note = ""
        self._items_of_job: list[Item] = []  # the items of the job accepted last, which follow its entry
        # How many items of that job are still to come before its message. A note among these is an item of
        # the job: `apply` does not decode it as an entry.
        self._items_before_message = 0

    def copy(self) -> "JobsState":
        """An independent copy."""
        copied = copy(self)
        for name in ("pending", "begun", "ended", "cancelled", "_claim_notes"):
            setattr(copied, name, dict(getattr(self, name)))
        return copied

    @property
    def claim(self) -> str | None:
        """The latest claim on a job: only the worker that has it may write a turn."""
        return None if self.last_claimed is None else self.last_claimed.lease.claim

    @property
    def current(self) -> ClaimedJob | None:
        """The latest claim, if its job has not ended: it names the job that is being done, and its worker."""
        return None if self.last_claimed is None else self.begun.get(self.last_claimed.job)

    @property
    def is_cancelled(self) -> bool:
        """Whether the job that is being done was cancelled."""
        return self.last_claimed is not None and self.last_claimed.job in self.cancelled

    def job_ahead_of(self, job_id: str) -> str | None:
        """The begun job that has to be finished before this one may start; `None` if there is none."""
        return None if job_id in self.begun else next(iter(self.begun), None)

    def steering(self) -> "list[PendingJob]":
        """The due jobs whose messages go to the running turn instead of starting one."""
        due = [job for job in self.pending.values() if job.entry.not_before <= now()]
        return [job for job in due if job.entry.steers and job.entry.job not in self.begun]

    def are_settled_by(self, written: Iterable[Written]) -> bool:
        """Whether no job would be pending after these entries."""
        entries = [job_entry(item) for stream, item in written if stream == JOBS]
        accepted = {entry.job for entry in entries if isinstance(entry, AcceptedJob)}
        ended = {entry.job for entry in entries if isinstance(entry, EndedJob)}
        return {*self.pending, *accepted} <= ended

    def apply(self, items: Iterable[Item]) -> None:
        """Apply items of the stream `JOBS`."""
        for item in items:
            entry = None if self._items_before_message else job_entry(item)
            match entry:
                case AcceptedJob(job, before):
                    self._items_of_job, self._items_before_message = [], before
                    self.pending[job] = PendingJob(item.id, entry, self._items_of_job)
                case ClaimedJob(job):
                    self.last_claimed, self._last_claim_note = entry, item.id
                    if job in self.pending:
                        self.begun[job], self._claim_notes[job] = entry, item.id
                case CancelledJob(job):
                    if job in self.pending:
                        self.cancelled[job] = item.id
                case EndedJob(job):
                    self._end(item.id, entry)
                case None:
                    self._collect(item)

    def _end(self, note_id: str, entry: EndedJob) -> None:
        for jobs in (self.pending, self.begun, self.cancelled, self._claim_notes):
            jobs.pop(entry.job, None)
        self.ended[entry.job] = note_id, entry
        not_cancelled = [job for job, (_, ended) in self.ended.items() if ended.stop != "cancelled"]
        for job in not_cancelled[:-_MAX_ENDED_JOBS]:
            del self.ended[job]

    def _collect(self, item: Item) -> None:
        if self._items_before_message:
            self._items_before_message -= 1
        elif isinstance(item, Note):  # the tombstone of an entry: the next items are of no pending job
            self._items_of_job = []
            return
        self._items_of_job.append(item)

    def needed_ids(self) -> set[str]:
        """The ids of the items from which a checkpoint can restore this state."""
        last_claim = [self._last_claim_note] if self._last_claim_note else []
        items = {item.id for job in self.pending.values() for item in job.items}
        accepted = [job.note for job in self.pending.values()]
        ended = [note for note, _ in self.ended.values()]
        return items.union(accepted, last_claim, self.cancelled.values(), self._claim_notes.values(), ended)


class PendingJob(NamedTuple):
    """A job that has not ended."""

    note: str
    """The id of the note that accepts the job."""
    entry: AcceptedJob
    items: list[Item]
    """The items that follow the note: the message or results of the job."""


def is_accepted_job(item: Item) -> TypeGuard[Note]:
    """Whether an item of the stream `JOBS` is the note that accepts a job."""
    return isinstance(job_entry(item), AcceptedJob)


def ended_plan_id(note: Note) -> str | None:
    """The id of the compaction that a note of the stream `PLANS` ends; `None` if the note begins one.

    A compaction that asks a model begins with a note that holds its lease; a note with the same id renews the
    lease. The note that ends it has the id of the first note in its field `of`. A compaction that asks no
    model has only the note at its end, with an empty `of`.
    """
    of: str | None = note.content.get("of")
    return of


class State:
    """The state of a conversation at a version. Entries are applied in order."""

    def __init__(self, read_past: ReadPast | None = None) -> None:
        self._read_past = read_past
        self.version = 0
        self.origin: Note | None = None
        """The note that says where a fork began; `None` if the conversation is no fork."""
        self.transcripts: dict[str, Transcript] = {MAIN: Transcript()}
        self.reserved_names: set[str] = set()
        """Names reserved for new transcripts."""
        self.pool = Pool()
        self.spending = Spending()
        self.calls = CallsState()
        self.jobs = JobsState()
        self.plans: dict[str, Note] = {}
        """Unfinished compactions, by id."""
        self.receipt_parts: dict[bytes, int] = {}
        """The versions of the latest receipt parts, by digest."""
        self.cuts: dict[str, Cut] = {}
        """Where each section was cut in the last request that was sent."""
        self.quote_links: set[tuple[str, str]] = set()
        """Pairs of digests: a conversation and one that quoted it. Only the log of the internal
        conversation `LINKS` of a scope has any."""
        self.forgetting: dict[str, Note] = {}
        """Unfinished erasures, by id: each note says what is to be forgotten."""
        self.unwiped: set[str] = set()
        """Ids of erasures whose content may still be in the files of the store."""
        self.erased_names: set[str] = set()
        """Names of all items ever forgotten. A new item with one of them as a source becomes a tombstone."""
        self.forget_count = 0
        """How many entries of the stream `FORGOTTEN` there are: it changes with every erasure."""
        self.past_forget_count = 0
        """The `forget_count` of the conversation that a fork began from, as it was when the fork was read."""
        self.last_versions: dict[str, int] = {}
        """The version of the last entry of each stream, by stream."""
        self.own_versions: defaultdict[str, Versions] = defaultdict(Versions)
        """By transcript, the versions of its items in this log; inherited items are in another log."""
        self.versions_by_id: dict[str, int] = {}
        """The versions of entries of the tracked streams, by the ids of their items."""
        self._inherited: dict[str, int] = {}  # by transcript, how many items it has of a parent

    def apply(self, written: Sequence[Written]) -> None:
        """Apply the next entries. Consecutive entries of one stream are applied together."""
        for stream, run in groupby(written, key=attrgetter("stream")):
            self._apply(stream, [entry.item for entry in run])

    def apply_item(self, name: str, item: Item) -> None:
        """Apply one item of a known transcript, as `apply` would, but faster: this is the common case."""
        self.version += 1
        self.own_versions[name].append(self.version)
        self.last_versions[name] = self.version
        self.transcripts[name].append(item)

    def check(self, written: Sequence[Written]) -> None:
        """Raise an error if the entries cannot be applied. The state does not change."""
        transcripts: Mapping[str, Transcript] = self.transcripts
        by_stream: dict[str, list[Item]] = {}
        for stream, item in written:
            if stream == ORIGIN:
                transcripts = {MAIN: self._past_of(item)[0]}
            elif not is_internal(stream):
                by_stream.setdefault(stream, []).append(item)
        for stream, items in by_stream.items():
            _check(transcripts.get(stream), items)

    def version_before_job(self, job_id: str) -> int:
        """The version before a pending job was accepted."""
        return self.versions_by_id[self.jobs.pending[job_id].note] - 1

    def drop_jobs(self) -> list[Written]:
        """Entries that end all pending jobs. A worker that runs one loses its claim and cannot write."""
        current = self.jobs.current
        revoked = [] if current is None else [ClaimedJob(current.job, Lease(new_id()))]
        ended = [EndedJob(job, "removed", self.version_before_job(job)) for job in self.jobs.pending]
        entries: list[JobEntry] = [*revoked, *ended]
        return [Written(JOBS, note_of(entry)) for entry in entries]

    def cached_counts(self) -> int:
        """How many token counts are cached for the items of this log: one for each item and counter."""
        total = 0
        for name, transcript in self.transcripts.items():
            view = transcript.view
            pieces = view.log.pieces(self.inherited_length(name), view.end)
            total += sum(segment.cached_counts() for segment, _, _ in pieces)
        return total

    def inherited_length(self, name: str) -> int:
        """How many items of a transcript a fork or draft has from its parent."""
        return self._inherited.get(name, 0)

    @property
    def is_erasing(self) -> bool:
        """Whether an erasure is unfinished, or forgotten content may still be in the files of the store."""
        return bool(self.forgetting or self.unwiped)

    def at(self, version: int) -> dict[str, View]:
        """The view of each transcript at an earlier version, without transcripts that had no items yet."""
        self.check_version(version)
        revisions = {name: self.revision_at(version, name) for name in self.transcripts}
        return {
            name: self.transcripts[name].at(revision)
            for name, revision in revisions.items()
            if revision or name == MAIN
        }

    def revision_at(self, version: int, name: str) -> int:
        """How many items a transcript had at a version."""
        return self.inherited_length(name) + self.own_versions[name].count_until(version)

    def check_version(self, version: int) -> None:
        """Raise `OutOfRange` if there is no such version."""
        if not 0 <= whole(version, "a version") <= self.version:
            raise OutOfRange(f"there is no version {version}; the versions are 0 to {self.version}")

    def version_of(self, item_id: str, name: str) -> int:
        """The version of an item of a transcript; `OutOfRange` if the item is inherited."""
        index = self.transcripts[name].view.position(item_id) - self._inherited.get(name, 0)
        if index < 0:
            raise OutOfRange(
                f"{cut(item_id)!r} is from before this conversation began: fork the one that recorded it"
            )
        return self.own_versions[name][index]

    def inherited(self, item_id: str) -> Iterator[Item]:
        """The inherited item with an id, from each transcript that has one."""
        for name, end in self._inherited.items():
            log = self.transcripts[name].view.log
            position = log.find(item_id, end)
            if position is not None:
                yield log.item(position)

    def pending(self) -> list[ToolCall]:
        """The open calls of all transcripts."""
        return [call for transcript in self.transcripts.values() for call in transcript.view.pending()]

    def open_call_ids(self) -> frozenset[str]:
        """The call ids of the open calls of all transcripts."""
        return frozenset(call.call_id for call in self.pending())

    def for_draft(self) -> "State":
        """The first state of a draft's log: it inherits the transcripts, the pool and the jobs."""
        child = State(self._read_past)
        child.transcripts = {name: transcript.copy() for name, transcript in self.transcripts.items()}
        child._inherited = {name: len(transcript) for name, transcript in child.transcripts.items()}
        child.pool = self.pool.fork()
        child.spending = self.spending
        child.erased_names = set(self.erased_names)
        child.cuts = dict(self.cuts)
        child.jobs = self.jobs.copy()
        child.versions_by_id = {item_id: self.versions_by_id[item_id] for item_id in self.jobs.needed_ids()}
        return child

    def mentions_erased(self, item: Item) -> bool:
        """Whether an item is forgotten, or has a forgotten item among its sources."""
        if not self.erased_names:
            return False
        return item.id in self.erased_names or not self.erased_names.isdisjoint(sources_of(item))

    def _apply(self, stream: str, items: list[Item]) -> None:
        if stream in SKIMMED:
            self.skim(stream, map(JSON.encode_item, items))
            return
        first = self.version + 1
        self.version += len(items)
        self.last_versions[stream] = self.version
        if stream in _TRACKED:
            self.versions_by_id.update(zip((item.id for item in items), count(first), strict=False))
        if not is_internal(stream):
            self.own_versions[stream].extend(range(first, self.version + 1))
            if stream not in self.transcripts:
                self.transcripts[stream] = Transcript()
            self.transcripts[stream].extend(items)
        elif stream == POOL:
            self._apply_to_pool(items)
        elif stream == CALLS:
            self.calls.apply(items, self.pending())
        elif stream == JOBS:
            self.jobs.apply(items)
        else:
            if stream == FORGOTTEN:
                self.forget_count += len(items)
            for item in items:
                if not is_tombstone(item):
                    self._apply_record(stream, item)

    def skim(self, stream: str, bodies: Iterable[bytes]) -> None:
        """Apply encoded receipts or receipt parts: only the cuts or digests are read from them."""
        for body in bodies:
            self.version += 1
            if stream == RECEIPTS:
                parts = _skim_receipt(body).content.parts
                self.cuts |= {part.name: part.cut for part in parts if part.cut}
            elif (skimmed := _skim_part(body)).description != _CANDIDATES:
                digest = _part_digest(body, skimmed)
                self.receipt_parts.pop(digest, None)  # the latest are at the end
                self.receipt_parts[digest] = self.version
        self.last_versions[stream] = self.version
        for digest in list(self.receipt_parts)[:-_MAX_RECEIPT_PARTS]:
            del self.receipt_parts[digest]

    def _apply_record(self, stream: str, item: Item) -> None:
        """Apply one entry of any other stream: not of a transcript, the pool, calls or jobs."""
        if stream == ORIGIN:
            self.transcripts[MAIN], self.past_forget_count = self._past_of(item)
            self._inherited[MAIN] = len(self.transcripts[MAIN])
            self.origin = item if isinstance(item, Note) else None
        elif not isinstance(item, Note):
            return
        elif stream == PLANS and (ended := ended_plan_id(item)) is not None:
            self.plans.pop(ended, None)
        elif stream == PLANS:
            self.plans[item.id] = item
        elif stream == USAGE:
            self.spending = self.spending.with_usage(item.content)
        elif stream == RECALLED:
            self.quote_links.add((item.content["from"], item.content["by"]))
        elif stream == NAMED:
            self.reserved_names.add(item.content["name"])
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
                self._drop_note(str(item.extras.get("instead_of", "")))
            elif isinstance(item, Note):
                self.pool.add(item)
            elif isinstance(item, Hide):
                self._drop_note(item.spans[0].first)

    def _drop_note(self, note_id: str) -> None:
        """Remove a note from the pool, if it is still there: two writers may have dropped it."""
        for key in [str(note.key) for note in self.pool if note.id == note_id]:
            self.pool.remove(key)

    def _past_of(self, origin: Item) -> tuple[Transcript, int]:
        if self._read_past is None or not isinstance(origin, Note):
            raise StoreDamaged("the conversation that this one was forked from is not known")
        return self._read_past(origin)


def _check(transcript: Transcript | None, items: list[Item]) -> None:
    """Raise an error if a transcript would refuse the items. Edits are tried out on a copy of it."""
    if any(type(item) in EDITS for item in items):
        (Transcript() if transcript is None else transcript.copy()).extend(items)
        return
    new_ids: set[str] = set()
    for item in items:
        if item.id in new_ids or (transcript is not None and item.id in transcript):
            raise DuplicateId(f"item {cut(item.id)!r} is in the transcript already")
        new_ids.add(item.id)
