"""Every store of ours, made fresh."""

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from quire.errors import StoreFailed
from quire.stores import Entry, MemoryStore, Place, Store, Stored
from quire.testing.stores import HERE as HERE, THERE as THERE, StoreUnderTest, entry as entry
from tests.stores.server import database

KEY = bytes(range(32))

FIRST = "(SELECT min(number) << 32 FROM conversations)"
"""In SQL, the version 0 of the first conversation of a SQLite file."""

FILES: dict[str, tuple[str, bytes | None]] = {
    "sqlite": ("kept.db", None),
    "json lines": ("kept.jsonl", None),
    "sealed sqlite": ("kept.db", KEY),
    "sealed json lines": ("kept.jsonl", KEY),
}
POSTGRES = "postgres"
LASTING = [*FILES, POSTGRES]


class Shelf(NamedTuple):
    """Where a store is that outlives its process."""

    url: str
    key: bytes | None = None

    def open(self) -> Store:
        return Store.open(self.url, key=self.key)


def shelf_in(folder: Path, name: str) -> Shelf:
    file, key = FILES[name]
    return Shelf(str(folder / file), key)


class Kept(StoreUnderTest):
    """A store that is opened once or several times, as other processes would open it."""

    def __init__(self, shelf: Shelf | None, folder: Path) -> None:
        self._shelf = shelf
        super().__init__(shelf.open if shelf else MemoryStore, folder, is_lasting=shelf is not None)

    @property
    def shelf(self) -> Shelf:
        """Where a store is that outlives this process."""
        assert self._shelf is not None
        return self._shelf

    def reopen(self) -> Store:
        """The store as it is found after a restart; entries in memory are copied."""
        if self._shelf is None:
            self.store = twin(self.store)
            return self.store
        return super().reopen()

    def holding(self, words: str) -> list[str]:
        """Entries and files that contain some words."""
        found = [str(place) for place, body in stored_bodies(self.store) if words.encode() in body]
        return found + self.files_with(words.encode())


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


def fill(store: Store, place: Place, *texts: str) -> list[Stored]:
    """Append texts one by one, and give what is stored."""
    for text in texts:
        store.append(place, [entry(text)], expected=store.version(place))
    return store.read(place)


def version_after(store: Store) -> int:
    """What the server says, once it says anything: first it reads its log."""
    until = time.monotonic() + 60
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


def at_once(script: str, *arguments: list[str]) -> list[str]:
    """What processes say that run a script, and begin it together."""
    pipe = subprocess.PIPE
    begin = f"import sys\nprint('ready', flush=True)\nsys.stdin.readline()\n{script}"
    running = [
        subprocess.Popen([sys.executable, "-c", begin, *own], text=True, stdin=pipe, stdout=pipe, stderr=pipe)
        for own in arguments
    ]
    for one in running:
        assert one.stdout is not None and one.stdout.readline() == "ready\n"
    for one in running:
        assert one.stdin is not None and one.stdin.write("go\n")
        one.stdin.flush()
    said = "".join(text for one in running for text in one.communicate(timeout=120))
    # One of them may find the file that another has just made, and that is still empty.
    return [line for line in said.splitlines() if "empty file" not in line]


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
