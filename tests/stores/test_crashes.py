"""Law 16: an append that returned is there after kill -9; one that did not is there whole or not at all.

So is a checkpoint.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import psycopg
import pytest

from quire.stores import Entry
from quire.stores.postgres import PostgresStore
from tests.stores.keeping import HERE, LASTING, Shelf, kept, version_after
from tests.stores.server import start

pytestmark = pytest.mark.laws


WRITE_FOR_EVER = """
import sys
from quire.stores import Entry, Place, Store
here, key = Place("ana", "q3"), bytes.fromhex(sys.argv[2]) or None
store = Store.open(sys.argv[1], key=key)
version = store.version(here)
while True:
    batch = [Entry("main", b'{"n":%d,"x":"%s"}' % (version + part, b"x" * 3000)) for part in (1, 2)]
    version = store.append(here, batch, expected=version)
    print(f"appended {version}", flush=True)  # a kill leaves no half of it
    body = b"%08d" % version
    store.write_checkpoint(here, version, body * 500, [1], dict.fromkeys(range(1, 5), body * 2000))
    print(f"checkpoint {version}", flush=True)
"""


@pytest.mark.parametrize("name", LASTING)
def test_law_16_what_was_acknowledged_outlives_a_kill(name: str) -> None:
    with kept(name) as held:
        held.store.close()
        for _ in range(3):
            acknowledged = killed(held.shelf)
            held.store = held.open()
            found, opening = held.store.read(HERE), held.store.open_checkpoint(HERE)
            assert acknowledged["appended"] <= len(found) <= acknowledged["appended"] + 2
            assert len(found) % 2 == 0
            for number, stored in enumerate(found, 1):
                assert stored.body.startswith(b'{"n":%d,' % number)
            if held.store.has_checkpoints:  # the old one or the new one, and whole
                assert opening is not None and opening.version >= acknowledged["checkpoint"]
                body = b"%08d" % opening.version
                assert opening.head == body * 500
                assert held.store.read_parts(HERE, range(1, 6)) == dict.fromkeys(range(1, 5), body * 2000)
            assert list(held.store.verify()) == []
            held.store.close()


def killed(shelf: Shelf) -> dict[str, int]:
    """The last versions that were acknowledged before the writer was killed."""
    command = [sys.executable, "-c", WRITE_FOR_EVER, shelf.url, (shelf.key or b"").hex()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        first = [writer.stdout.readline(), writer.stdout.readline()]
        time.sleep(random.uniform(0, 0.05))
        writer.kill()
        lines = [line.split() for line in (*first, *writer.stdout)]
    return {what: int(version) for what, version in lines}


@pytest.fixture
def crashing() -> Iterator[str]:
    """A server of its own, since all who use it are cut off, which writes its log only where it has to."""
    url, stop = start()
    try:
        if url.startswith("cannot:"):
            pytest.skip(f"no PostgreSQL can run here: {url}")
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET wal_writer_delay = '10s'")
            connection.execute("SELECT pg_reload_conf()")
        yield url
    finally:
        stop()


def test_what_was_acknowledged_outlives_a_process_of_the_server(crashing: str) -> None:
    with (
        psycopg.connect(crashing, autocommit=True) as victim,
        psycopg.connect(crashing, autocommit=True) as bystander,
        PostgresStore(crashing) as store,
    ):
        for version in range(50):
            store.append(HERE, [Entry("main", b'{"n":%d}' % version)], expected=version)
        os.kill(victim.info.backend_pid, signal.SIGKILL)
        with pytest.raises(psycopg.OperationalError):  # it is noticed, and all others are cut off
            bystander.execute("SELECT pg_sleep(60)")
        assert version_after(store) == 50
        assert store.append(HERE, [Entry("main", b"{}")], expected=50) == 51
