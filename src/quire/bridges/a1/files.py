"""Sessions in files: kept up with each message, or only read. Files that A1 wrote are taken over."""

import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from quire.bridges.a1.items import recorded
from quire.bridges.a1.messages import Message
from quire.bridges.a1.naming import checked_context_name
from quire.bridges.a1.older import older_contexts
from quire.session import Session
from quire.stores import Entry, MemoryStore, Place, Store
from quire.stores.locked_file import LockedFile

_PLACE = Place("", "")
_COPIED = (".json", ".jsonl")


def session_at(path: str | os.PathLike[str], keep_updated: bool) -> Session:
    """The session in a file; without `keep_updated` one in memory that begins with what the file says."""
    # A relative path would lead elsewhere once the process changes its folder.
    file = Path(os.path.abspath(path))
    if not keep_updated:
        return Session.open(store=_read(file))
    if older_contexts(file) is not None:
        _take_over(file)
    return Session.open(store=file)


def _read(file: Path) -> MemoryStore:
    memory = MemoryStore()
    older = older_contexts(file)
    if older is not None:
        _record(memory, older)
    elif file.exists():
        with _only_read(file) as store:
            entries = [Entry(stored.stream, stored.body) for stored in store.read(_PLACE)]
        memory.append(_PLACE, entries, expected=0)
    return memory


@contextmanager
def _only_read(file: Path) -> Generator[Store, None, None]:
    """A store of what a file says. A store mends what was torn, so it is given a copy to do that on."""
    if file.suffix.lower() not in _COPIED:
        with Store.open(file) as store:
            yield store
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copyfile(file, Path(folder) / file.name)
        with Store.open(copy) as store:
            yield store


def _take_over(file: Path) -> None:
    """Write a file of A1's anew as items, at once; whoever else does the same comes before or after."""
    locked = LockedFile(file, "process")
    try:
        with locked.locked():
            older = older_contexts(file)
            if older is not None:
                locked.replace([_as_items(older)])
    finally:
        locked.close()


def _as_items(older: dict[str, list[Message]]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "taken-over.json"
        with Store.open(file) as store:
            _record(store, older)
        return file.read_bytes()


def _record(store: Store, older: dict[str, list[Message]]) -> None:
    session = Session.open(store=store)
    for name, messages in older.items():
        if messages:
            session.append(*recorded(messages), to=checked_context_name(name))
