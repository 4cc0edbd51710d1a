"""Where items rest: one log of entries per conversation, safe against crashes and other writers.

Stores that need more than Python itself are loaded when they are first named.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from quire.stores.json_array import JSONStore
from quire.stores.json_lines import JSONLinesStore
from quire.stores.memory import MemoryStore
from quire.stores.place import Place, place_at
from quire.stores.store import Durability, Entry, Store, Stored

if TYPE_CHECKING:
    from quire.stores.postgres import PostgresStore
    from quire.stores.sealing import Sealed
    from quire.stores.sqlite import SQLiteStore

_MODULE_OF = {"PostgresStore": "postgres", "SQLiteStore": "sqlite", "Sealed": "sealing"}

__all__ = [
    "Durability",
    "Entry",
    "JSONLinesStore",
    "JSONStore",
    "MemoryStore",
    "Place",
    "PostgresStore",
    "SQLiteStore",
    "Sealed",
    "Store",
    "Stored",
    "place_at",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'quire.stores' has no attribute {name!r}")
    return getattr(import_module(f"quire.stores.{_MODULE_OF[name]}"), name)
