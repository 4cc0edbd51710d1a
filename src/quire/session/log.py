"""The log of one conversation in memory. All reads and writes of a conversation go through it.

A write is a function from the current state to new entries. If another process wrote first, the log applies
the entries of that process and calls the function again: that is a rebase.
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
from quire.stores.store import is_internal
from quire.stores.streams import FORGOTTEN, LINKS, MAIN, POOL, holds_content, tombstone
from quire.stores.threads import FOLLOWING
from quire.tokens import whole

logger = logging.getLogger("quire.session")

T = TypeVar("T")
I = TypeVar("I", bound=Item)  # noqa: E741

Entries = list[Written]
Compute = Callable[[State], Entries]
"""Returns the entries to write, given the current state. If it raises, nothing is written."""

_MAX_ATTEMPTS = 1_000
_LONGEST_PAUSE_SECONDS = 0.02
_MAX_CACHED_BYTES = 64 * 2**20
"""Logs that no session uses stay in memory up to this many bytes in all, for each store."""

_LARGE_LOG = 4 * 2**20
"""A log that takes more bytes is opened again from a new checkpoint, to free the items it has loaded."""

MIN_ENTRIES = 256
"""A log of fewer entries has no checkpoint."""

INTERVAL = 384
"""A checkpoint is due after this many new entries."""

FIRST_INTERVAL = 32
"""As `INTERVAL`, for a log that was just opened: every opening applies the entries since the checkpoint."""

_CLOSING_INTERVAL = 64
"""A log that is closed or dropped from memory writes a checkpoint if it has this many new entries."""

_BASE_WEIGHT = 30_000
"""Bytes of memory that a conversation of one message takes, with its session and agent."""

CLAIMS: ContextVar[Mapping[Place, str]] = ContextVar("quire_claims", default={})  # noqa: B039
"""The claims of the jobs that the current code works on. A write fails once another worker has the claim."""


def context_without_claims() -> Context:
    """A copy of the current context for work that is not part of a job, such as a background compaction."""
    context = copy_context()
    context.run(CLAIMS.set, {})
    context.run(STAGES.set, frozenset())
    return context


class RunningTurn(Protocol):
    """A turn of an agent that has not ended.

    `interrupt` stops it, and waits until its outcome is recorded. `wait_over` waits for its end. `steer`
    gives it a message for its next request, and returns a function that tells whether that request had it.
    """

    @property
    def is_over(self) -> bool: ...
    async def interrupt(self) -> None: ...
    async def wait_over(self) -> Any: ...
    def steer(self, message: Message) -> Callable[[], bool]: ...


STAGES: ContextVar[frozenset[Place]] = ContextVar("quire_stages", default=frozenset())
"""The conversations whose staged entries the current code sees, because it belongs to their turn."""


class Staged(NamedTuple):
    """A write that is applied to the state, but not stored until the next write.

    `on_lost` is called if others wrote first and the entries do not fit any more: then they are discarded.
    """

    compute: Compute
    claim: str | None
    entries: Entries
    on_lost: Callable[[QuireError], None]


class StoredState(NamedTuple):
    """The parts of the state, as they are stored, that staged writes change in place."""

    spending: Spending
    jobs: JobsState
    pool: Pool


class Log:
    """The state of one conversation, and its writes. Any thread may write; a lock lets in one at a time.

    A turn may stage entries instead of storing them at once. The next write, by anyone, stores the staged
    entries first. Until then only the code of the turn sees them: for all other code, `views`, `version`,
    `spending`, `jobs` and `pool` return the stored state.
    """

    def __init__(self, store: Store, place: Place, begin: Callable[[], State]) -> None:
        """`begin` returns the state before the first entry."""
        self.store = store
        self.place = place
        self.lock = RLock()
        """Held while entries are written, which may take long with a slow store."""
        self.applying = RLock()
        """Held while the state changes, which is quick: code in an event loop takes this lock to read it."""
        self.removals = 0
        """How often it was noticed that the conversation was removed from the store."""
        self._begin = begin
        self._last_body = b""  # of the last entry that was applied
        self._checkpoint = Checkpoint(store, place)
        self._interval = FIRST_INTERVAL  # entries until the next checkpoint
        self._applied_weight = 0
        self._opened_weight = 0  # when the checkpoint was opened
        self.state: State
        self._turn: RunningTurn | None = None
        self._staged: list[Staged] = []
        self._stored = StoredState(Spending(), JobsState(), Pool())  # valid while something is staged
        if not self._open_checkpoint():
            self.state = begin()
            self.catch_up()

    def _open_checkpoint(self) -> bool:
        """Open the last checkpoint and apply the entries after it; return whether that was possible."""
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
        self.state, self._last_body = state, stored[-1].body if stored else last
        self._applied_weight = _weight_of(stored)
        self._opened_weight = self.weight
        return True

    def links_version(self) -> int:
        """The version of the conversation `LINKS`, which says who quoted whom.

        Opening a checkpoint reads it, too, so the first call after that needs no store access.
        """
        cached, self._checkpoint.links = self._checkpoint.links, None
        return self.store.version(self.place._replace(conversation=LINKS)) if cached is None else cached

    @property
    def weight(self) -> int:
        """Estimate the bytes of memory of the conversation, with the last request that was built."""
        return _BASE_WEIGHT + self._applied_weight + self._checkpoint.weight

    @property
    def is_checkpoint_due(self) -> bool:
        """Whether the log has many new entries or token counts since the last checkpoint."""
        return self._has_grown(INTERVAL) or (
            self._may_have_checkpoint()
            and self.state.cached_counts() - self._checkpoint.cached_counts >= MIN_ENTRIES
        )

    def _has_grown(self, by: int) -> bool:
        """Whether a checkpoint may be written, and the last one is at least `by` entries old."""
        return self.state.version - self._checkpoint.version >= by and self._may_have_checkpoint()

    def _may_have_checkpoint(self) -> bool:
        if self._staged:
            return False
        is_long = self.state.version >= MIN_ENTRIES and self.place.conversation != LINKS
        return is_long and self.store.has_checkpoints and not self.state.is_erasing

    def save_checkpoint(self) -> None:
        """Write a checkpoint. A failure is logged: a checkpoint only makes the next opening quicker."""
        with self.lock:
            try:
                self._interval = INTERVAL
                is_written = self._checkpoint.write(self.state, self._last_body)
                if is_written and self.weight > max(_LARGE_LOG, 4 * self._opened_weight):
                    self._open_checkpoint()
                    self._checkpoint.links = None  # it may be out of date when it is asked for
            except Exception as fault:  # the write of the caller is stored and must not fail here
                logger.warning("no checkpoint of %s was written: %s", self.place.digest, type(fault).__name__)

    def save_checkpoint_if_grown(self) -> None:
        """Write a checkpoint if the log has some new entries, unless somebody writes to it now."""
        is_due = self.is_checkpoint_due or self._has_grown(_CLOSING_INTERVAL)
        if is_due and self.lock.acquire(blocking=False):
            try:
                self.save_checkpoint()
            finally:
                self.lock.release()

    @property
    def running_turn(self) -> RunningTurn | None:
        """The turn of this conversation that runs in this process."""
        return None if self._turn is None or self._turn.is_over else self._turn

    def start_turn(self, turn: RunningTurn) -> RunningTurn | None:
        """Make a turn the running one. If another turn runs, change nothing and return that one."""
        with self.applying:
            other = self.running_turn
            self._turn = other or turn
            return other

    @property
    def root(self) -> "Log":
        """The stored log: this one, or for a draft the log that it will be merged into."""
        return self

    def check_not_forgotten(self) -> None:
        """Raise `Forgotten` if this is a draft and something was forgotten since it began."""

    @property
    def unmerged_spending(self) -> Spending:
        """What a draft has spent and not yet merged into the stored log; empty for a stored log."""
        return Spending()

    def read_state(self, read: Callable[[State], T]) -> T:
        """Store what is staged, and return `read(state)`, computed while nobody writes."""
        with self.lock:
            self.flush()
            return read(self.state)

    # Stored and staged entries

    @property
    def version(self) -> int:
        """How many entries are stored, as far as this process has read them."""
        with self.applying:
            return self.state.version - sum(len(write.entries) for write in self._staged)

    def views(self) -> dict[str, View]:
        """The view of each transcript. The turn that has staged items sees them too."""
        with self.applying:
            transcripts = self.state.transcripts
            if self._sees_staged:
                return {name: transcript.view for name, transcript in transcripts.items()}
            staged = Counter(stream for write in self._staged for stream, _ in write.entries)
            stored = {name: len(transcript) - staged[name] for name, transcript in transcripts.items()}
            names = [name for name in transcripts if stored[name] or name == MAIN]
            return {name: transcripts[name].at(stored[name]) for name in names}

    @property
    def _sees_staged(self) -> bool:
        """Whether nothing is staged, or the current code belongs to the turn that has staged something."""
        return not self._staged or self.place in STAGES.get() or self.place in CLAIMS.get()

    @property
    def spending(self) -> Spending:
        """The spending; for a turn, with what it has staged."""
        with self.applying:
            return (self.state if self._sees_staged else self._stored).spending

    @property
    def jobs(self) -> JobsState:
        """The jobs; for a turn, with what it has staged. Hold the lock `applying` while reading them."""
        with self.applying:
            return (self.state if self._sees_staged else self._stored).jobs

    @property
    def pool(self) -> Pool:
        """The pool; for a turn, with what it has staged."""
        with self.applying:
            return (self.state if self._sees_staged else self._stored).pool

    def stage(self, compute: Compute, on_lost: Callable[[QuireError], None]) -> Entries:
        """Compute entries, apply them, and return them. They are stored with the next write."""
        with self.lock:
            try:
                entries = self._computed(compute, self._claim)
            except (Conflict, Forgotten, StoreFailed):
                raise
            except QuireError:
                if not self.catch_up():
                    raise
                entries = self._computed(compute, self._claim)  # the entries of others may remove the fault
            if entries:
                self._stage(Staged(compute, self._claim, entries, on_lost))
            return entries

    @property
    def _claim(self) -> str | None:
        """The claim of the job of this conversation that the current code works on."""
        return CLAIMS.get().get(self.place)

    def _stage(self, staged: Staged) -> None:
        with self.applying:
            if not self._staged:
                state = self.state
                self._stored = StoredState(state.spending, state.jobs.copy(), state.pool.fork())
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
        """Apply the entries of other writers, then compute and stage again what was staged."""
        if not self._staged:
            self.catch_up()
            return
        with self.applying:  # other code never sees the state half restored
            known_version, removals = self.version, self.removals
            state, staged, self._staged = self.state, self._staged, []
            try:
                if not self._open_checkpoint():
                    self.reload(known_version)
            except BaseException:
                self.state, self._staged = state, staged
                raise
            if self.removals != removals:
                for write in staged:
                    write.on_lost(Forgotten(f"{self.place} was removed"))
                return
            for index, write in enumerate(staged):
                try:
                    self._stage(write._replace(entries=self._computed(write.compute, write.claim)))
                except QuireError as fault:
                    if not isinstance(fault, Conflict):
                        fault = Conflict(f"others wrote to {self.place} first: {fault}")
                    for discarded in staged[index:]:  # the later ones depend on this one
                        discarded.on_lost(fault)
                    break

    def catch_up(self) -> Entries:
        """Store what is staged, apply the new entries of other writers, and return these."""
        with self.lock:
            staged, before = [entry for write in self._staged for entry in write.entries], self.version
            self.flush()
            of_others: Entries = []  # what others wrote first, found by the flush
            if self.version != before + len(staged):
                own_ids = {entry.item.id for entry in staged}
                of_others = [entry for entry in self.recorded(before) if entry.item.id not in own_ids]
            self._checkpoint.links = None  # it is out of date
            if self.state.forgetting:  # entries are being replaced
                self.reload()
                return []
            known_version = self.state.version
            stored = self.store.read(self.place, after=max(known_version - 1, 0))
            if known_version and (not stored or stored[0].body != self._last_body):
                return self.reload()
            new = read_entries(self.place, stored[1:] if known_version else stored)
            if known_version and any(stream == FORGOTTEN for stream, _ in new):
                self.reload()  # entries that were read before are tombstones now
            elif new:
                self._apply(self.state, new)
                self._last_body = stored[-1].body
                self._applied_weight += _weight_of(stored)
            return [*of_others, *new]

    def reload(self, known_version: int | None = None) -> Entries:
        """Read all entries again, and return them. If the read fails, the state does not change.

        `known_version` is the number of stored entries that were applied, by default the version.
        """
        with self.lock:
            known_version = self.version if known_version is None else known_version
            stored = self.store.read(self.place)
            entries = read_entries(self.place, stored)
            state = self._begin()
            self._checkpoint.drop()
            self._apply(state, entries)
            if known_version and not self._continues(entries, known_version):
                self.removals += 1
            self.state, self._last_body = state, stored[-1].body if stored else b""
            self._applied_weight = _weight_of(stored)
            return entries

    def _continues(self, entries: Entries, count: int) -> bool:
        """Whether these begin with the `count` entries that were known; an erased entry still has its id."""
        return len(entries) >= count and entries[count - 1].item.id == JSON.decode_item(self._last_body).id

    def past_at(self, version: int, name: str) -> tuple[Transcript, Pool]:
        """A transcript and the pool as they were at an earlier version."""
        self.state.check_version(version)
        latest = self.state.transcripts.get(name)
        transcript = Transcript() if latest is None else latest.past(self.state.revision_at(version, name))
        versions = self.store.versions_of(self.place, POOL, before=version + 1)
        pool_state = State()
        pool_state.apply([Written(POOL, item) for item in self.read_at(versions)])
        return transcript, pool_state.pool

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
        """Write one item, without the checks of `commit` if possible. It must not be an edit."""
        with self.lock:
            state = self.state
            transcript = state.transcripts.get(name)
            needs_no_check = transcript is not None and item.id not in transcript and not state.erased_names
            self.check_claim(self._claim)
            if needs_no_check and not self._staged:
                entry = Entry(name, JSON.encode_item(item))
                try:
                    self.store.append(self.place, (entry,), expected=state.version)
                except Conflict:
                    pass  # `commit` below rebases
                else:
                    with self.applying:
                        state.apply_item(name, item)
                    self._last_body = entry.body
                    self._applied_weight += weight_of(entry)
                    if self._has_grown(INTERVAL):
                        self.save_checkpoint()
                    return item
            return cast(I, self.commit(lambda _: [Written(name, item)])[0].item)

    def commit(self, compute: Compute, *, expected: int | None = None, rebases: bool = True) -> Entries:
        """Compute entries from the current state, store them after what is staged, and return them.

        If others wrote first, the log applies their entries and calls `compute` again; `Conflict` if the
        result does not fit. With `expected`, or without `rebases`, it raises `Conflict` instead of calling
        `compute` again. Entries that were staged before stay staged: their own functions are called again on
        the new state. An item that has a forgotten item as its source is written as a tombstone.
        """
        with self.lock:
            others_wrote = False
            open_before = frozenset[str]()  # call ids of open calls, before others wrote
            for attempt in range(_MAX_ATTEMPTS):
                self._check_expected(expected)
                try:
                    entries = self._computed(compute, self._claim)
                except (Conflict, Forgotten, StoreFailed):
                    raise
                except QuireError as fault:
                    if others_wrote and not isinstance(fault, TurnBusy):
                        raise Conflict(f"others wrote to {self.place} first: {fault}") from fault
                    open_before = self.state.open_call_ids()
                    if others_wrote or not self.catch_up() or not rebases:
                        raise
                    others_wrote = True
                    continue  # the entries of others may remove the fault
                if others_wrote:
                    self._check_answers(entries, open_before)
                try:
                    return self._write(entries, expected)
                except Conflict:
                    if not others_wrote:
                        others_wrote, open_before = True, self.state.open_call_ids()
                    if attempt:  # a random pause, so that writers do not collide again
                        sleep(random.random() * min(0.0005 * 2**attempt, _LONGEST_PAUSE_SECONDS))
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
            if self.state is state and state.version == version:  # `compute` may have caught up
                break
        if state.erased_names:
            entries = [_without_erased(entry, state) for entry in entries]
        state.check(entries)
        return entries

    def check_claim(self, claim: str | None) -> None:
        """Raise `TurnLost` if another worker has claimed the job of this claim."""
        if claim is not None and claim != self.state.jobs.claim:
            raise TurnLost(f"another worker has taken over the turn of {self.place}")

    def _check_answers(self, entries: Entries, open_before: frozenset[str]) -> None:
        """Raise `Conflict` if others answered a call that these entries answer too."""
        answered = open_before - self.state.open_call_ids()
        for _, item in entries:
            if isinstance(item, ToolResult) and item.call_id in answered:
                raise Conflict(f"call {cut(item.call_id)!r} was answered by another first")

    def _write(self, entries: Entries, expected: int | None) -> Entries:
        """Store the staged entries and these, then apply these to the state."""
        staged = [entry for write in self._staged for entry in write.entries]
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
        self._last_body = stored[-1].body
        self._applied_weight += _weight_of(stored)
        if self._has_grown(self._interval):
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


def _without_erased(entry: Written, state: State) -> Written:
    """The entry, or its tombstone if the item is forgotten or has a forgotten source."""
    is_erased = holds_content(entry.stream) and state.mentions_erased(entry.item)
    return Written(entry.stream, tombstone(entry.item)) if is_erased else entry


def _weight_of(entries: Iterable[Entry | Stored]) -> int:
    """Estimate the bytes of memory for the entries whose items stay in memory."""
    return sum(weight_of(entry) for entry in entries if not is_internal(entry.stream) or entry.stream == POOL)


def read_entries(place: Place, stored: Sequence[Stored]) -> Entries:
    """Decode stored entries."""
    items = items_in(place, stored)
    return [Written(entry.stream, item) for entry, item in zip(stored, items, strict=True)]


class Guard:
    """Tells whether something was forgotten in some logs since the guard was made.

    Make one before you read content, and check it before you write or send that content: an erasure in
    between changes what is stored, but not your copy.
    """

    def __init__(self, *logs: Log) -> None:
        watched = {*logs, *(log.root for log in logs)}
        self._counts = {log: log.state.forget_count for log in watched}
        self._removals = {log: log.removals for log in watched}

    @property
    def is_intact(self) -> bool:
        """Whether no erasure began since, as far as this process has read the logs."""
        states = [(log.state, count) for log, count in self._counts.items()]
        is_whole = all(state.forget_count == count and not state.forgetting for state, count in states)
        return is_whole and not self._is_removed

    @property
    def _is_removed(self) -> bool:
        return any(log.removals != count for log, count in self._removals.items())

    def check_not_removed(self) -> None:
        """Raise `Forgotten` if one of the conversations was removed from the store since."""
        if self._is_removed:
            raise Forgotten("the conversation was removed: what belongs to it is not recorded any more")

    def check(self, what: str) -> None:
        """Raise `Forgotten` if something was forgotten since `what`, such as "the request was built"."""
        if not self.is_intact:
            raise Forgotten(f"something was forgotten since {what}: do it again")


async def follow(log: Log, after: int) -> AsyncIterator[Written]:
    """Yield every entry after a version, in order, and wait for new ones until the iterator is closed."""
    version, loop, changed = after, asyncio.get_running_loop(), asyncio.Event()

    def wake() -> None:
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(changed.set)

    stop_watching = log.store.watch(log.place, wake)
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
        stop_watching()


# Stores and logs that are open in this process

_StoreKey = tuple[int, str, Durability, bytes | None]  # process, path, durability, encryption key
_lock = Lock()
_stores: dict[_StoreKey, tuple[Store, int]] = {}
"""The open stores, each with the `_file_id` of its path."""


def open_store(url: str | Path | Store, durable: Durability | None = None, key: bytes | None = None) -> Store:
    """The store at an address, opened once in each process and closed when the process ends.

    If its file was deleted or replaced since, the store is opened again.
    """
    if isinstance(url, Store) or str(url) == "memory:" or "\0" in str(url):
        return Store.open(url, durable=durable, key=key)
    is_server = isinstance(url, str) and "://" in url and not url.startswith("sqlite:///")
    path = str(url) if is_server else os.path.realpath(str(url).removeprefix("sqlite:///"))
    store_key = os.getpid(), path, durable or "process", key
    with _lock:
        store, file_id = _stores.get(store_key, (None, 0))
        if store is None or file_id != _file_id(path):
            if store is not None:
                _close(store)
            store = Store.open(url, durable=durable, key=key)
            _stores[store_key] = store, _file_id(path)
        return store


def _file_id(path: str) -> int:
    """The inode of a file; 0 if there is none, 1 for a `.jsonl` file, which its store replaces."""
    if not os.path.exists(path):
        return 0
    return 1 if path.lower().endswith(".jsonl") else os.stat(path).st_ino


class _LogCache:
    """The open logs of a store, one for each place: all sessions of a place share its log.

    The logs used most recently stay in memory, even if no session uses them now.
    """

    def __init__(self) -> None:
        self.lock = Lock()
        self.open: WeakValueDictionary[Place, Log] = WeakValueDictionary()
        self._recent: OrderedDict[Place, tuple[Log, int]] = OrderedDict()  # with the weight at its last use
        self._weight = 0

    def use(self, log: Log) -> list[Log]:
        """Make a log the most recent one, and return those that the cache drops for it."""
        with self.lock:
            _, old_weight = self._recent.pop(log.place, (log, 0))
            self._recent[log.place] = log, log.weight
            self._weight += log.weight - old_weight
            dropped: list[Log] = []
            while self._weight > _MAX_CACHED_BYTES and len(self._recent) > 1:
                _, (oldest, weight) = self._recent.popitem(last=False)
                self._weight -= weight
                dropped.append(oldest)
            return dropped


def open_log(store: Store, place: Place, *, catches_up: bool = True) -> Log:
    """The log of a place. With `catches_up`, a log that is open already applies new entries of others."""
    cache: _LogCache = store.attached.setdefault("session", _LogCache())
    log = cache.open.get(place)
    if log is not None and catches_up:
        log.catch_up()
    elif log is None:
        log = Log(store, place, lambda: State(partial(_past_of, store, place.scope)))
    with cache.lock:
        log = cache.open.setdefault(place, log)  # another thread may have been quicker
    for dropped in cache.use(log):
        dropped.save_checkpoint_if_grown()
    return log


def notice_removal(store: Store, place: Place) -> None:
    """Let the log of a place, if it is open in this process, notice that its conversation was removed."""
    cache: _LogCache = store.attached.setdefault("session", _LogCache())
    log = cache.open.get(place)
    if log is not None:
        with suppress(Forgotten):
            log.catch_up()


def check_claims_elsewhere(log: Log) -> None:
    """Raise `TurnLost` if this code does a job of another conversation that another worker has claimed."""
    for place, claim in CLAIMS.get().items():
        if place != log.place:
            open_log(log.store, place).check_claim(claim)


def _past_of(store: Store, scope: str, origin: Note) -> tuple[Transcript, int]:
    """The transcript that a fork inherits, and the `forget_count` of the parent conversation."""
    content = origin.content
    parent = open_log(store, Place(scope, content["conversation"]))
    with parent.lock:
        transcript = parent.state.transcripts.get(content["transcript"], Transcript())
        revision, last = content["revision"], content.get("last")
        has_inherited_items = len(transcript) >= revision
        if has_inherited_items and last is not None:
            has_inherited_items = transcript.view.log.id_at(revision - 1) == last
        if not has_inherited_items:
            raise Forgotten("the conversation that this one was forked from was removed from the store")
        is_latest = len(transcript) == revision
        past = transcript.copy() if is_latest else transcript.past(revision)
        return past, parent.state.forget_count


def close_stores() -> None:
    """Close the stores that were opened by their addresses."""
    with _lock:
        stores = [store for store, _ in _stores.values()]
        _stores.clear()
    for store in stores:
        _close(store)


def _close(store: Store) -> None:
    with suppress(StoreError):  # there is no caller to raise it to
        store.close()


atexit.register(close_stores)
