"""Sessions in files: kept up with each message, or only read. Files that A1 wrote are taken over.

A `.json` file is an array of items. It is written anew with each message and renamed, so it is valid at any
time. Other endings are those of stores.
"""

import fcntl
import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import msgspec

from quire.bridges.a1.items import recorded
from quire.bridges.a1.messages import Message
from quire.bridges.a1.naming import checked_context_name
from quire.bridges.a1.older import older_contexts
from quire.errors import StoreDamaged, StoreError, StoreFailed
from quire.session import Session
from quire.stores import Entry, MemoryStore, Place, Store

_PLACE = Place("", "")
_STREAM = "main"


class _At(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """Where an item belongs that is not of the main context."""

    scope: str = ""
    conversation: str = ""
    stream: str = _STREAM


class ArrayFile(MemoryStore):
    """A JSON array of items in a file, for several threads and processes."""

    is_quick = False

    wait = Store.wait

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = Path(os.path.realpath(path))
        self._seen: tuple[int, ...] = ()
        with self._alone():
            if not self._path.stat().st_size:
                self._save()

    @contextmanager
    def _current(self) -> Generator[None, None, None]:
        with super()._current():
            self._load()
            yield

    @contextmanager
    def _alone(self) -> Generator[None, None, None]:
        """While nobody else writes. The lock is on the file, which may be replaced while one waits for it."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        while True:
            with _failing(self._path):
                file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                fcntl.flock(file, fcntl.LOCK_EX)
            if os.path.samestat(os.fstat(file), os.stat(self._path)):
                break
            os.close(file)
        try:
            with self._current():
                yield
        finally:
            os.close(file)

    def _add(self, place: Place, entries: list[Entry]) -> None:
        super()._add(place, entries)
        self._save()

    def _put(self, place: Place, log: list[Entry]) -> None:
        super()._put(place, log)
        self._save()

    def _load(self) -> None:
        with _failing(self._path):
            found = self._path.stat()
            mark = (found.st_ino, found.st_size, found.st_mtime_ns)
            if mark != self._seen:
                self._logs = _logs_in(self._path)
                self._seen = mark
                self._changed.notify_all()

    def _save(self) -> None:
        beside = self._path.with_name(f"{self._path.name}.new")
        with _failing(self._path):
            try:
                beside.write_bytes(_as_array(self._logs))
                beside.chmod(self._path.stat().st_mode & 0o777)
                beside.replace(self._path)
            except BaseException:
                self._seen = ()  # what is in memory is not in the file
                beside.unlink(missing_ok=True)
                raise
        self._seen = ()


_open: "WeakValueDictionary[str, ArrayFile]" = WeakValueDictionary()
"""One store for each file, so that all who keep it up here see the same."""


def session_at(path: str | os.PathLike[str], keep_updated: bool) -> Session:
    """The session in a file; without `keep_updated` one in memory that begins with what the file says."""
    # A relative path would lead elsewhere once the process changes its folder.
    file = Path(os.path.abspath(path))
    older = older_contexts(file)
    if not keep_updated:
        return Session.open(store=_read(file, older))
    if file.suffix.lower() != ".json":
        return Session.open(store=file)
    if older is not None:
        _take_over(file)
    store = _open.get(str(file))
    if store is None:
        store = _open[str(file)] = ArrayFile(file)
    return Session.open(store=store)


def _read(file: Path, older: dict[str, list[Message]] | None) -> MemoryStore:
    memory = MemoryStore()
    if older is not None:
        _record(memory, older)
    elif file.suffix.lower() == ".json" and file.exists():
        with _failing(file):
            logs = _logs_in(file)
        memory.append(_PLACE, logs.get(_PLACE, []), expected=0)
    elif file.exists():
        with Store.open(file) as store:
            memory.append(_PLACE, [Entry(*stored[1:]) for stored in store.read(_PLACE)], expected=0)
    return memory


def _take_over(file: Path) -> None:
    """Write a file of A1's anew as items; whoever else does the same comes before or after."""
    with file.open("rb+") as locked:
        fcntl.flock(locked, fcntl.LOCK_EX)
        older = older_contexts(file)
        if older is not None:
            memory = MemoryStore()
            _record(memory, older)
            beside = file.with_name(f"{file.name}.new")
            entries = [Entry(*stored[1:]) for stored in memory.read(_PLACE)]
            beside.write_bytes(_as_array({_PLACE: entries}))
            beside.chmod(file.stat().st_mode & 0o777)
            beside.replace(file)


def _record(store: Store, older: dict[str, list[Message]]) -> None:
    session = Session.open(store=store)
    for name, messages in older.items():
        if messages:
            session.append(*recorded(messages), to=checked_context_name(name))


def _logs_in(path: Path) -> dict[Place, list[Entry]]:
    text = path.read_bytes()
    logs: dict[Place, list[Entry]] = {}
    try:
        for item in msgspec.json.decode(text or b"[]", type=list[dict[str, Any]]):
            at = msgspec.convert(item.pop("at", {}), _At)
            entry = Entry(at.stream, msgspec.json.encode(item))
            logs.setdefault(Place(at.scope, at.conversation), []).append(entry)
    except (msgspec.MsgspecError, UnicodeError) as fault:
        raise StoreDamaged(f"{path} is damaged: it is not a JSON array of items ({fault})") from fault
    return logs


def _as_array(logs: Mapping[Place, Sequence[Entry]]) -> bytes:
    elements = [_element(place, *entry) for place, log in logs.items() for entry in log]
    return b"[\n" + b",\n".join(elements) + b"\n]\n" if elements else b"[\n]\n"


def _element(place: Place, stream: str, body: bytes) -> bytes:
    if place == _PLACE and stream == _STREAM:
        return body
    return b'{"at":' + msgspec.json.encode(_At(*place, stream)) + b"," + body[1:]


@contextmanager
def _failing(path: Path) -> Generator[None, None, None]:
    try:
        yield
    except StoreError:
        raise
    except OSError as error:
        raise StoreFailed(f"{path} cannot be used: {error.strerror}") from error
