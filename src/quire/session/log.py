"""The log of one conversation: read, caught up with, and the one way to write to it.

A write is a function of the state that it is written to. If another process wrote first, its entries are
taken in, and the function is computed again: that is the rebase.
"""

import asyncio
import atexit
import logging
import os
import random
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from contextvars import Context, ContextVar, copy_context
from functools import partial
from itertools import groupby, islice
from operator import attrgetter
from pathlib import Path
from threading import Lock, RLock
from time import sleep
from typing import Any, NamedTuple, Protocol, TypeVar, cast
from weakref import WeakValueDictionary

from quire.errors import (
    Conflict,
    Forgotten,
    QuireError,
    StoreDamaged,
    StoreError,
    StoreFailed,
    TurnBusy,
    TurnLost,
    cut,
)
from quire.items import JSON, Item, Message, Note, ToolResult
from quire.session.checkpoint import Checkpoint
from quire.session.spending import Spending
from quire.session.state import SKIMMED, JobsState, State, Written, weight_of
from quire.state import Pool, Transcript, View
from quire.stores import Durability, Entry, Place, Store, Stored, items_in
from quire.stores.store import is_own
from quire.stores.streams import FORGOTTEN, LINKS, MAIN, POOL, holds_content, tombstone
from quire.stores.threads import FOLLOWING
from quire.tokens import whole

logger = logging.getLogger("quire.session")

T = TypeVar("T")
I = TypeVar("I", bound=Item)  # noqa: E741

Entries = list[Written]
Compute = Callable[[State], Entries]
"""What to write, given the state that it is written to; nothing is written if it raises."""

_MAX_TRIES = 1_000
_LONGEST_PAUSE = 0.02  # seconds
_MAX_OPEN = 64 * 2**20
"""How many bytes the logs of one store may take that stay in memory though no session uses them."""

_LARGE = 4 * 2**20
"""A log that takes more bytes is opened again from its checkpoint, unless all of it is needed."""

LEAST = 256
"""A log of fewer entries has no checkpoint."""

EVERY = 384
"""A checkpoint is written when a log has grown by so many entries."""

OPENED = 32
"""The first checkpoint after an opening is due sooner: the next opening would apply these entries again."""

_GROWN = 64
"""A log that has grown by so many entries writes a checkpoint when it is closed or let go."""

_EMPTY = 30_000
"""Bytes of memory that a conversation of one message takes, with its session and agent."""


CLAIMS: ContextVar[Mapping[Place, str]] = ContextVar("quire_claims", default={})  # noqa: B039
"""The claims under which the current code does jobs. Once another has taken a job, it may not write."""


def unclaimed() -> Context:
    """A copy of the current context for work that is not part of a job, such as a compaction beside it."""
    context = copy_context()
    context.run(CLAIMS.set, {})
    context.run(STAGES.set, frozenset())
    return context


class Work(Protocol):
    """A turn on its way to its answer. `interrupt` stops it, and waits until its outcome is recorded.

    `wait_over` waits for its end. `steer` gives it a message for its next request, and a function that tells
    whether it took it.
    """

    @property
    def is_over(self) -> bool: ...
    async def interrupt(self) -> None: ...
    async def wait_over(self) -> Any: ...
    def steer(self, message: Message) -> Callable[[], bool]: ...


STAGES: ContextVar[frozenset[Place]] = ContextVar("quire_stages", default=frozenset())
"""The conversations of which the current code sees what a turn has staged."""


class Staged(NamedTuple):
    """A write that is applied to the state, and is stored with the next write.

    `lost` is called if others wrote first and it does not fit any more: then it never happened.
    """

    compute: Compute
    claim: str | None
    entries: Entries
    lost: Callable[[QuireError], None]


class Stood(NamedTuple):
    """What stood in the state when nothing was staged, and changes in place."""

    spending: Spending
    jobs: JobsState
    pool: Pool


class Log:
    """The entries of one place, and the state they amount to. Any thread may write; one does at a time.

    A turn stages what it need not store at once. Whoever writes next stores it too, before what he writes.
    Until then only the code of the turn sees it: the rest is shown `views`, `version`, `spending`, `jobs` and
    `pool` of what is stored.
    """

    def __init__(self, store: Store, place: Place, begin: Callable[[], State]) -> None:
        """`begin` returns the state before the first entry."""
        self.store = store
        self.place = place
        self.lock = RLock()
        """Held while entries are written: a slow store holds it for long."""
        self.applying = RLock()
        """Held while the state changes. Code that only reads the state in an event loop takes this lock."""
        self._begin = begin
        self._last = b""  # the body of the last entry that was applied
        self._checkpoint = Checkpoint(store, place)
        self._every = OPENED  # by how many entries the log grows until the next checkpoint
        self._applied_weight = 0
        self._opened_weight = 0  # when the checkpoint was opened
        self.state: State
        self.work: Work | None = None  # the turn that is on its way in this process
        self._staged: list[Staged] = []
        self._stored = Stood(Spending(), JobsState(), Pool())  # where something is staged
        if not self._open_checkpoint():
            self.state = begin()
            self.catch_up()

    def _open_checkpoint(self) -> bool:
        """Open the last checkpoint and apply what follows; return whether that was possible."""
        if not self.store.has_checkpoints:
            return False
        state = self._begin()
        opened = self._checkpoint.open(state)
        if opened is None:
            return False
        last, stored = opened
        items = iter(items_in(self.place, [entry for entry in stored if entry.stream not in SKIMMED]))
        for stream, run in groupby(stored, key=attrgetter("stream")):
            bodies = [entry.body for entry in run]
            if stream in SKIMMED:
                state.skim(stream, bodies)
            else:
                self._apply(state, [Written(stream, item) for item in islice(items, len(bodies))])
        self.state, self._last = state, stored[-1].body if stored else last
        self._applied_weight = _weight_of(stored)
        self._opened_weight = self.weight
        return True

    def links_version(self) -> int:
        """The version of the conversation of links; that of the opening, when it is asked for first."""
        known, self._checkpoint.links = self._checkpoint.links, None
        return self.store.version(self.place._replace(conversation=LINKS)) if known is None else known

    @property
    def weight(self) -> int:
        """About how many bytes of memory the conversation takes, with the last request that was built."""
        return _EMPTY + self._applied_weight + self._checkpoint.weight

    @property
    def is_checkpoint_due(self) -> bool:
        """Whether the log has grown by many entries since the last checkpoint, or many were counted."""
        return self._has_grown(EVERY) or (
            self._may_have_checkpoint() and self.state.counted_items() - self._checkpoint.counted >= LEAST
        )

    def _has_grown(self, by: int) -> bool:
        """Whether the log may have a checkpoint, and has grown by so many entries since the last one."""
        return self.state.version - self._checkpoint.version >= by and self._may_have_checkpoint()

    def _may_have_checkpoint(self) -> bool:
        if self._staged:
            return False
        is_long = self.state.version >= LEAST and self.place.conversation != LINKS
        return is_long and self.store.has_checkpoints and not self.state.is_erasing

    def save_checkpoint(self) -> None:
        """Write a checkpoint. A failure is logged: a checkpoint only makes the next opening quicker."""
        with self.lock:
            try:
                self._every = EVERY
                is_written = self._checkpoint.write(self.state, self._last)
                if is_written and self.weight > max(_LARGE, 4 * self._opened_weight):
                    self._open_checkpoint()
                    self._checkpoint.links = None  # it is of now, and may be asked for later
            except Exception as fault:  # what a caller wrote is stored: nothing here may fail it
                logger.warning("no checkpoint of %s was written: %s", self.place.digest, type(fault).__name__)

    def let_go(self) -> None:
        """Write a checkpoint if the log has grown by some entries, unless somebody writes to it now."""
        is_due = self.is_checkpoint_due or self._has_grown(_GROWN)
        if is_due and self.lock.acquire(blocking=False):
            try:
                self.save_checkpoint()
            finally:
                self.lock.release()

    @property
    def at_work(self) -> Work | None:
        """The turn that is on its way in this conversation, in this process."""
        return None if self.work is None or self.work.is_over else self.work

    def take_turn(self, work: Work) -> Work | None:
        """Let a turn be the one on its way; if another still is, that one is returned."""
        with self.applying:
            other = self.at_work
            self.work = other or work
            return other

    @property
    def root(self) -> "Log":
        """The log that is stored: of a draft, the one it will be merged into."""
        return self

    def check_not_forgotten(self) -> None:
        """Raise `Forgotten` if this is a draft and something was forgotten since it began."""

    @property
    def spent_apart(self) -> Spending:
        """What was spent in a draft, and is not in the stored log yet."""
        return Spending()

    def look(self, read: Callable[[State], T]) -> T:
        """Store what is staged, and return what is read from the state while nobody writes."""
        with self.lock:
            self.flush()
            return read(self.state)

    # What is stored, and what is staged

    @property
    def version(self) -> int:
        """How many entries are stored, as far as is known."""
        with self.applying:
            return self.state.version - sum(len(one.entries) for one in self._staged)

    def views(self) -> dict[str, View]:
        """What each transcript shows: to a turn also what it has staged."""
        with self.applying:
            transcripts = self.state.transcripts
            if self._sees_staged:
                return {name: one.view for name, one in transcripts.items()}
            staged = Counter(stream for one in self._staged for stream, _ in one.entries)
            stored = {name: len(one) - staged[name] for name, one in transcripts.items()}
            shown = [name for name in transcripts if stored[name] or name == MAIN]
            return {name: transcripts[name].at(stored[name]) for name in shown}

    @property
    def _sees_staged(self) -> bool:
        """Whether the current code is of the turn that has staged something, or nothing is staged."""
        return not self._staged or self.place in STAGES.get() or self.place in CLAIMS.get()

    @property
    def spending(self) -> Spending:
        """What was spent: for a turn also by what it has staged."""
        with self.applying:
            return (self.state if self._sees_staged else self._stored).spending

    @property
    def jobs(self) -> JobsState:
        """The jobs: for a turn also as it has staged them. It is read under the lock `applying`."""
        with self.applying:
            return (self.state if self._sees_staged else self._stored).jobs

    @property
    def pool(self) -> Pool:
        """The notes: for a turn also those that it has staged."""
        with self.applying:
            return (self.state if self._sees_staged else self._stored).pool

    def stage(self, compute: Compute, lost: Callable[[QuireError], None]) -> Entries:
        """Apply what is computed, and return it; it is stored with the next write."""
        with self.lock:
            try:
                entries = self._computed(compute, self._claim)
            except (Conflict, Forgotten, StoreFailed):
                raise
            except QuireError:
                if not self.catch_up():
                    raise
                entries = self._computed(compute, self._claim)  # the fault was about what others wrote
            if entries:
                self._stage(Staged(compute, self._claim, entries, lost))
            return entries

    @property
    def _claim(self) -> str | None:
        """The claim under which the current code does a job of the conversation."""
        return CLAIMS.get().get(self.place)

    def _stage(self, staged: Staged) -> None:
        with self.applying:
            if not self._staged:
                state = self.state
                self._stored = Stood(state.spending, state.jobs.copy(), state.pool.fork())
            self.state.apply(staged.entries)
            self._staged.append(staged)

    @property
    def has_staged(self) -> bool:
        """Whether something is staged."""
        return bool(self._staged)

    def flush(self) -> None:
        """Store what is staged."""
        if self._staged:
            self.commit(lambda _: [])

    def _catch_up_staged(self) -> None:
        """Take in what others wrote, and stage anew on it what was staged."""
        if not self._staged:
            self.catch_up()
            return
        with self.applying:  # nobody sees the state without what is staged, or takes it for stored
            state, staged, self._staged = self.state, self._staged, []
            try:
                if not self._open_checkpoint():
                    self.reload()
            except BaseException:
                self.state, self._staged = state, staged
                raise
            for index, one in enumerate(staged):
                try:
                    self._stage(one._replace(entries=self._computed(one.compute, one.claim)))
                except QuireError as fault:  # what came later was made of it
                    is_conflict = isinstance(fault, Conflict)
                    lost = fault if is_conflict else Conflict(f"others wrote to {self.place} first: {fault}")
                    for late in staged[index:]:
                        late.lost(lost)
                    break

    def catch_up(self) -> Entries:
        """Store what is staged, apply what others have written, and return the latter."""
        with self.lock:
            staged, before = [entry for one in self._staged for entry in one.entries], self.version
            self.flush()
            came: Entries = []
            if self.version != before + len(staged):  # others wrote before that
                own = {entry.item.id for entry in staged}
                came = [entry for entry in self.recorded(before) if entry.item.id not in own]
            self._checkpoint.links = None  # they are of an earlier moment
            if self.state.forgetting:  # entries are being replaced
                self.reload()
                return []
            known = self.state.version
            stored = self.store.read(self.place, after=max(known - 1, 0))
            if known and (not stored or stored[0].body != self._last):
                return self.reload()
            new = read_entries(self.place, stored[1:] if known else stored)
            if known and any(stream == FORGOTTEN for stream, _ in new):
                self.reload()  # what was forgotten is in entries that were read before
            elif new:
                self._apply(self.state, new)
                self._last = stored[-1].body
                self._applied_weight += _weight_of(stored)
            return [*came, *new]

    def reload(self) -> Entries:
        """Read all entries again, and return them. If that fails, the state stays as it was."""
        with self.lock:
            stored = self.store.read(self.place)
            entries = read_entries(self.place, stored)
            state = self._begin()
            self._checkpoint.drop()
            self._apply(state, entries)
            self.state, self._last = state, stored[-1].body if stored else b""
            self._applied_weight = _weight_of(stored)
            return entries

    def past_at(self, version: int, name: str) -> tuple[Transcript, Pool]:
        """A transcript and the pool as they were at an earlier version."""
        self.state.check_version(version)
        known, notes = self.state.transcripts.get(name), State()
        transcript = Transcript() if known is None else known.past(self.state.revision_at(version, name))
        versions = self.store.versions_of(self.place, POOL, before=version + 1)
        notes.apply([Written(POOL, item) for item in self.read_at(versions)])
        return transcript, notes.pool

    def recorded(self, after: int = 0) -> Entries:
        """The entries after a version, as they are stored."""
        return read_entries(self.place, self.store.read(self.place, after=after))

    def versions_of(self, stream: str) -> list[int]:
        """The versions of the entries of a stream."""
        return self.store.versions_of(self.place, stream)

    def read_at(self, versions: Sequence[int]) -> list[Item]:
        """The items at some versions, in order, as they are stored."""
        return items_in(self.place, self.store.read_at(self.place, versions)) if versions else []

    def read_stream(self, stream: str) -> list[Item]:
        """All items of a stream, as they are stored."""
        return self.read_at(self.versions_of(stream))

    def append(self, name: str, item: I) -> I:
        """Write one item that is neither an edit nor a result: the common case, without a trial."""
        with self.lock:
            state = self.state
            transcript = state.transcripts.get(name)
            is_common = transcript is not None and item.id not in transcript and not state.erased_names
            self.check_claim(self._claim)
            if is_common and not self._staged:
                entry = Entry(name, JSON.encode_item(item))
                try:
                    self.store.append(self.place, (entry,), expected=state.version)
                except Conflict:
                    pass  # `commit` meets it again, and rebases
                else:
                    with self.applying:
                        state.take(name, item)
                    self._last = entry.body
                    self._applied_weight += weight_of(entry)
                    if self._has_grown(EVERY):
                        self.save_checkpoint()
                    return item
            return cast(I, self.commit(lambda _: [Written(name, item)])[0].item)

    def commit(self, compute: Compute, *, expected: int | None = None, rebases: bool = True) -> Entries:
        """Write what is computed from the present state, and return it; what is staged is written before it.

        If others wrote first, it is computed again on what they wrote, unless it is for an `expected` version
        alone. `Conflict` if it does not fit then. What names a forgotten item is written as a tombstone.
        Without `rebases`, `Conflict` is raised if others wrote first; what was staged is computed again, and
        stays staged.
        """
        with self.lock:
            others_wrote = False
            open_before = frozenset[str]()  # the call ids that were open before others wrote
            for attempt in range(_MAX_TRIES):
                self._check_expected(expected)
                try:
                    entries = self._computed(compute, self._claim)
                except (Conflict, Forgotten, StoreFailed):
                    raise
                except QuireError as fault:
                    if others_wrote and not isinstance(fault, TurnBusy):
                        raise Conflict(f"others wrote to {self.place} first: {fault}") from fault
                    open_before = self.state.waiting()
                    if others_wrote or not self.catch_up() or not rebases:
                        raise
                    others_wrote = True
                    continue  # the fault may be about what others wrote
                if others_wrote:
                    self._check_answers(entries, open_before)
                try:
                    return self._write(entries, expected)
                except Conflict:
                    if not others_wrote:
                        others_wrote, open_before = True, self.state.waiting()
                    if attempt:  # writers that try again at once only meet again
                        sleep(random.random() * min(0.0005 * 2**attempt, _LONGEST_PAUSE))
                    self._catch_up_staged()
                    if not rebases:
                        raise
            raise Conflict(f"others kept writing to {self.place}", self.state.version)

    def _check_expected(self, expected: int | None) -> None:
        version = self.version
        if expected is not None and whole(expected, "the expected version") != version:
            raise Conflict(f"{self.place} is at version {version}, not at {expected}", expected, version)

    def _computed(self, compute: Compute, claim: str | None) -> Entries:
        while True:
            state, version = self.state, self.state.version
            self.check_claim(claim)
            entries = compute(state)
            if self.state is state and state.version == version:  # computing may have caught up
                break
        if state.erased_names:
            entries = [_written(entry, state) for entry in entries]
        state.check(entries)
        return entries

    def check_claim(self, claim: str | None) -> None:
        """Raise `TurnLost` if a job that was taken under a claim was taken by another since."""
        if claim is not None and claim != self.state.jobs.claim:
            raise TurnLost(f"another worker has taken over the turn of {self.place}")

    def _check_answers(self, entries: Entries, open_before: frozenset[str]) -> None:
        """Two may append side by side; two may not answer the same call."""
        answered = open_before - self.state.waiting()
        for _, item in entries:
            if isinstance(item, ToolResult) and item.call_id in answered:
                raise Conflict(f"call {cut(item.call_id)!r} was answered by another first")

    def _write(self, entries: Entries, expected: int | None) -> Entries:
        """Store entries, then apply them: only what is stored has happened."""
        staged = [entry for one in self._staged for entry in one.entries]
        if not entries and not staged:
            if expected is not None:
                self.catch_up()
                self._check_expected(expected)
            return entries
        stored = [Entry(stream, JSON.encode_item(item)) for stream, item in (*staged, *entries)]
        options = {"settled": self.state.jobs.are_settled_by(entries)} if self.store.knows_open_jobs else {}
        self.store.append(self.place, stored, expected=self.version, **options)
        with self.applying:
            self._staged.clear()
            self.state.apply(entries)
        self._last = stored[-1].body
        self._applied_weight += _weight_of(stored)
        if self._has_grown(self._every):
            self.save_checkpoint()
        return entries

    def _apply(self, state: State, entries: Entries) -> None:
        try:
            with self.applying:
                state.apply(entries)
        except (StoreDamaged, Forgotten):
            raise
        except QuireError as fault:
            raise StoreDamaged(f"{self.place}: the entries do not fit together: {fault}") from fault


def _written(entry: Written, state: State) -> Written:
    is_gone = holds_content(entry.stream) and state.names_erased(entry.item)
    return Written(entry.stream, tombstone(entry.item)) if is_gone else entry


def _weight_of(entries: Iterable[Entry | Stored]) -> int:
    """The weight of those entries whose items stay in memory."""
    return sum(weight_of(entry) for entry in entries if not is_own(entry.stream) or entry.stream == POOL)


def read_entries(place: Place, stored: Sequence[Stored]) -> Entries:
    """Stored entries with their items decoded."""
    items = items_in(place, stored)
    return [Written(entry.stream, item) for entry, item in zip(stored, items, strict=True)]


class Guard:
    """Tells whether something was forgotten in some logs since it was made.

    Erasure replaces what is stored. What somebody has read, and has yet to write or send, carries a guard.
    """

    def __init__(self, *logs: Log) -> None:
        self._counts = {log: log.state.forgotten for one in logs for log in {one, one.root}}

    @property
    def is_intact(self) -> bool:
        """Whether nothing was forgotten since, nor is being, as far as is known without reading."""
        return all(
            log.state.forgotten == count and not log.state.forgetting for log, count in self._counts.items()
        )

    def check(self, what: str) -> None:
        """Raise `Forgotten` if something was."""
        if not self.is_intact:
            raise Forgotten(f"something was forgotten since {what}: do it again")


async def follow(log: Log, after: int) -> AsyncIterator[Written]:
    """Every entry after a version, in order, as it comes; it ends when the iterator is dropped."""
    version, loop, changed = after, asyncio.get_running_loop(), asyncio.Event()

    def wake() -> None:
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(changed.set)

    end = log.store.watch(log.place, wake)
    try:
        while True:
            changed.clear()
            stored = await FOLLOWING.do(log.store.read, log.place, after=version)
            if stored:
                await FOLLOWING.do(log.catch_up)
            elif await FOLLOWING.do(log.store.version, log.place) < version:
                version = 0  # the conversation was removed, and begins again
                continue
            for entry, written in zip(stored, read_entries(log.place, stored), strict=True):
                version = entry.version
                yield written
            await changed.wait()
    finally:
        end()


# Stores and logs that are open in this process

_Name = tuple[int, str, Durability, bytes | None]
_lock = Lock()
_stores: dict[_Name, tuple[Store, int]] = {}


def open_store(url: str | Path | Store, durable: Durability | None = None, key: bytes | None = None) -> Store:
    """The store of an address, opened once in each process and closed when it ends.

    If its file was deleted or replaced, it is opened anew.
    """
    if isinstance(url, Store) or str(url) == "memory:" or "\0" in str(url):
        return Store.open(url, durable=durable, key=key)
    is_server = isinstance(url, str) and "://" in url and not url.startswith("sqlite:///")
    path = str(url) if is_server else os.path.realpath(str(url).removeprefix("sqlite:///"))
    name = os.getpid(), path, durable or "process", key
    with _lock:
        store, mark = _stores.get(name, (None, 0))
        if store is None or mark != _mark_of(path):
            if store is not None:
                _close(store)
            store = Store.open(url, durable=durable, key=key)
            _stores[name] = store, _mark_of(path)
        return store


def _mark_of(path: str) -> int:
    """Tells whether a path still leads to the file that was opened; JSON lines are rewritten anew."""
    if not os.path.exists(path):
        return 0
    return 1 if path.lower().endswith(".jsonl") else os.stat(path).st_ino


class _Open:
    """The logs of a store that are open: one for each place, which all sessions of it share."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.all: WeakValueDictionary[Place, Log] = WeakValueDictionary()
        self.latest: OrderedDict[Place, tuple[Log, int]] = OrderedDict()
        """The latest used, with what each weighed when it was opened last."""
        self.weight = 0

    def use(self, log: Log) -> list[Log]:
        """Keep a log in memory as the latest used, and return those that are not kept any more."""
        with self.lock:
            _, known = self.latest.pop(log.place, (log, 0))
            self.latest[log.place] = log, log.weight
            self.weight += log.weight - known
            dropped: list[Log] = []
            while self.weight > _MAX_OPEN and len(self.latest) > 1:
                _, (oldest, weight) = self.latest.popitem(last=False)
                self.weight -= weight
                dropped.append(oldest)
            return dropped


def open_log(store: Store, place: Place, *, catches_up: bool = True) -> Log:
    """The log of a place; unless it `catches_up`, one that is open as this process knows it."""
    opened: _Open = store.attached.setdefault("session", _Open())
    log = opened.all.get(place)
    if log is not None and catches_up:
        log.catch_up()
    elif log is None:
        log = Log(store, place, lambda: State(partial(_past_of, store, place.scope)))
    with opened.lock:
        log = opened.all.setdefault(place, log)  # another thread may have been quicker
    for dropped in opened.use(log):
        dropped.let_go()
    return log


def check_claims_of_others(log: Log) -> None:
    """Raise `TurnLost` if the current code works for a job of another conversation that was taken over."""
    for place, claim in CLAIMS.get().items():
        if place != log.place:
            open_log(log.store, place).check_claim(claim)


def _past_of(store: Store, scope: str, origin: Note) -> tuple[Transcript, int]:
    """The past of a fork, and how often something was forgotten in the conversation that it is from."""
    content = origin.content
    parent = open_log(store, Place(scope, content["conversation"]))
    with parent.lock:
        transcript = parent.state.transcripts.get(content["transcript"], Transcript())
        revision, last = content["revision"], content.get("last")
        is_past = len(transcript) >= revision
        if is_past and last is not None:
            is_past = transcript.view.log.id_at(revision - 1) == last
        if not is_past:
            raise Forgotten("the conversation that this one was forked from was removed from the store")
        is_latest = len(transcript) == revision
        past = transcript.copy() if is_latest else transcript.past(revision)
        return past, parent.state.forgotten


def close_stores() -> None:
    """Close the stores that were opened by their addresses."""
    with _lock:
        found = [store for store, _ in _stores.values()]
        _stores.clear()
    for store in found:
        _close(store)


def _close(store: Store) -> None:
    with suppress(StoreError):  # there is no caller to raise it to
        store.close()


atexit.register(close_stores)
