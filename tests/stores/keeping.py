"""What the laws of keeping are tried with: every store, odd places, and a plain dictionary beside it."""

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import strategies as st

from quire.stores import Entry, MemoryStore, Place, Store, Stored
from tests.stores.every import SHELVES, Shelf

MEMORY = "memory"
NAMES = [MEMORY, *SHELVES]
_MODULES = {
    "sqlite": ("sqlite",),
    "sealed sqlite": ("sqlite", "sealing"),
    "sealed json": ("sealing",),
    "postgres": ("postgres",),
}
ODD_NAMES = [
    *(
        "",
        "main",
        "ana",
        "Ana",
        "ana ",
        "..",
        "../ana",
        "a/b",
        "a%2Fb",
        "%2F",
        "%",
        "/",
        "\\",
        "é",
        "e\u0301",
    ),
    *(
        "'; DROP TABLE entries; --",
        '" OR ""="',
        "' OR '1'='1",
        "%_",
        "*",
        '{"at":{}}',
        "🧵",
        "名前",
        "x" * 500,
    ),
]
STREAMS = ["main", "attempt_a", "a/b", "'", '"', "流", "x" * 500]


class Kept:
    """A store that can be closed and opened again, where it outlives that."""

    def __init__(self, shelf: Shelf | None) -> None:
        self._shelf = shelf
        self._opened: list[Store] = []
        self.store = self.open()

    @property
    def shelf(self) -> Shelf:
        """Where a store is that outlives this process."""
        assert self._shelf is not None
        return self._shelf

    def open(self) -> Store:
        """One more opening, as another process would have it; in memory there is only the one."""
        if self._shelf is None and self._opened:
            return self.store
        self._opened.append(MemoryStore() if self._shelf is None else self._shelf.open())
        return self._opened[-1]

    def reopen(self) -> None:
        """As after a restart."""
        if self._shelf is not None:
            self.store.close()
            self.store = self.open()

    def close(self) -> None:
        for store in self._opened:
            store.close()


@contextmanager
def kept(name: str) -> Generator[Kept, None, None]:
    """A fresh store; one that nobody has built yet, or that cannot run here, is skipped with the reason."""
    for module in _MODULES.get(name, ()):
        try:
            import_module(f"quire.stores.{module}")
        except ModuleNotFoundError as missing:
            pytest.skip(f"the store {name!r} cannot be loaded: {missing}")
    with TemporaryDirectory() as folder, ExitStack() as stack:
        held = Kept(None if name == MEMORY else stack.enter_context(SHELVES[name](Path(folder))))
        stack.callback(held.close)
        yield held


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
            assert store.conversations(scope) == sorted(
                place.conversation for place in self.rows if place.scope == scope
            )
        for place in self.rows:
            assert store.version(place) == self.version(place)
            assert store.read(place) == self.read(place)


def places() -> st.SearchStrategy[Place]:
    """Few enough that they meet again, odd enough to be mistaken for each other."""
    return st.builds(Place, st.sampled_from(ODD_NAMES), st.sampled_from(ODD_NAMES))


def bodies() -> st.SearchStrategy[bytes]:
    """Objects of JSON, among them some that look like what a store writes around them."""
    odd = [
        b"{}",
        b"{ }",
        b'{"at":{}}',
        b'{"at":{"scope":"x"},"a":1}',
        b'{"at":1}',
        b'{ "at" : {} , "b" : [] }',
    ]
    texts = st.text(st.characters(codec="utf-8", exclude_characters='"\\', min_codepoint=32), max_size=8)
    return st.sampled_from(odd) | texts.map(lambda text: f'{{"kind":"note","text":"{text}"}}'.encode())


def entries() -> st.SearchStrategy[Entry]:
    """An entry of any stream."""
    return st.builds(Entry, st.sampled_from(STREAMS), bodies())
