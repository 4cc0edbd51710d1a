"""Ledgers and stores that are open in this process: one of each, however many sessions use them."""

import atexit
import os
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

from quire.errors import Forgotten, StoreError
from quire.items import Note
from quire.session.ledger import Ledger
from quire.session.resting import Fared
from quire.session.workspace import Workspace
from quire.state import Transcript
from quire.stores import Durability, Place, Store

T = TypeVar("T")

_MOST_LEDGERS = 64
"""How many conversations of one store stay in memory though nobody holds them, the latest used."""

_MOST_FARED = 4_096
"""Of how many conversations of one store it is known how their compactions went, the latest used."""

_lock = Lock()
_DATABASE = "sqlite:///"
Mark = tuple[int, ...]
"""What tells whether a path still leads to the file that was opened."""

_stores: dict[tuple[str, str, Durability, bytes | None], tuple[Store, Mark]] = {}
_live: "WeakKeyDictionary[Store, WeakValueDictionary[Place, Ledger]]" = WeakKeyDictionary()
"""Every ledger that somebody holds: all sessions of a place have the same one, or one would not see what
another wrote and forgot."""
_fared: "WeakKeyDictionary[Store, dict[Place, Fared]]" = WeakKeyDictionary()
"""How compactions went: that is little, and stays for longer than what was read."""


def shared_store(url: str | Path | Store, durable: Durability | None, key: bytes | None) -> Store:
    """The store of an address, opened once, however a file is spelled; it is closed when the process ends.

    Where the file was deleted, or another database put in its place, it is opened anew.
    """
    if isinstance(url, Store) or str(url) == "memory:":  # a memory that is asked for anew is a new one
        return Store.open(url, durable=durable, key=key)
    name = (*_named(url), durable or "process", key)
    with _lock:
        store, mark = _stores.get(name, (None, ()))
        if store is not None and mark == _mark_of(*name[:2]):
            return store
        if store is not None:
            _close(store)
        store = Store.open(url, durable=durable, key=key)
        _stores[name] = store, _mark_of(*name[:2])
        return store


def _named(url: str | Path) -> tuple[str, str]:
    """What an address means: the kind of a file and where it is, or a server by the address itself."""
    text = str(url)
    if isinstance(url, str) and text.startswith(_DATABASE):
        return "database", os.path.realpath(text.removeprefix(_DATABASE))
    if isinstance(url, str) and "://" in text:
        return "server", text
    ending = Path(text).suffix.lower()
    return ending if ending == ".jsonl" else "database", os.path.realpath(text)


def _mark_of(kind: str, path: str) -> Mark:
    """The file that a path leads to; only a database stays the same file when something is forgotten."""
    if kind == "server":
        return ()
    try:
        found = os.stat(path)
    except OSError:
        return (-1,)
    return (found.st_dev, found.st_ino) if kind == "database" else (0,)


def shared_ledger(store: Store, place: Place) -> Ledger:
    """The ledger of a place, brought up to date: what was read before is not read again."""
    with _lock:
        ledger = _live.setdefault(store, WeakValueDictionary()).get(place)
        if ledger is not None:
            _keep(store, ledger)
    if ledger is not None:
        ledger.catch_up()
        return ledger
    made = Ledger(store, place, lambda: Workspace(partial(_past, store, place.scope)))
    with _lock:
        made.fared = _fared.setdefault(store, {}).get(place, made.fared)
        ledger = _live[store].setdefault(place, made)
        _keep(store, ledger)
    return ledger


def _keep(store: Store, ledger: Ledger) -> None:
    """Keep a ledger in memory, and let go of those that were used longest ago."""
    _use(store.attached.setdefault("session", {}), ledger.place, ledger, _MOST_LEDGERS)
    _use(_fared.setdefault(store, {}), ledger.place, ledger.fared, _MOST_FARED)


def _use(kept: dict[Place, T], place: Place, used: T, most: int) -> None:
    kept.pop(place, None)
    kept[place] = used  # the latest used stands last
    while len(kept) > most:
        del kept[next(iter(kept))]


def _past(store: Store, scope: str, origin: Note) -> Transcript:
    """The past of a fork, from the conversation of the same scope that it left."""
    said = origin.content
    parent = shared_ledger(store, Place(scope, said["conversation"]))
    with parent.lock:
        transcript = parent.workspace.transcripts.get(said["transcript"], Transcript())
        if not _is_past(transcript, said["revision"], said.get("last")):
            raise Forgotten("the conversation that this one was forked from was taken out of the store")
        if len(transcript) == said["revision"]:
            return transcript.copy()
        return Transcript(transcript.recorded()[: said["revision"]])


def _is_past(transcript: Transcript, revision: int, last: str | None) -> bool:
    """Whether this is what a fork left, and not another conversation that began at the same address."""
    if len(transcript) < revision:
        return False
    return last is None or transcript.view.log.item(revision - 1).id == last


def close_stores() -> None:
    """Close every store that was opened by its address."""
    with _lock:
        stores = list(_stores.values())
        _stores.clear()
    for store, _ in stores:
        _close(store)


def _close(store: Store) -> None:
    with suppress(StoreError):  # nobody is left to be told
        store.close()


def _unlock() -> None:
    global _lock
    _lock = Lock()


atexit.register(close_stores)
os.register_at_fork(after_in_child=_unlock)
