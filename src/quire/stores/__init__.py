"""Where items rest: one log of entries per conversation, safe against crashes and other writers."""

from quire.stores.place import Place, place_at
from quire.stores.store import Durability, Entry, Store, Stored

__all__ = ["Durability", "Entry", "Place", "Store", "Stored", "place_at"]
