"""`quire follow`: what another process adds is printed as it comes, until it is interrupted."""

import json
import os
import signal
import subprocess
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("typer", reason="the command line needs the extra quire[cli]")

from quire.session import Session
from quire.stores import Store
from tests.cli.conversing import refused
from tests.cli.keeping import ENDINGS, NASTY, seeded, started

_PATIENCE = 120


@contextmanager
def following(*arguments: str) -> "Generator[subprocess.Popen[str]]":
    """A process that follows; it is ended at last, whatever happens."""
    process = started("follow", *arguments, stdin=subprocess.DEVNULL)
    ending = threading.Timer(_PATIENCE, process.kill)
    ending.start()
    try:
        yield process
    finally:
        ending.cancel()
        process.kill()
        process.communicate()


def line_of(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline()


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_another_process_adds(ending: str, tmp_path: Path) -> None:
    store = seeded(tmp_path / f"chats.{ending}")
    with following("ana/q3", "--store", store, "--after", "7") as process, Store.open(store) as opened:
        assert "stands for" in line_of(process)  # what was there already, so it is listening now
        session = Session.open("ana/q3", store=opened)
        session.user("Something new.")
        line = line_of(process)
        assert line.split()[0] == "9" and "Something new." in line
        session.user(NASTY)
        assert "\\x1b[31m\\x9b2J\\u202e[bold]" in line_of(process)
        process.send_signal(signal.SIGINT)
        out, said = process.communicate(timeout=_PATIENCE)
    assert (process.returncode, out, said) == (0, "", "")


def test_each_on_a_line_as_json_and_a_conversation_that_is_still_to_come(tmp_path: Path) -> None:
    store = seeded(tmp_path / "chats.db")
    with following("ana/new", "--store", store, "--json") as process, Store.open(store) as opened:
        assert process.stderr is not None
        assert "ana/new: there is nothing yet" in process.stderr.readline()
        session = Session.open("ana/new", store=opened)
        session.user("one")
        assert json.loads(line_of(process))["version"] == 1
        opened.remove(session.place)
        assert "ana/new was forgotten" in process.stderr.readline()
        Session.open("ana/new", store=opened).user("two")
        entry = json.loads(line_of(process))
        assert (entry["version"], entry["item"]["content"]) == (1, "two")


def test_nobody_reads_any_more(tmp_path: Path) -> None:
    store = seeded(tmp_path / "chats.db")
    reading, writing = os.pipe()
    process = started("follow", "ana/q3", "--store", store, "--after", "0", stdout=writing)
    os.close(writing)
    os.close(reading)
    _, said = process.communicate(timeout=_PATIENCE)
    assert process.returncode != 0 and "Traceback" not in said


def test_what_cannot_be_followed(tmp_path: Path) -> None:
    store = seeded(tmp_path / "chats.db")
    assert "%2F" in refused(2, "follow", "a/b/c", "--store", store)
