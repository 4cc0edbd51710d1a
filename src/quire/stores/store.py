"""The protocol of a store: one log of entries for each conversation, at its place.

An entry is one item as JSON, in a stream. A stream holds a transcript, or what the session itself records.
The version of a conversation is the number of its entries; the first entry has version 1.
"""

import os
import re
import time
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from threading import Event, Lock
from typing import Any, ClassVar, Literal, NamedTuple, Self
from urllib.parse import quote, unquote
from zlib import crc32

import msgspec

from quire.errors import (
    Conflict,
    Damaged,
    InvalidValue,
    NewerStore,
    OutOfRange,
    StoreDamaged,
    StoreError,
    StoreFailed,
    TooLarge,
    WrongType,
)
from quire.items import JSON, Item, Unknown
from quire.stores.watchers import Watchers

Durability = Literal["process", "power"]
"""What an append survives once it has returned: the end of this process, or also a loss of power."""

KINDS = {
    "MemoryStore": "memory",
    "SQLiteStore": "sqlite",
    "PostgresStore": "postgres",
    "JSONLinesStore": "jsonl",
    "Sealed": "sealed",
}
"""The stores and the modules that hold them. A module is imported when its store is first named."""

_KIND_BY_ENDING = {**dict.fromkeys((".db", ".sqlite", ".sqlite3"), "SQLiteStore"), ".jsonl": "JSONLinesStore"}
_ADDRESSES = (
    "a store is opened by memory:, sqlite:///file.db, postgresql://…, "
    "or a path that ends in .db, .sqlite, .sqlite3 or .jsonl"
)
_MIN_POLL_SECONDS, _MAX_POLL_SECONDS = 0.005, 0.05
_MAX_SEEDS = 10_000
_watchers_lock = Lock()

MAX_NAME = 500
"""The longest scope, conversation or stream, in characters."""

MAX_PART = (1 << 31) - 1
"""The highest number of a part of a checkpoint."""

JOBS = ".jobs"
"""The stream of jobs: what was accepted, who claimed it and how it ended."""

SEALED = "sealed"
"""The kind of an encrypted entry. The kind comes first in its body."""

_begins_sealed = re.compile(rb'\s*\{\s*"kind"\s*:\s*"sealed"\s*[,}]').match


class Place(NamedTuple):
    """The address of one conversation: a scope, such as a tenant or a user, and a name within it.

    Nothing of one scope is readable from another. A conversation that was given no scope gets one of its own,
    which its forks and sub-agents share: `q3` and `q3/fork` are both in `/q3`.
    """

    scope: str
    conversation: str

    @property
    def given_scope(self) -> str:
        """The scope that the caller gave, without the part that only this conversation and its forks have."""
        named = self.scope.removesuffix(_own_scope(self.conversation))
        return named if not named or named.endswith("/") else self.scope

    @property
    def digest(self) -> str:
        """The name in log messages: the real one may be personal data, and logs are not erased."""
        return blake2b(str(self).encode(), digest_size=6).hexdigest()

    def __str__(self) -> str:
        return f"{quote(self.given_scope, safe='')}/{quote(self.conversation, safe='')}"


def _own_scope(conversation: str) -> str:
    return f"/{conversation.partition('/')[0]}"


def place_at(address: str | None = None, *, scope: str = "", conversation: str = "") -> Place:
    """The place of an address `"scope/conversation"`, or of a `scope` and a `conversation`.

    An address without a slash is a conversation without a scope. In a scope that ends in a slash (`agent/`),
    each conversation has a scope of its own. A slash or a percent sign in a part is written `%2F` or `%25`.
    """
    if address is None:
        name, within = _checked(conversation, "a conversation"), checked_scope(scope)
        if within.startswith("/") or "//" in within:
            raise InvalidValue("a scope must not begin with a slash or have two in a row: these are reserved")
        own = within + _own_scope(name) if not within or within.endswith("/") else within
        return Place(checked_scope(own), name)
    if scope or conversation:
        raise InvalidValue("name a place by its address, or by scope and conversation, not by both")
    parts = _checked(address, "an address", 7 * MAX_NAME).split("/")
    if len(parts) > 2:
        raise InvalidValue("an address must be scope/conversation: a slash within a part is written %2F")
    try:
        *scopes, name = (unquote(part, errors="strict") for part in parts)
    except UnicodeDecodeError:
        raise InvalidValue("an address has escapes that are not UTF-8") from None
    return place_at(scope="".join(scopes), conversation=name)


def checked_scope(scope: object) -> str:
    """The scope, if it is valid."""
    return _checked(scope, "a scope")


def named_scope(scope: object) -> str:
    """The scope, if it is valid and conversations can share it; else `InvalidValue`."""
    name = checked_scope(scope)
    if not name or (name.endswith("/") and name != "/" and not name.endswith("//")):
        raise InvalidValue("name a scope: conversations without one share nothing")
    return name


def checked_stream(name: object, noun: str = "the name of a stream") -> str:
    """The name, if a stream may have it."""
    stream = _checked(name, noun)
    if not stream:
        raise InvalidValue(f"{noun} must not be empty")
    return stream


def checked_name(name: object) -> str:
    """The name, if a transcript may have it; the error says why not."""
    stream = checked_stream(name, "the name of a transcript or a fork")
    if is_internal(stream):
        raise InvalidValue("the name of a transcript must not begin with a dot")
    return stream


def is_internal(stream: str) -> bool:
    """Whether a stream belongs to the session itself: it is not a transcript."""
    return stream.startswith(".")


def _checked(name: object, noun: str, max_length: int = MAX_NAME) -> str:
    if not isinstance(name, str):
        raise WrongType(f"{noun} must be a text, not {type(name).__name__}")
    if len(name) > max_length:
        raise TooLarge(f"{noun} has {len(name):,} characters; the limit is {max_length:,}")
    if not name.isprintable():
        raise InvalidValue(f"{noun} must have only printable characters")
    return name


class Entry(NamedTuple):
    """An entry to be stored: the name of a stream, and an item as a JSON object."""

    stream: str
    body: bytes


class Stored(NamedTuple):
    """An entry that was read: its version, stream and body."""

    version: int
    stream: str
    body: bytes


class LogVersion(NamedTuple):
    """The version of a conversation's log, and which log it is.

    `log` changes when a conversation is removed and another begins at its address; it is empty if the store
    cannot tell. A lower version of the same log means that its end was lost. A store that was restored may
    have other entries in the same log: `checksum` then differs.
    """

    version: int
    log: str = ""
    checksum: int | None = None
    """The checksum of the last entry; `None` if the store does not list it."""


class Changes(NamedTuple):
    """The conversations of a scope that changed since an earlier call."""

    versions: dict[str, LogVersion]
    """The conversations that are new, have new entries, or have entries that were replaced."""

    is_all: bool
    """Whether `versions` lists the whole scope, so that any other conversation was removed."""

    moment: Any
    """The `since` of the next call."""


class Recent(NamedTuple):
    """A conversation in the order of last activity."""

    place: Place
    version: int
    """Zero where the end of the conversation is damaged."""

    time: float | None
    """The time of its last entry, in UTC epoch seconds; `None` if that cannot be read."""


class Opening(NamedTuple):
    """A checkpoint and the entries after it, from which a conversation is opened."""

    version: int
    """The version that the checkpoint describes."""

    head: bytes

    entries: list[Stored]
    """All entries from its version on."""

    needs: Sequence[int] = ()
    """The versions of the entries that the checkpoint names, all before its own."""

    needed_bodies: bytes = b""
    """The bodies of the needed entries, joined by commas: one long text is checked faster than many."""

    links: int | None = None
    """The version of the scope's conversation `LINKS`, if the store read it in the same query."""


class Damage(NamedTuple):
    """Something in a store that is not what was written to it."""

    place: Place | None
    """The conversation; `None` where the damage belongs to no known conversation."""

    version: int
    """Entries up to this version are whole."""

    reason: str


class Store(ABC):
    """Stores the entries of conversations. Every method may be called from any thread.

    A store raises `Conflict`, errors of its arguments (`WrongType`, `InvalidValue`, `OutOfRange`) and
    `StoreError`, and no others.
    """

    is_quick: ClassVar[bool] = False
    """Whether a write never waits for a disk or for others, so that it needs no thread."""

    has_checkpoints: bool = False
    """Whether the store keeps checkpoints."""

    knows_open_jobs: bool = False
    """Whether `append` accepts `settled` (no job is open any more), so `with_open_jobs` takes one query."""

    reports: tuple[str, ...] = ()
    """What the store repaired since it was opened, such as the unfinished append of a process that died."""

    _watchers: Watchers[Any] | None = None
    """The watchers of this store; `None` before the first `watch`."""

    @cached_property
    def attached(self) -> dict[str, Any]:
        """Objects that other packages keep with this store, by the name of the package."""
        return {}

    @staticmethod
    def open(
        url: "str | Path | Store", *, durable: Durability | None = None, key: bytes | None = None
    ) -> "Store":
        """The store of an address: `memory:`, `sqlite:///file.db`, `postgresql://…`, or a path by its ending.

        `durable` is `"process"` unless given. With a `key` of 32 bytes, content is encrypted before it is
        written. An open store is returned as it is.
        """
        waits_for_disk(durable or "process")
        if isinstance(url, Store):
            if key is not None or durable is not None:
                raise InvalidValue("key and durable must be given where a store is opened; this one is open")
            return url
        store = _opened(url, durable or "process")
        if key is None:
            return store
        try:
            return store_class("Sealed")(store, key)
        except BaseException:
            store.close()
            raise

    @abstractmethod
    def append(self, place: Place, entries: Sequence[Entry], *, expected: int) -> int:
        """Add entries, all or none, if the version is the expected one, and return the new version.

        `Conflict` where another wrote first: then nothing is added.
        """

    @abstractmethod
    def read(self, place: Place, *, after: int = 0) -> list[Stored]:
        """The entries of a conversation after a version, in order; none where there is no conversation.

        `StoreDamaged` unless every entry is there and is as it was written.
        """

    def read_at(self, place: Place, versions: Sequence[int]) -> list[Stored]:
        """The entries at some versions, in rising order.

        `StoreDamaged` unless each is there and is as it was written.
        """
        wanted = checked_versions(place, versions)
        entries = self.read(place, after=wanted[0] - 1) if wanted else []
        entry_by_version = {stored.version: stored for stored in entries}
        for version in wanted:
            if version not in entry_by_version:
                raise damaged(place, version - 1, f"entry {version} is missing")
        return [entry_by_version[version] for version in wanted]

    def versions_of(
        self, place: Place, stream: str, *, before: int | None = None, limit: int | None = None
    ) -> list[int]:
        """The versions of a stream's entries, rising: those below `before`, but only the `limit` highest."""
        checked_stream(stream)
        versions = [stored.version for stored in self.read(place) if stored.stream == stream]
        below = versions if before is None else versions[: bisect_left(versions, before)]
        return below if limit is None else below[max(len(below) - limit, 0) :]

    @abstractmethod
    def version(self, place: Place) -> int:
        """The number of entries of a conversation."""

    @abstractmethod
    def conversations(self, scope: str) -> dict[str, LogVersion]:
        """The conversations of one scope with the version of each, sorted by name."""

    def changes(self, scope: str, since: Any = None) -> Changes:
        """The conversations that changed since the `moment` of an earlier call, and perhaps others.

        A store that does not track changes lists all conversations.
        """
        return Changes(self.conversations(scope), is_all=True, moment=None)

    @abstractmethod
    def scopes(self) -> list[str]:
        """All scopes, sorted: for the operator of the store, never for a tenant."""

    def recent(self, scope: str | None = None) -> list[Recent]:
        """The conversations of one scope, the latest first; those of all scopes are for the operator.

        Damage to one conversation does not hide the others: its time is `None`, and it comes last.
        """
        scopes = self.scopes() if scope is None else [scope]
        return newest_first(
            (Place(within, name), log.version, self._last_body(Place(within, name), log.version))
            for within in scopes
            for name, log in self.conversations(within).items()
        )

    def with_open_jobs(self, scope: str | None = None) -> list[Place]:
        """The conversations of one scope that may have open jobs: accepted, and not ended.

        An append to the stream of jobs marks its conversation, and a `settled` one removes the mark. A store
        without marks lists the conversations that ever had a job.
        """
        places = (recent.place for recent in self.recent(scope))
        return [place for place in places if self.versions_of(place, JOBS, limit=1)]

    def _last_body(self, place: Place, version: int) -> bytes | None:
        with suppress(StoreDamaged):
            return self.read_at(place, [version])[0].body
        return None

    # A checkpoint is derived from the entries of a conversation, so that opening it need not read them all.
    # It has a head, which is part 0, and further parts. If it is missing or damaged, the log is read instead.

    def open_checkpoint(self, place: Place) -> Opening | None:
        """The head of a conversation's checkpoint with the entries that opening needs, as of one moment.

        `None` where there is no checkpoint, where it or these entries are damaged, or where the conversation
        has fewer entries than the version of the checkpoint.
        """
        check_place(place)
        return None

    def read_parts(self, place: Place, parts: Sequence[int]) -> dict[int, bytes]:
        """The current parts of the checkpoint, without those that are missing or damaged."""
        checked_versions(place, parts)
        return {}

    def write_checkpoint(
        self, place: Place, version: int, head: bytes, needs: Sequence[int], parts: Mapping[int, bytes]
    ) -> bool:
        """Store the checkpoint of a version, all or nothing, and return whether it was stored.

        `needs` are the versions of entries that `open_checkpoint` returns with the head. `parts` have numbers
        from 1 on; other parts stay as they are. Nothing is stored if the conversation has fewer entries, or a
        checkpoint of a higher version. `replace` and `remove` delete the whole checkpoint.
        """
        checked_checkpoint(place, version, head, needs, parts)
        return False

    @abstractmethod
    def replace(self, place: Place, bodies: Mapping[int, bytes]) -> None:
        """Replace the bodies at some versions, all or none; `OutOfRange` for a version that does not exist.

        The store no longer returns the old bodies. `scrub` removes them from its files.
        """

    @abstractmethod
    def remove(self, place: Place) -> None:
        """Remove a conversation: its version is 0 again. `scrub` removes it from the store's files."""

    def scrub(self, *, wait: bool = True) -> None:  # noqa: B027  # not every store has something to do
        """Remove replaced and removed content from the store's files.

        `StoreFailed` if other processes still use the files after ten seconds, or at once with `wait=False`.
        """

    def vacuum(self) -> None:
        """Shrink the store's files to what they hold; errors are those of `scrub`."""
        self.scrub()

    def watch(self, place: Place, changed: Callable[[], object]) -> Callable[[], None]:
        """Call `changed` whenever the version of a conversation may have changed; return a function to stop.

        The callback may run in any thread. It also runs once soon after this call, and when the store closes.
        Let it only set an event or the like: all callbacks of a store share one thread. This call never
        blocks.
        """
        check_place(place)
        return self._opened_watchers().add(self._watch_key(place), changed)

    def wait(self, place: Place, version: int, timeout: float) -> int:
        """Wait up to `timeout` seconds for a version other than the given one; return the current one."""
        current = self.version(place)
        if current != version or timeout <= 0:
            return current
        deadline, changed = time.monotonic() + timeout, Event()
        stop = self.watch(place, changed.set)
        try:
            while (current := self.version(place)) == version and time.monotonic() < deadline:
                changed.wait(max(deadline - time.monotonic(), 0.0))
                changed.clear()
        finally:
            stop()
        return current

    def _opened_watchers(self) -> Watchers[Any]:
        with _watchers_lock:
            self._watchers = self._watchers or self._make_watchers()
            return self._watchers

    def _make_watchers(self) -> Watchers[Any]:
        return Watchers(self._counts, _MIN_POLL_SECONDS, _MAX_POLL_SECONDS)

    def _watch_key(self, place: Place) -> Any:
        """The key of a conversation among the watchers."""
        return place

    def _counts(self, places: Sequence[Place]) -> dict[Place, int]:
        """The versions of watched conversations; -1 for one that cannot be read."""
        return {place: self._count(place) for place in places}

    def _count(self, place: Place) -> int:
        try:
            return self.version(place)
        except StoreError:
            return -1

    def verify(self, place: Place | None = None) -> Iterator[Damage]:
        """The damage to one conversation or to the whole store; nothing where all is whole."""
        try:
            places = self.places() if place is None else [place]
        except StoreError as fault:
            yield Damage(place, 0, str(fault))
            return
        for each in places:
            try:
                self.read(each)
            except StoreDamaged as fault:
                yield Damage(each, fault.version, str(fault))

    def recover(self) -> Iterator[tuple[Place, Stored]]:
        """Every entry that is whole, also of a damaged store: by conversation, in order of versions."""
        return ((place, stored) for place in self.places() for stored in self.read(place))

    def places(self) -> list[Place]:
        """All conversations of all scopes."""
        return [Place(scope, name) for scope in self.scopes() for name in self.conversations(scope)]

    @abstractmethod
    def close(self) -> None:
        """Close files and connections. Closing twice is fine; other verbs then raise `StoreFailed`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def store_class(name: str) -> "Callable[..., Store]":
    """The class of a store; its module is imported now."""
    kind: Callable[..., Store] = getattr(import_module(f"quire.stores.{KINDS[name]}"), name)
    return kind


def checked_path(path: str | os.PathLike[str]) -> str:
    """The address of a store as a text, if it is valid."""
    try:
        address = os.fspath(path)
        has_nul = "\0" in address
    except TypeError:
        raise WrongType(f"a store must be opened by a text or a path, not {type(path).__name__}") from None
    if has_nul:
        raise InvalidValue("the address of a store must not have a NUL character")
    return address


def _opened(url: str | Path, durable: Durability) -> Store:
    address = checked_path(url)
    if address == "memory:":
        return store_class("MemoryStore")()
    if address.startswith(("postgresql://", "postgres://")):
        return store_class("PostgresStore")(address, durable=durable)
    path = address.removeprefix("sqlite:///")
    kind = "SQLiteStore" if path != address else _KIND_BY_ENDING.get(Path(path).suffix.lower())
    if kind is None or path in ("", ":memory:") or "://" in path or "?" in path:
        raise InvalidValue(_ADDRESSES)  # an address may hold a password, so it is not repeated
    return store_class(kind)(path, durable=durable)


# Shared by all stores. The checksum of an entry covers its scope, conversation, version, stream and body. So
# an entry that was changed, moved or renumbered is detected, however a store keeps it.

Row = tuple[int, str, bytes, int]
"""Version, stream, body and checksum as they were read: in a damaged store, values of any type."""


def waits_for_disk(durable: str) -> bool:
    """Whether an append is to wait for the disk."""
    if durable not in ("process", "power"):
        raise InvalidValue("durable must be 'process' or 'power'")
    return durable == "power"


def check_process(opened_by: int) -> None:
    """Refuse a store that was opened before this process was forked: its locks are the parent's."""
    if os.getpid() != opened_by:
        raise StoreFailed("the store was opened before this process was forked: each process opens its own")


def check_version(where: str, version: int, known: int) -> None:
    """Refuse a store whose format is of another version than the one that this Quire knows."""
    if version > known:
        raise NewerStore(f"{where} is of version {version}, and this Quire knows {known}: update Quire")
    if version < known:
        raise StoreFailed(f"{where} is of version {version}, and this Quire reads {known} and later")


def check_place(place: object) -> None:
    """Refuse anything but a `Place`, such as an address as text."""
    if not isinstance(place, Place) or not _are_texts(*place):
        name = type(place).__name__
        raise WrongType(f"a place must be a Place of two texts, as place_at gives it; this is of type {name}")


def _are_texts(scope: object, conversation: object) -> bool:
    return isinstance(scope, str) and isinstance(conversation, str)


def checked_start(place: object, after: object) -> int:
    """The version after which a read begins, if its arguments are valid."""
    check_place(place)
    if type(after) is not int:
        raise WrongType(f"a version must be a number, not {type(after).__name__}")
    return max(after, 0)


def checked_append(place: Place, entries: Sequence[Entry], expected: int) -> Place:
    """The place, if the arguments of an append are valid."""
    if type(place) is not Place:
        check_place(place)
    if type(expected) is not int:
        raise WrongType(f"the expected version must be a number, not {type(expected).__name__}")
    for stream, _ in entries:
        checked_stream(stream)
    _check_bytes(body for _, body in entries)
    return Place(checked_scope(place.scope), _checked(place.conversation, "a conversation"))


def check_bodies(place: Place, bodies: Mapping[int, bytes], count: int) -> None:
    """Refuse bodies that cannot replace entries of a conversation with `count` of them."""
    _check_bytes(bodies.values())
    for version in checked_versions(place, bodies):
        if not 1 <= version <= count:
            raise OutOfRange(f"{place} has no version {version}: it has {count}")


def checked_versions(place: object, versions: Iterable[object]) -> list[int]:
    """The versions that a read asks for, rising and once each."""
    check_place(place)
    numbers = list[int]()
    for version in versions:
        if type(version) is not int:
            raise WrongType(f"a version must be a number, not {type(version).__name__}")
        numbers.append(version)
    return sorted(set(numbers))


def checked_checkpoint(
    place: Place, version: int, head: bytes, needs: Sequence[int], parts: Mapping[int, bytes]
) -> tuple[list[int], list[Row]]:
    """The needs of a checkpoint and the rows of its parts, if the arguments are valid."""
    needed = [at for at in checked_versions(place, needs) if at < version]
    _check_bytes([head, *parts.values()])
    if any(not 1 <= number <= MAX_PART for number in checked_versions(place, [version, *parts])):
        raise OutOfRange(f"versions and parts of a checkpoint must have numbers from 1 to {MAX_PART:,}")
    rows = [(0, part_stream(version, needed), head)]
    rows += [(part, part_stream(0, []), body) for part, body in parts.items()]
    return needed, [(at, stream, body, checksum_entry(*place, at, stream, body)) for at, stream, body in rows]


def _check_bytes(bodies: Iterable[object]) -> None:
    for body in bodies:
        if not isinstance(body, bytes):
            raise WrongType(f"a body must be bytes, not {type(body).__name__}")


def conflict(place: Place, expected: int, current: int) -> Conflict:
    """The error of an append that expects another version."""
    return Conflict(f"{place} is at version {current}, not at {expected}", expected, current)


def damaged(place: Place, version: int, reason: str) -> StoreDamaged:
    """The error of a conversation that is whole only up to a version."""
    message = f"{place} is damaged after version {version}: {reason}"
    return StoreDamaged(message, place=str(place), version=version)


def checksum_name(text: str) -> int:
    """The checksum of a name."""
    return crc32(text.encode())


def checksum_entry(scope: str, conversation: str, version: int, stream: str, body: bytes) -> int:
    """The checksum of an entry."""
    return crc32(body, crc32(f"{version}\0{stream}\0".encode(), _seed(scope, conversation)))


def part_stream(version: int, needs: object) -> str:
    """The stream in the checksum of a part of a checkpoint; the number of the part is used as its version."""
    return f".checkpoint {version} {needs}"


@lru_cache(_MAX_SEEDS)
def _seed(scope: str, conversation: str) -> int:
    return crc32(f"{scope}\0{conversation}\0".encode())


def checksummed_rows(place: Place, entries: Iterable[Entry], expected: int) -> list[Row]:
    """The rows of entries that follow a version."""
    return [
        (version, stream, body, checksum_entry(*place, version, stream, body))
        for version, (stream, body) in enumerate(entries, expected + 1)
    ]


def verified(place: Place, after: int, count: int | None, rows: Sequence[Row]) -> list[Stored]:
    """The entries of a conversation after a version; `StoreDamaged` unless all up to a count are whole.

    A count of `None` means that the end of the conversation was lost.
    """
    version = after + len(rows)
    entries = verified_at(place, range(after + 1, version + 1), rows)
    if version != count:
        fault = "later entries are missing" if count is None else f"{count:,} entries are counted"
        raise damaged(place, min(version, count or version), f"{fault}, and {version:,} are there")
    return entries


def verified_at(place: Place, versions: Sequence[int], rows: Sequence[Row]) -> list[Stored]:
    """The entries at rising versions; `StoreDamaged` unless the rows are these, and each is whole."""
    seed, entries = _seed(*place), list[Stored]()
    with suppress(TypeError, UnicodeError):  # a damaged database returns values of other types
        for version, (at, stream, body, checksum) in zip(versions, rows, strict=False):
            # Inlined `checksum_entry`: checksums take most of the time of a long read.
            if at != version or crc32(body, crc32(f"{version}\0{stream}\0".encode(), seed)) != checksum:
                break
            entries.append(Stored(version, stream, body))
    if len(entries) < len(versions):
        version = versions[len(entries)]
        raise damaged(place, version - 1, f"entry {version} is missing or not as it was written")
    return entries


def whole_entries(place: Place, rows: Iterable[Row]) -> list[Stored]:
    """The undamaged entries of a conversation. Later rows replace earlier ones."""
    entry_by_version = dict[int, Stored]()
    for version, stream, body, checksum in rows:
        with suppress(TypeError, UnicodeError):  # a damaged database returns values of other types
            if checksum_entry(*place, version, stream, body) == checksum:
                entry_by_version[version] = Stored(version, stream, body)
    return [entry for _, entry in sorted(entry_by_version.items())]


class _Timed(msgspec.Struct, gc=False):
    """The one field that is read of a conversation's last entry."""

    created_at: float | None = None


_read_timed = msgspec.json.Decoder(_Timed).decode


def newest_first(rows: Iterable[tuple[Place, int, bytes | None]]) -> list[Recent]:
    """Conversations in the order of last activity, given their places, versions and last bodies."""
    recent = [Recent(place, version, _time_in(body)) for place, version, body in rows]
    return sorted(recent, key=by_activity)


def by_activity(recent: Recent) -> tuple[bool, float, Place]:
    """The sort key of lists by last activity."""
    return recent.time is None, -(recent.time or 0.0), recent.place


def _time_in(body: bytes | None) -> float | None:
    with suppress(msgspec.MsgspecError, UnicodeError, RecursionError, TypeError):  # where it is damaged
        return None if body is None else _read_timed(body).created_at
    return None


def is_sealed(body: bytes) -> bool:
    """Whether an entry is encrypted."""
    return _begins_sealed(body) is not None


def items_in(place: Place, stored: Sequence[Stored]) -> list[Item]:
    """The items of entries; `InvalidValue` if they are encrypted."""
    if stored and is_sealed(stored[0].body):
        raise InvalidValue(f"{place} is sealed: open its store with its key")
    try:  # one array is decoded faster than many items
        return JSON.decode(b"[%b]" % b",".join([entry.body for entry in stored]))
    except Damaged:
        return [_decode_entry(place, entry) for entry in stored]


def decode_bodies(place: Place, bodies: bytes, count: int) -> list[Item]:
    """The items of `count` entries, whose bodies are joined by commas."""
    with suppress(Damaged):
        items = JSON.decode(b"[%b]" % bodies)
        if len(items) == count:
            return items
    raise damaged(place, 0, "an entry is missing or is not an item")


def _decode_entry(place: Place, entry: Stored) -> Item:
    try:
        return JSON.decode_item(entry.body)
    except Damaged as fault:
        raise damaged(place, entry.version - 1, f"entry {entry.version} is not an item: {fault}") from fault


def is_tombstone(item: Item) -> bool:
    """Whether the content of an item was forgotten."""
    extras = item.fields if isinstance(item, Unknown) else item.extras
    return bool(extras.get("forgotten"))
