"""Every store, made fresh, odd places, and a plain dictionary that says what a store should hold.

Add a store to `FILES`, and every law of keeping runs on it.
"""

import os
import sqlite3
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from hypothesis import strategies as st

from quire.errors import StoreFailed
from quire.stores import Entry, MemoryStore, Place, Store, Stored
from tests.stores.server import database

KEY = bytes(range(32))
HERE, THERE = Place("ana", "q3"), Place("", "")


FILES: dict[str, tuple[str, bytes | None]] = {
    "sqlite": ("kept.db", None),
    "json lines": ("kept.jsonl", None),
    "sealed sqlite": ("kept.db", KEY),
    "sealed json lines": ("kept.jsonl", KEY),
}
MEMORY, POSTGRES = "memory", "postgres"
LASTING = [*FILES, POSTGRES]
NAMES = [MEMORY, *LASTING]

_PLAIN = "|main|ana|Ana|ana |..|../ana|a/b|a%2Fb|%2F|%|/|\\|é|e\u0301"
_HOSTILE = """'; DROP TABLE entries; --|" OR ""="|' OR '1'='1|%_|*|{"at":{}}|🧵|名前"""
ODD_NAMES = [*_PLAIN.split("|"), *_HOSTILE.split("|"), "x" * 500]
STREAMS = ["main", "attempt_a", "a/b", "'", '"', "流", "x" * 500]


class Shelf(NamedTuple):
    """Where a store is that outlives its process."""

    url: str
    key: bytes | None = None

    def open(self) -> Store:
        return Store.open(self.url, key=self.key)


def shelf_in(folder: Path, name: str) -> Shelf:
    file, key = FILES[name]
    return Shelf(str(folder / file), key)


class Kept:
    """A store that is opened once or several times, as other processes would open it."""

    def __init__(self, shelf: Shelf | None, folder: Path) -> None:
        self._shelf, self.folder = shelf, folder
        self._opened: list[Store] = []
        self.store = self.open()

    @property
    def shelf(self) -> Shelf:
        """Where a store is that outlives this process."""
        assert self._shelf is not None
        return self._shelf

    def open(self) -> Store:
        """One more opening; in memory there is only the one."""
        if self._shelf is None and self._opened:
            return self.store
        self._opened.append(MemoryStore() if self._shelf is None else self._shelf.open())
        return self._opened[-1]

    def reopen(self) -> Store:
        """The store as it is found after a restart; entries in memory are copied."""
        if self._shelf is None:
            self.store = twin(self.store)
        else:
            self.close()
            self.store = self.open()
        return self.store

    def holding(self, words: str) -> list[str]:
        """Entries and files that contain some words."""
        found = [str(place) for place, body in stored_bodies(self.store) if words.encode() in body]
        files = (path for path in self.folder.rglob("*") if path.is_file())
        return found + [path.name for path in files if words.encode() in path.read_bytes()]

    def close(self) -> None:
        for store in self._opened:
            store.close()
        self._opened.clear()


@contextmanager
def kept(name: str) -> Generator[Kept, None, None]:
    """A fresh store."""
    with TemporaryDirectory() as folder, ExitStack() as stack:
        shelf = shelf_in(Path(folder), name) if name in FILES else None
        if name == POSTGRES:
            shelf = Shelf(stack.enter_context(database()))
        held = Kept(shelf, Path(folder))
        stack.callback(held.close)
        yield held


def stored_bodies(store: Store) -> Generator[tuple[Place, bytes]]:
    """All that is written in a store."""
    return ((place, entry.body) for place in store.places() for entry in store.read(place))


def twin(other: Store) -> MemoryStore:
    """The same entries in another store, as another process would read them."""
    copied = MemoryStore()
    for place in other.places():
        copied.append(place, [Entry(*stored[1:]) for stored in other.read(place)], expected=0)
    return copied


class Oracle:
    """What a store should hold, as plainly as can be."""

    def __init__(self) -> None:
        self.rows: dict[Place, list[Entry]] = {}

    def version(self, place: Place) -> int:
        return len(self.rows.get(place, []))

    def read(self, place: Place, after: int = 0) -> list[Stored]:
        row = self.rows.get(place, [])
        return [Stored(at, *entry) for at, entry in enumerate(row, 1) if at > after]

    def append(self, place: Place, entries: list[Entry]) -> None:
        if entries:
            self.rows.setdefault(place, []).extend(entries)

    def check(self, store: Store) -> None:
        """The store holds what it should, and shows nothing else."""
        assert store.scopes() == sorted({place.scope for place in self.rows})
        for scope in {place.scope for place in self.rows} | {"nobody's"}:
            names = sorted(place.conversation for place in self.rows if place.scope == scope)
            found = store.conversations(scope)
            assert list(found) == names
            assert [found[name].version for name in names] == [
                self.version(Place(scope, name)) for name in names
            ]
        for place in self.rows:
            assert store.version(place) == self.version(place)
            assert store.read(place) == self.read(place)
        assert list(store.verify()) == []
        assert set(store.recover()) == {(place, stored) for place in self.rows for stored in self.read(place)}


def entry(text: str, stream: str = "main") -> Entry:
    return Entry(stream, f'{{"kind":"message","text":"{text}"}}'.encode())


def fill(store: Store, place: Place, *texts: str) -> list[Stored]:
    """Append texts one by one, and give what is stored."""
    for text in texts:
        store.append(place, [entry(text)], expected=store.version(place))
    return store.read(place)


def version_after(store: Store) -> int:
    """What the server says, once it says anything: first it reads its log."""
    until = time.monotonic() + 30
    while True:
        try:
            return store.version(HERE)
        except StoreFailed:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


def held_in(folder: Path, secret: bytes = b"swordfish") -> list[str]:
    """The files of a folder that hold some bytes."""
    return [path.name for path in folder.iterdir() if secret in path.read_bytes()]


@contextmanager
def read_by_another(path: str) -> Generator[None, None, None]:
    """Somebody reads a SQLite file, and goes on seeing what was there."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM entries").fetchone()
        yield


def places() -> st.SearchStrategy[Place]:
    """Few enough that they meet again, odd enough to be mistaken for each other."""
    return st.builds(Place, st.sampled_from(ODD_NAMES), st.sampled_from(ODD_NAMES))


def bodies() -> st.SearchStrategy[bytes]:
    """JSON objects, among them some that look like what a store writes around them."""
    odd = [
        *(b"{}", b"{ }", b'{"at":{}}', b'{"at":1}', b'{"at":{"scope":"x"},"a":1}'),
        b'{ "at" : {} , "b" : [] }',
        b'{"at":{"scope":"","conversation":"","stream":"main","version":1,"sum":1}}',
        b'{"quire":2,"size":               0,"sum":"00000000"}',
    ]
    texts = st.text(st.characters(codec="utf-8", exclude_characters='"\\', min_codepoint=32), max_size=8)
    return st.sampled_from(odd) | texts.map(lambda text: f'{{"kind":"note","text":"{text}"}}'.encode())


def entries() -> st.SearchStrategy[Entry]:
    """An entry of any stream."""
    return st.builds(Entry, st.sampled_from(STREAMS), bodies())


def in_child(work: Callable[[], int]) -> int:
    """What some work returns in a forked process: a small number."""
    child = os.fork()
    if child == 0:  # pragma: no cover - in the child
        code = 99
        try:
            code = work()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
