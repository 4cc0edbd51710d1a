"""Forgetting in a SQLite file is done when nothing of it is left in the files, and not before."""

import sqlite3
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from quire import Session
from quire.errors import StoreFailed
from quire.stores.sqlite import SQLiteStore
from tests.session.recalling import SECRET
from tests.stores.test_wiping import GONE, HERE, filled, held_in

# What a process does that works the log into the file: it holds one byte of what SQLite keeps beside it.
CHECKPOINTER = """
import fcntl, sys, time
with open(sys.argv[1] + "-shm", "rb+") as shared:
    fcntl.lockf(shared, fcntl.LOCK_EX, 1, 121)
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""


@contextmanager
def checkpointed(path: str, seconds: float) -> Generator[None, None, None]:
    """Another process works the log into the file for a while."""
    command = [sys.executable, "-c", CHECKPOINTER, path, str(seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None and other.stdout.readline() == "held\n"
        try:
            yield
        finally:
            other.kill()


@contextmanager
def read_by_another(path: str) -> Generator[None, None, None]:
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM entries").fetchone()
    yield
    reader.close()


def test_who_works_the_log_into_the_file_is_waited_for(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "kept.db") as store:
        filled(store)
        with checkpointed(str(tmp_path / "kept.db"), 1.0):
            store.forget(HERE, GONE)
            store.forget(HERE._replace(conversation="there"))
            assert held_in(tmp_path) == []


@pytest.mark.parametrize("holding", ["checkpointed", "read"])
def test_what_is_left_is_said_and_wiped_by_whoever_opens_it_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, holding: str
) -> None:
    monkeypatch.setattr("quire.stores.sqlite_file.PATIENCE", 0.1)
    path = str(tmp_path / "kept.db")
    with SQLiteStore(path) as store:
        session = Session.open("ana/monday", store=store)
        secret = session.user(SECRET)
        with checkpointed(path, 600) if holding == "checkpointed" else read_by_another(path):
            with pytest.raises(StoreFailed, match="log could not be emptied"):
                session.forget(secret.id)
            assert held_in(tmp_path) != []
    with SQLiteStore(path) as again:
        assert "swordfish" not in str(Session.open("ana/monday", store=again).view())
        assert held_in(tmp_path) == []
        assert not Session.open("ana/monday", store=again)._ledger.workspace.forgetting  # pyright: ignore[reportPrivateUsage]


def test_whoever_forgets_it_again_is_told_when_it_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quire.stores.sqlite_file.PATIENCE", 0.1)
    with SQLiteStore(tmp_path / "kept.db") as store:
        filled(store)
        with read_by_another(str(tmp_path / "kept.db")):
            for _ in range(2):
                with pytest.raises(StoreFailed, match="log could not be emptied"):
                    store.forget(HERE)
            assert store.append(HERE._replace(conversation="new"), [], expected=0) == 0
        store.forget(HERE)
        store.forget(HERE._replace(conversation="there"))
        assert held_in(tmp_path) == []
