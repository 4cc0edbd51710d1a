"""A process that is forked while other threads of it use a store: the child can use the store at once."""

import os
import signal
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from quire.errors import Conflict
from quire.stores import Entry, Store
from tests.stores.keeping import HERE

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
ROUNDS = 6
PATIENCE = 8.0


def add(store: Store) -> None:
    version = store.version(HERE)
    while True:
        try:
            store.append(HERE, [Entry("main", b'{"kind":"note"}')], expected=version)
            return
        except Conflict as late:
            version = late.found


@contextmanager
def writing(store: Store) -> Generator[list[int], None, None]:
    """A thread that appends all the time, and counts."""
    over, count = threading.Event(), [0]

    def write() -> None:
        while not over.is_set():
            add(store)
            count[0] += 1

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield count
    finally:
        over.set()
        thread.join()


def forked(store: Store, times: int) -> int:
    """What a child that appends ends with; one that hangs is killed."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            for _ in range(times):
                add(store)
            status = 0
        finally:
            os._exit(status)
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1]


@pytest.mark.parametrize("ending", ["db", "jsonl"])
def test_a_child_writes_though_another_thread_did_when_it_was_forked(tmp_path: Path, ending: str) -> None:
    with Store.open(tmp_path / f"kept.{ending}") as store:
        with writing(store) as count:
            for _ in range(ROUNDS):
                time.sleep(0.01)
                assert forked(store, 2) == 0
        assert len(store.read(HERE)) == store.version(HERE) == count[0] + 2 * ROUNDS
        assert store.reports == ()


def test_a_child_has_the_memory_of_its_parent_for_itself() -> None:
    with Store.open("memory:") as store:
        with writing(store) as count:
            for _ in range(ROUNDS):
                assert forked(store, 2) == 0
        assert store.version(HERE) == count[0]


@pytest.mark.parametrize("ending", ["db", "jsonl"])
def test_threads_that_fork_at_once_wait_for_each_other(tmp_path: Path, ending: str) -> None:
    ended: list[int] = []
    with Store.open(tmp_path / f"kept.{ending}") as store:
        forking = [threading.Thread(target=lambda: ended.append(forked(store, 1))) for _ in range(8)]
        with writing(store) as count:
            for thread in forking:
                thread.start()
            for thread in forking:
                thread.join()
        assert ended == [0] * 8 and store.version(HERE) == count[0] + 8
