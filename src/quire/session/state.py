"""The state of a conversation, computed from the entries of its log. Nothing else changes it."""

from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import count, groupby
from operator import attrgetter
from typing import Any, NamedTuple, TypeGuard

import msgspec

from quire.errors import DuplicateId, OutOfRange, StoreDamaged, cut
from quire.items import EDITS, JSON, Hide, Item, Mask, Message, Note, ToolCall, ToolResult, new_id
from quire.session.spending import Spending
from quire.state import PAGE, Outline, Pool, Transcript, View
from quire.stores import Entry, Stored
from quire.stores.store import is_own, is_tombstone
from quire.stores.streams import (
    FORGOTTEN,
    JOBS,
    MAIN,
    NAMED,
    OF,
    ORIGIN,
    PLANS,
    POOL,
    RECALLED,
    RECEIPTS,
    STEPS,
    USAGE,
    WIPED,
)
from quire.tokens import whole

_BEGUN, _HELD, _TAKEN, _APPROVED = "begun", "held", "taken", "approved"
JOB, ENDED = "job", "ended"

RECEIPT, _DETAIL, _CANDIDATES = "receipt", "receipt detail", "receipt candidates"
"""Descriptions of receipts, and of notes that receipts name."""


ITEM_WEIGHT = 900
"""Bytes of memory for an item besides its body, measured with messages of 20 to 10,000 characters."""

_TRACKED = frozenset((ORIGIN, POOL, PLANS, STEPS, JOBS))
"""The streams of which some entries are needed later by their versions."""


class Written(NamedTuple):
    """One item, and the stream it is in."""

    stream: str
    item: Item


def weight_of(entry: Entry | Stored) -> int:
    """About how many bytes of memory an entry takes whose item is kept, and rendered for requests."""
    return len(entry.body) + ITEM_WEIGHT


def is_receipt(item: Item) -> TypeGuard[Note]:
    """Whether an item of the stream of receipts is one, and not something that one names."""
    return isinstance(item, Note) and item.description == RECEIPT


def detail(content: Any, sources: Sequence[str]) -> Note:
    """A note for receipts to name; notes of the same content have the same mark."""
    return Note(content=content, description=_DETAIL, extras={OF: list(sources)} if sources else {})


def candidates(content: str, sources: Sequence[str]) -> Note:
    """A note for one receipt to name."""
    return Note(content=content, description=_CANDIDATES, extras={OF: list(sources)})


class _Skimmed(msgspec.Struct):
    """An item of which little is read: it may be large."""

    description: str | None = None
    content: msgspec.Raw = msgspec.Raw()
    extras: msgspec.Raw = msgspec.Raw()


class _PartCut(msgspec.Struct):
    """A part of a receipt, and where its section was cut."""

    name: str
    cut: str = ""


class _Parts(msgspec.Struct):
    parts: list[_PartCut] = []


_skim = msgspec.json.Decoder(_Skimmed).decode
_cuts_in = msgspec.json.Decoder(_Parts).decode


def is_receipt_body(body: bytes) -> bool:
    """Whether an entry of the stream of receipts is one, by its body."""
    return _skim(body).description == RECEIPT


def mark_of(item: Item) -> bytes:
    """A digest that is equal for equal items, and for details with equal content."""
    body = JSON.encode_item(item)
    return _mark(body, _skim(body))


def _mark(body: bytes, skimmed: _Skimmed) -> bytes:
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

_MOST_ENDED = 32
"""How many of the latest jobs that ended are known without reading: one of them that comes again is known."""

_MOST_MADE = 512
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


class StepsState:
    """The calls without a result that were begun, and the results held for them.

    All of it is by the ids of the items of calls, because call ids may repeat. What is held is written at
    once, in this order:

    1. a note `held`: it names the call of the result, and says that hooks have heard of it. Without the note,
       the call is found by the call id of the result;
    2. the result;
    3. the items that came with the result.

    A note `begun` comes before or after these. A note `taken` is written with the reply of a model to an
    agent: its turn runs these calls. A note `approved` says that a person lets calls run; a call that a
    person refuses has a held result.
    """

    def __init__(self) -> None:
        self.begun: dict[str, Note] = {}
        """The notes that say that calls were about to be run."""
        self.taken: set[str] = set()
        """The calls that the turn of an agent made."""
        self.approved: set[str] = set()
        """The calls that a person lets run."""
        self.held: dict[str, tuple[Item, ...]] = {}
        """Results that came before their turn, each with the items that came with it."""
        self.heard: set[str] = set()
        """Ids of held results that hooks have heard of."""
        self._entries: dict[str, set[str]] = {}  # by call, the ids of the items above that concern it
        self._held_last = ""  # the call of the last result (2): the items that follow (3) came with it
        self._announced: str | None = None  # the call of the next result, by its note (1)

    def take(self, items: Iterable[Item], pending: Sequence[ToolCall]) -> None:
        """Apply items of the stream of steps. Nothing is kept of calls that were answered."""
        waiting = {call.id for call in pending}
        self.begun = {call: note for call, note in self.begun.items() if call in waiting}
        self.taken &= waiting
        self.approved &= waiting
        self.held = {call: came for call, came in self.held.items() if call in waiting}
        self.heard &= {came[0].id for came in self.held.values()}
        self._entries = {call: ids for call, ids in self._entries.items() if call in waiting}
        for item in items:
            for call in self._take(item, pending):
                self._entries.setdefault(call, set()).add(item.id)

    def _take(self, item: Item, pending: Sequence[ToolCall]) -> Collection[str]:
        """Apply one item, and return the calls that it concerns."""
        if isinstance(item, ToolResult):
            if self._announced is not None:
                self.heard.add(item.id)
            self._held_last = self._announced or self.call_of(item, pending) or ""
            self._announced = None
            self.held[self._held_last] = (item,)
            return (self._held_last,)
        if not is_step(item):
            self.held[self._held_last] = (*self.held.get(self._held_last, ()), item)
            return (self._held_last,)
        if _HELD in item.content:
            self._announced = item.content[_HELD]
            return (self._announced or "",)
        if _TAKEN in item.content:
            self.taken.update(item.content[_TAKEN])
            return tuple(item.content[_TAKEN])
        if _APPROVED in item.content:
            self.approved.update(item.content[_APPROVED])
            return tuple(item.content[_APPROVED])
        self.begun |= dict.fromkeys(item.content[_BEGUN], item)
        return tuple(item.content[_BEGUN])

    def entries(self) -> set[str]:
        """The ids of the items that have to be applied again to arrive at the same."""
        return {item_id for ids in self._entries.values() for item_id in ids}

    def as_held(self, items: Iterable[Item]) -> list[Item]:
        """The items, with what is held in place of results that are held: it may be a tombstone by now."""
        came = {one[0].id: one for one in self.held.values()}
        return [item for given in by_result(items) for item in came.get(given[0].id, given)]

    def call_of(self, result: ToolResult, pending: Iterable[ToolCall]) -> str | None:
        """The call of a result that does not say which: the last with its call id that holds none."""
        calls = [call.id for call in pending if call.call_id == result.call_id]
        free = [call for call in calls if call not in self.held]
        return next(reversed(free or calls), None)


def begun(calls: Iterable[ToolCall], claim: Mapping[str, object]) -> Note:
    """The note that calls are about to be run, and by whom."""
    return Note(content={**claim, _BEGUN: [call.id for call in calls]}, key=_BEGUN)


def begun_in(note: Note) -> Sequence[str]:
    """The calls that a note of the stream of steps says are about to be run, by the ids of their items."""
    found: Sequence[str] = note.content.get(_BEGUN, ())
    return found


def taken(calls: Iterable[ToolCall]) -> Note:
    """The note that the turn of an agent made calls, and runs them."""
    return Note(content={_TAKEN: [call.id for call in calls]}, key=_TAKEN)


def approved(calls: Iterable[ToolCall]) -> Note:
    """The note that a person lets calls run."""
    return Note(content={_APPROVED: [call.id for call in calls]}, key=_APPROVED)


def held_for(call_id: str) -> Note:
    """The note that the next held result is of a call, and that hooks have heard of it."""
    return Note(content={_HELD: call_id}, key=_HELD)


def is_step(item: Item) -> TypeGuard[Note]:
    """Whether an item of the stream of steps is a note of ours: notes of tools have no key there."""
    return isinstance(item, Note) and item.key is not None


def by_result(items: Iterable[Item]) -> list[list[Item]]:
    """Each result with the items that came with it; a message stands alone."""
    found: list[list[Item]] = []
    for item in items:
        if found and not isinstance(item, ToolResult | Message):
            found[-1].append(item)
        else:
            found.append([item])
    return found


class JobsState:
    """The jobs that were accepted and have not ended, and who has taken one last.

    The stream has notes, by their keys:

    1. `job`: accepted. The items that it brings, a message or results, follow it at once. Notes among them
       have no key;
    2. `taken`: somebody does it from here on, under a claim and a lease. It is written again, with the same
       claim, to renew the lease, and with another one when somebody else takes the job over;
    3. `ended`: with what outcome.
    """

    def __init__(self) -> None:
        self.pending: dict[str, list[Item]] = {}
        """By the ids of jobs, in order: the note (1), and the items of the job."""
        self.taken: Note | None = None
        """The last note (2)."""
        self.begun: dict[str, Note] = {}
        """The last note (2) of each pending job that was ever taken."""
        self.ended: dict[str, Note] = {}
        """The latest notes (3), by the ids of jobs."""
        self._latest: list[Item] = []  # the job that items which follow belong to
        self._before = 0  # how many more of them come before its message, notes among them

    @property
    def claim(self) -> str | None:
        """The claim under which a job was taken last: nobody else may write a turn."""
        return None if self.taken is None else self.taken.content["claim"]

    @property
    def holder(self) -> Note | None:
        """The note of the job that is being done."""
        return None if self.taken is None else self.begun.get(self.taken.content[_TAKEN])

    def take(self, items: Iterable[Item]) -> None:
        """Apply items of the stream of jobs."""
        for item in items:
            if self._before or not isinstance(item, Note):
                self._before -= bool(self._before)
                self._latest.append(item)
            elif is_job(item):
                self._latest = self.pending[item.content[JOB]] = [item]
                self._before = item.content.get("before", 0)
            elif item.key == _TAKEN:
                self.taken = item
                if item.content[_TAKEN] in self.pending:
                    self.begun[item.content[_TAKEN]] = item
            elif item.key == ENDED:
                self.pending.pop(item.content[JOB], None)
                self.begun.pop(item.content[JOB], None)
                self.ended[item.content[JOB]] = item
                for job_id in list(self.ended)[:-_MOST_ENDED]:
                    del self.ended[job_id]
            else:  # a job that was forgotten
                self._latest = []

    def entries(self) -> set[str]:
        """The ids of the items that have to be applied again to arrive at the same."""
        taken = [] if self.taken is None else [self.taken]
        notes = {item.id for item in (*self.ended.values(), *self.begun.values(), *taken)}
        return notes.union(item.id for items in self.pending.values() for item in items)


def is_job(item: Item) -> TypeGuard[Note]:
    """Whether an item of the stream of jobs is the note that one was accepted."""
    return isinstance(item, Note) and item.key == JOB


def taken_job(job_id: str, claim: Mapping[str, object]) -> Note:
    """The note that somebody does a job from here on."""
    return Note(content={**claim, _TAKEN: job_id}, key=_TAKEN)


def ended_job(job_id: str, stop: str, since: int, **said: object) -> Note:
    """The note that a job has ended, and how; `since` is the version before it."""
    content = {JOB: job_id, "stop": stop, "since": since}
    return Note(content=content | {name: one for name, one in said.items() if one}, key=ENDED)


def ended_plans(item: Item) -> Sequence[str] | None:
    """The compactions that an item of the stream of plans ends, by ids; `None` if it begins one.

    The stream has, in this order:

    1. a note of a compaction that is about to ask a model, under a lease; it is written again, with the same
       id, to renew the lease;
    2. a note with `of`, the id of (1): what became of it. `of` is `None` where no model was asked: then there
       is no (1). In older stores it is a `Hide` of (1), which does not say what became of it.
    """
    if isinstance(item, Hide):
        return [span.first for span in item.spans]
    if isinstance(item, Note) and "of" in item.content:
        return [item.content["of"]] if item.content["of"] else []
    return None


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
        self.steps = StepsState()
        self.jobs = JobsState()
        self.plans: dict[str, Note] = {}
        """Compactions that were begun and not finished, by id."""
        self.made: dict[bytes, int] = {}
        """The versions of what was kept for receipts, by mark."""
        self.cuts: dict[str, str] = {}
        """Where sections were cut in the last request that was sent."""
        self.quoting: set[tuple[str, str]] = set()
        """Of the conversation of links: pairs of digests, of a conversation and of one that quoted it."""
        self.forgetting: dict[str, Note] = {}
        """Intents to forget that are not finished, by id."""
        self.unwiped: set[str] = set()
        """Marks of what was forgotten and may still be in the files of the store."""
        self.gone: set[str] = set()
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
        return self.versions_by_id[self.jobs.pending[job_id][0].id] - 1

    def drop_jobs(self) -> list[Written]:
        """Entries that end all pending jobs; whoever does one can write no more of it."""
        holder = self.jobs.holder
        lost = [] if holder is None else [taken_job(holder.content[_TAKEN], {"claim": new_id()})]
        dropped = [ended_job(one, "removed", self.version_before_job(one)) for one in self.jobs.pending]
        return [Written(JOBS, note) for note in (*lost, *dropped)]

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
        child.gone = set(self.gone)
        child.cuts = dict(self.cuts)
        child.jobs = self.jobs
        return child

    def is_gone(self, item: Item) -> bool:
        """Whether an item that is about to be written was forgotten, or names what was."""
        return bool(self.gone) and (item.id in self.gone or not self.gone.isdisjoint(sources_of(item)))

    def _apply(self, stream: str, items: list[Item]) -> None:
        if stream == RECEIPTS:
            self.take_receipts(map(JSON.encode_item, items))
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
        elif stream == STEPS:
            self.steps.take(items, self.pending())
        elif stream == JOBS:
            self.jobs.take(items)
        else:
            self.forgotten += len(items) if stream == FORGOTTEN else 0
            for item in items:
                if not is_tombstone(item):
                    self._note(stream, item)

    def take_receipts(self, bodies: Iterable[bytes]) -> None:
        """Apply entries of the stream of receipts, of which only marks and cuts are read."""
        for body in bodies:
            self.version += 1
            skimmed = _skim(body)
            if skimmed.description == RECEIPT:
                self.cuts |= {part.name: part.cut for part in _cuts_in(skimmed.content).parts if part.cut}
            elif skimmed.description != _CANDIDATES:
                mark = _mark(body, skimmed)
                self.made.pop(mark, None)
                self.made[mark] = self.version
        self.latest[RECEIPTS] = self.version
        for mark in list(self.made)[:-_MOST_MADE]:
            del self.made[mark]

    def _note(self, stream: str, item: Item) -> None:
        """Apply an entry of one of the session's own streams."""
        if stream == ORIGIN:
            self.transcripts[MAIN], self.past_forgotten = self._past_of(item)
            self._inherited[MAIN] = len(self.transcripts[MAIN])
            self.origin = item if isinstance(item, Note) else None
        elif stream == PLANS and (ended := ended_plans(item)) is not None:
            for note_id in ended:
                self.plans.pop(note_id, None)
        elif not isinstance(item, Note):
            return
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
            self.gone.update(item.content["names"])

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
