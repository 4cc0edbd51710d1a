"""Stores: one log of entries for each conversation, safe against crashes, damage and concurrent writers.

A store is imported when it is first used: some need an extra.
"""

from typing import TYPE_CHECKING, Any

from quire.stores.memory import MemoryStore
from quire.stores.store import (
    KINDS,
    Changes,
    Damage,
    Durability,
    Entry,
    LogVersion,
    Opening,
    Place,
    Recent,
    Store,
    Stored,
    check_bodies,
    check_place,
    checked_append,
    checked_scope,
    checked_start,
    conflict,
    items_in,
    named_scope as named_scope,
    place_at,
    store_class,
)

if TYPE_CHECKING:
    from quire.stores.jsonl import JSONLinesStore
    from quire.stores.postgres import PostgresStore
    from quire.stores.sealed import Sealed
    from quire.stores.sqlite import SQLiteStore

__all__ = [
    "Changes",
    "Damage",
    "Durability",
    "Entry",
    "JSONLinesStore",
    "LogVersion",
    "MemoryStore",
    "Opening",
    "Place",
    "PostgresStore",
    "Recent",
    "SQLiteStore",
    "Sealed",
    "Store",
    "Stored",
    "check_bodies",
    "check_place",
    "checked_append",
    "checked_scope",
    "checked_start",
    "conflict",
    "items_in",
    "place_at",
]


def __getattr__(name: str) -> Any:
    if name not in KINDS:
        raise AttributeError(f"module 'quire.stores' has no attribute {name!r}")
    return store_class(name)
