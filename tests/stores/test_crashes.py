"""Law 16: an append that returned is there after kill -9; one that did not is there whole or not at all."""

import random
import subprocess
import sys
import time

import pytest

from quire.stores import Place, Store
from tests.stores.every import SHELVES
from tests.stores.keeping import kept

pytestmark = pytest.mark.laws
HERE = Place("ana", "q3")
APPEND_FOR_EVER = """
import sys
from quire.stores import Entry, Place, Store
here, key = Place("ana", "q3"), bytes.fromhex(sys.argv[2]) or None
store = Store.open(sys.argv[1], key=key)
version = store.version(here)
while True:
    batch = [Entry("main", b'{"n":%d,"x":"%s"}' % (version + part, b"x" * 3000)) for part in (1, 2)]
    version = store.append(here, batch, expected=version)
    print(version, flush=True)
"""


@pytest.mark.parametrize("name", SHELVES)
def test_law_16_what_was_acknowledged_outlives_a_kill(name: str) -> None:
    with kept(name) as held:
        held.store.close()
        for _ in range(4):
            acknowledged = _killed(held.shelf.url, held.shelf.key)
            held.store = held.open()
            _check(held.store, acknowledged)
            held.store.close()


def _killed(url: str, key: bytes | None) -> int:
    command = [sys.executable, "-c", APPEND_FOR_EVER, url, (key or b"").hex()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        first = writer.stdout.readline()
        time.sleep(random.uniform(0, 0.05))
        writer.kill()
        return int([first, *writer.stdout.read().split()][-1])


def _check(store: Store, acknowledged: int) -> None:
    found = store.read(HERE)
    assert acknowledged <= len(found) <= acknowledged + 2 and len(found) % 2 == 0
    for number, stored in enumerate(found, 1):
        assert stored.body.startswith(b'{"n":%d,' % number)
