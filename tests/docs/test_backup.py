"""The commands of the page on backups, run as they are written, with the programs of the server for tests.

Its `pg_verifybackup` crashes on some machines, so that a backup of the files is only looked at.
"""

import os
import re
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from quire import Session
from quire.stores import PostgresStore
from tests.docs.pages import DOCS
from tests.stores.server import database, server, start

COMMANDS = re.findall(r"^```sh\n(.*?)^```", (DOCS / "how-to/backup.md").read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with pg_dump and the like, of the version of the server, and with `quire`."""
    with psycopg.connect(server()) as connection:
        (data,) = connection.execute("SHOW data_directory").fetchall()[0]
    number = (Path(data) / "postmaster.pid").read_text().split()[0]
    found, folder = Path(os.readlink(f"/proc/{number}/exe")).parent, tmp_path / "bin"
    folder.mkdir()
    for name in ("pg_dump", "pg_restore", "pg_basebackup"):
        (folder / name).symlink_to(found / name)
    ours = {
        "quire": f'exec "{sys.executable}" -m quire "$@"',
        "pg_verifybackup": 'test -s "$1/backup_manifest"',
    }
    for name, command in ours.items():
        (folder / name).write_text(f"#!/bin/sh\n{command}\n")
        (folder / name).chmod(0o755)
    return folder


@pytest.mark.parametrize("count", [2, pytest.param(3, marks=pytest.mark.fuzz)])
def test_the_commands_of_the_page_run(tmp_path: Path, programs: Path, count: int) -> None:
    """The third copies all of a server, which takes seconds."""
    assert len(COMMANDS) == 3
    with ExitStack() as stack:
        url, restored = stack.enter_context(database()), stack.enter_context(database())
        with PostgresStore(url) as store:
            for number in range(30):
                Session.open("ana/q3", store=store).user(f"Question {number}")
        addresses = {"DATABASE_URL": url, "RESTORED_URL": restored}
        if count == 3:
            addresses["SERVER_URL"], stop = start()  # that of the tests may be large
            stack.callback(stop)
        path = f"{programs}:{os.environ['PATH']}"
        for commands in COMMANDS[:count]:
            done = subprocess.run(
                ["sh", "-ec", commands],
                cwd=tmp_path,
                env={**os.environ, **addresses, "PATH": path, "PYTHONWARNINGS": "ignore"},
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr
        with PostgresStore(url) as store, PostgresStore(restored) as copy:
            assert copy.places() == store.places()
            assert [copy.read(place) for place in copy.places()] == [
                store.read(place) for place in store.places()
            ]
            session = Session.open("ana/q3", store=copy)
            session.user("And now?")
            assert session.version == 31
        assert (tmp_path / "base" / "PG_VERSION").exists() == (count == 3)
