"""A process that is forked while other threads of it use a store: the child can use the store at once."""

import os
import signal
import threading
from pathlib import Path

import pytest

from quire.errors import Conflict
from quire.stores import Entry, Store
from tests.stores.keeping import HERE

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def add(store: Store) -> None:
    version = store.version(HERE)
    while True:
        try:
            store.append(HERE, [Entry("main", b'{"kind":"note"}')], expected=version)
            return
        except Conflict as late:
            version = late.found


def forked(store: Store) -> int:
    """What a child that appends ends with; one that hangs is ended by its alarm."""
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        status = 1
        try:
            add(store)
            status = 0
        finally:
            os._exit(status)
    return os.waitpid(child, 0)[1]


@pytest.mark.parametrize("url", ["kept.db", "kept.jsonl", "memory:"])
def test_children_write_though_other_threads_write_and_fork(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.chdir(tmp_path)
    over, count, ended = threading.Event(), [0], list[int]()

    def write() -> None:
        while not over.is_set():
            add(store)
            count[0] += 1

    def fork() -> None:
        ended.extend(forked(store) for _ in range(3))

    with Store.open(url) as store:
        writer, *forking = [threading.Thread(target=work) for work in (write, fork, fork, fork)]
        for thread in (writer, *forking):
            thread.start()
        for thread in forking:
            thread.join()
        over.set()
        writer.join()
        assert ended == [0] * 9 and store.reports == ()
        # The memory of a child is its own.
        assert len(store.read(HERE)) == store.version(HERE) == count[0] + (0 if url == "memory:" else 9)
