"""Which index a scope has: a small one in this process, a large one in tables beside the store.

What is kept in memory, in JSON or sealed has its index in this process, however large: it is never written
down in plain words where the store does not. So has what can be read where its index cannot be written.
"""

import logging
import os

from quire.errors import StoreDamaged, StoreError, StoreFailed
from quire.memory.index.aside import set_aside
from quire.memory.index.in_process import InProcess
from quire.memory.index.index import Index
from quire.memory.index.lasting import Lasting
from quire.memory.index.lasting.tables import Tables
from quire.stores import Store

SMALL = 4_000
"""Up to so many entries are read again by each process: that takes about half a second, and then each search
is quicker than in tables."""

ENDING = "-index"


logger = logging.getLogger("quire.memory")


def opened_index(store: Store, scope: str) -> Index:
    """The index that goes with what a store keeps of a scope. One that lasts goes on, however small."""
    try:
        return _opened(store, scope)
    except StoreFailed as fault:
        return index_after(store, scope, fault)


def index_after(store: Store, scope: str, fault: StoreError) -> Index:
    """The index in the place of one that failed, for it is only a copy; the fault, where it is another's."""
    if not _is_of_index(store, fault):
        raise fault
    if isinstance(fault, StoreDamaged):
        set_aside(fault.filename)
        return opened_index(store, scope)
    logger.warning("%s: what is kept is indexed in this process, and read again by the next", fault)
    return InProcess()


def _opened(store: Store, scope: str) -> Index:
    kept = kept_index(store, scope)
    if kept is not None:
        return kept
    if sum(standing.version for standing in store.conversations(scope).values()) <= SMALL:
        return InProcess()
    tables = _tables(store, is_made=True)
    return InProcess() if tables is None else Lasting(tables, scope)


def kept_index(store: Store, scope: str) -> Index | None:
    """The index of a scope that lasts, where somebody has made one that can be read."""
    try:
        return _kept(store, scope)
    except StoreDamaged as fault:
        if not _is_of_index(store, fault):
            raise
        set_aside(fault.filename)
        return None


def _is_of_index(store: Store, fault: StoreError) -> bool:
    path: object = fault.filename
    return isinstance(path, str) and path == f"{getattr(store, 'path', '')}{ENDING}"


def _kept(store: Store, scope: str) -> Index | None:
    tables = _tables(store, is_made=False)
    if tables is None:
        return None
    index = Lasting(tables, scope)
    if len(index) or index.marked():
        return index
    index.close()
    return None


def _tables(store: Store, *, is_made: bool) -> Tables | None:
    """Where the index of a store lasts, if it does; made if it is not there yet."""
    kind = type(store).__name__  # by name: most have no server, and not the library for one
    if kind == "SQLiteStore":
        return _beside_file(store, is_made=is_made)
    return _in_database(store, is_made=is_made) if kind == "PostgresStore" else None


def _beside_file(store: Store, *, is_made: bool) -> Tables | None:
    from quire.memory.index.lasting.sqlite import SQLiteTables
    from quire.stores.sqlite import SQLiteStore

    if not isinstance(store, SQLiteStore):
        return None
    path = store.path + ENDING
    return SQLiteTables(path) if is_made or os.path.isfile(path) else None


def _in_database(store: Store, *, is_made: bool) -> Tables | None:
    from quire.memory.index.lasting.postgres import PostgresTables, is_there
    from quire.stores.postgres import PostgresStore

    if not isinstance(store, PostgresStore):
        return None
    link = store.link
    return PostgresTables(link) if is_made or is_there(link) else None
