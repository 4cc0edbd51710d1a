"""Salvage: copies the undamaged entries of a damaged store into a new one.

The checksum of an entry tells whether it is damaged. A damaged SQLite file is read as far as SQLite can.
"""

import os
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from quire.errors import InvalidValue, StoreDamaged
from quire.stores.sealed import Seal
from quire.stores.store import Damage, Entry, Place, Row, Store, Stored, is_sealed, whole_entries
from quire.stores.streams import LOST

_PLACEHOLDER = b'{"kind":"lost","id":"lost-%d","created_at":0.0}'
_BITS = 32  # of the column `at` that hold the version; the number of the conversation is above them
_LAST = (1 << _BITS) - 1


class Salvaged(NamedTuple):
    """The counts of a salvage."""

    conversations: int
    entries: int
    lost: int
    """Entries that are known to be lost; the end of a conversation can be lost unnoticed."""


def check(url: str | Path, *, key: bytes | None = None) -> list[Damage]:
    """The damage to a store; an empty list if there is none. A file without content is no store."""
    path = str(url).removeprefix("sqlite:///")
    if os.path.isfile(path) and os.path.getsize(path) <= 1:  # SQLite takes one byte for an empty file, too
        return [Damage(None, 0, f"{path} is empty: there is no store in it")]
    try:
        with Store.open(url, key=key) as store:
            return list(store.verify())
    except StoreDamaged as fault:
        return [Damage(None, fault.version, str(fault))]


def salvage(url: str | Path, target: Store, *, key: bytes | None = None) -> Salvaged:
    """Copy every undamaged entry of a store into an empty one.

    Versions stay the same: a placeholder in the stream `.lost` takes the place of a lost entry. An encrypted
    store needs its key; entries of another key are lost.
    """
    if target.scopes():
        raise InvalidValue("the target of a salvage must be an empty store; this one has conversations")
    logs, last_versions = dict[Place, dict[int, Stored]](), Counter[Place]()
    recovered = list(_recovered(url))
    for place, stored in recovered:
        last_versions[place] = max(last_versions[place], stored.version)
    for place, stored in recovered if key is None else Seal(key).unseal_all(recovered):
        if is_sealed(stored.body):
            raise InvalidValue(f"{place} is sealed: give its key")
        logs.setdefault(place, {})[stored.version] = stored
    for place, log in logs.items():
        versions = range(1, max(log) + 1)
        entries = [Entry(*log[at][1:]) if at in log else Entry(LOST, _PLACEHOLDER % at) for at in versions]
        target.append(place, entries, expected=0)
    written = sum(map(len, logs.values()))
    return Salvaged(len(logs), written, sum(last_versions.values()) - written)


def _recovered(url: str | Path) -> Iterator[tuple[Place, Stored]]:
    try:
        with Store.open(url) as store:
            return iter(list(store.recover()))
    except StoreDamaged:
        path = str(url).removeprefix("sqlite:///")
        if not os.path.isfile(path):
            raise
        return recover_sqlite(path)


def recover_sqlite(path: str) -> Iterator[tuple[Place, Stored]]:
    """The undamaged entries of a SQLite store, as far as SQLite reads it."""
    names: dict[int, dict[Place, None]] = {}
    rows: dict[int, list[Row]] = {}
    for number, values in _readable(path, "SELECT number, scope, name FROM conversations ORDER BY number"):
        names.setdefault(number, {})[Place(*values)] = None
    for _, values in _readable(path, "SELECT id, at, stream, body, sum FROM entries ORDER BY id"):
        match values:
            case [int(at), str(stream), bytes(body), int()] if (
                at > 0 and not at & _LAST
            ):  # version 0: the names
                names.setdefault(at >> _BITS, {})[Place(stream, body.decode(errors="replace"))] = None
            case [int(at), str(stream), bytes(body), int(checksum)] if at > 0:
                rows.setdefault(at >> _BITS, []).append((at & _LAST, stream, body, checksum))
            case _:
                continue
    for number, places in names.items():  # a damaged name matches no checksum
        logs = [
            [(place, stored) for stored in whole_entries(place, rows.get(number, []))] for place in places
        ]
        yield from max(logs, key=len)


def _readable(path: str, query: str) -> list[tuple[int, list[Any]]]:
    """The rows of a table by key, read forwards and backwards, each up to the first damaged page."""
    values_by_key: dict[int, list[Any]] = {}
    with closing(sqlite3.connect(path)) as connection:
        connection.text_factory = partial(str, encoding="utf-8", errors="replace")
        for order in ("ASC", "DESC"):
            with suppress(sqlite3.DatabaseError):
                for key, *values in connection.execute(f"{query} {order}"):
                    if key in values_by_key:
                        break
                    values_by_key[key] = values
    return sorted(values_by_key.items())
