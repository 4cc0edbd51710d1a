"""Many who open a new SQLite store at the same moment: all of them succeed."""

import sqlite3
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from quire.errors import InvalidValue
from quire.stores import Store
from quire.stores.sqlite_schema import settle

PROCESSES, FILES = 8, 60
OPENER = """
import sys
from quire.stores.sqlite import SQLiteStore
print("ready", flush=True)
sys.stdin.readline()
for number in range(int(sys.argv[2])):
    SQLiteStore(f"{sys.argv[1]}/{number}.db").close()
"""


def test_processes_that_open_new_files_at_once_all_succeed(tmp_path: Path) -> None:
    openers = [
        subprocess.Popen(
            [sys.executable, "-c", OPENER, str(tmp_path), str(FILES)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(PROCESSES)
    ]
    for opener in openers:
        assert opener.stdout is not None and opener.stdout.readline() == "ready\n"
    for opener in openers:
        assert opener.stdin is not None
        opener.stdin.write("go\n")
        opener.stdin.flush()
    said = [opener.communicate(timeout=60)[1] for opener in openers]
    assert said == [""] * PROCESSES


class Overtaken(sqlite3.Connection):
    """A connection during whose first look another makes the tables, if it can."""

    path = ""

    def execute(self, statement: str, *given: object) -> sqlite3.Cursor:  # pyright: ignore
        if statement == "PRAGMA user_version" and self.path:
            other, self.path = sqlite3.connect(self.path, isolation_level=None, timeout=0.1), ""
            with suppress(sqlite3.OperationalError):
                settle(other, "other.db", patience=0.1)
            other.close()
        return super().execute(statement, *given)  # type: ignore[arg-type]  # pyright: ignore


def test_what_a_file_is_is_seen_at_one_moment(tmp_path: Path) -> None:
    path = str(tmp_path / "kept.db")
    connection = sqlite3.connect(path, isolation_level=None, factory=Overtaken)
    connection.path = path
    settle(connection, path, patience=1)
    assert connection.path == "" and not connection.in_transaction
    assert connection.execute("SELECT count(*) FROM entries").fetchone() == (0,)
    connection.close()


@pytest.mark.parametrize("name", [":memory:", "kept.db?mode=ro"])
def test_what_an_address_cannot_say_makes_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidValue):
        Store.open(f"sqlite:///{name}")
    assert list(tmp_path.iterdir()) == []
