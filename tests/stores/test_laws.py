"""The laws of a store, for every store of ours."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from quire.stores import MemoryStore, Store
from quire.testing import StoreLaws
from tests.stores.keeping import KEY
from tests.stores.server import database

pytestmark = pytest.mark.laws


class TestMemory(StoreLaws):
    is_lasting = False

    def open(self, folder: Path) -> Store:
        return MemoryStore()


class TestSQLite(StoreLaws):
    def open(self, folder: Path) -> Store:
        return Store.open(folder / "kept.db")


class TestJSONLines(StoreLaws):
    def open(self, folder: Path) -> Store:
        return Store.open(folder / "kept.jsonl")


class TestSealedSQLite(StoreLaws):
    def open(self, folder: Path) -> Store:
        return Store.open(folder / "kept.db", key=KEY)


@pytest.mark.fuzz
class TestSealedJSONLines(StoreLaws):  # `Sealed` is held to the laws with SQLite, and JSON Lines without it
    def open(self, folder: Path) -> Store:
        return Store.open(folder / "kept.jsonl", key=KEY)


class TestPostgres(StoreLaws):
    made: dict[Path, tuple[str, ExitStack]] = {}  # noqa: RUF012

    def open(self, folder: Path) -> Store:
        if folder not in self.made:
            stack = ExitStack()
            self.made[folder] = stack.enter_context(database()), stack
        return Store.open(self.made[folder][0])

    def drop(self, folder: Path) -> None:
        self.made.pop(folder)[1].close()
