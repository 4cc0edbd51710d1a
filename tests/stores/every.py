"""Every store there is, each made fresh: add yours here, and every law of keeping runs on it."""

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from quire.stores import Store


class Shelf:
    """A store that can be opened more than once, as another process would."""

    def __init__(self, url: str, key: bytes | None = None) -> None:
        self.url = url
        self.key = key

    def open(self) -> Store:
        return Store.open(self.url, key=self.key)


@contextmanager
def _file(folder: Path, name: str, key: bytes | None = None) -> Generator[Shelf, None, None]:
    yield Shelf(str(folder / name), key)


@contextmanager
def _postgres(_: Path) -> Generator[Shelf, None, None]:
    from tests.stores.server import database

    with database() as url:
        yield Shelf(url)


SHELVES: dict[str, Callable[[Path], AbstractContextManager[Shelf]]] = {
    "json": lambda folder: _file(folder, "kept.json"),
    "json lines": lambda folder: _file(folder, "kept.jsonl"),
    "sqlite": lambda folder: _file(folder, "kept.db"),
    "sealed sqlite": lambda folder: _file(folder, "kept.db", bytes(range(32))),
    "sealed json": lambda folder: _file(folder, "kept.json", bytes(range(32))),
    "postgres": _postgres,
}
"""The memory store is held to the same laws where nothing is opened a second time."""
