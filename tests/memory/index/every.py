"""Every index there is, each made fresh: add yours here, and every law of finding runs on it."""

import atexit
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from quire.memory.index import Index, InProcess
from quire.memory.index.lasting import Lasting
from quire.memory.index.lasting.sqlite import SQLiteTables
from quire.memory.index.lasting.tables import Tables

_scopes = count(1)
_open = ExitStack()


@contextmanager
def _in_process() -> Generator[Index, None, None]:
    index = InProcess()
    yield index
    index.close()


@contextmanager
def _sqlite() -> Generator[Index, None, None]:
    with TemporaryDirectory() as folder:
        index = Lasting(SQLiteTables(Path(folder) / "kept.db-index"), "ana")
        yield index
        index.close()


@contextmanager
def _postgres() -> Generator[Index, None, None]:
    # One database for all, each index in a scope of its own: what others have there must not matter.
    index = Lasting(_server_tables(), f"scope {next(_scopes)}")
    yield index
    index.close()


@cache
def _server_tables() -> Tables:
    from quire.memory.index.lasting.postgres import PostgresTables
    from quire.stores.postgres_link import Link
    from tests.stores.server import database

    link = Link(_open.enter_context(database()), "process", 2)
    _open.callback(link.close)
    atexit.register(_open.close)  # after the server was started, so that it is done before that stops
    return PostgresTables(link)


INDEXES: dict[str, Callable[[], AbstractContextManager[Index]]] = {
    "in process": _in_process,
    "sqlite": _sqlite,
    "postgres": _postgres,
}
