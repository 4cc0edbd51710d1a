"""Who keeps something made of what stores hold says so here, and is told when some of it is gone.

Rooms above may copy what a store holds: into an index, or from one conversation into another. A store knows
nothing of that, and what it forgets must not stay with them.
"""

from collections.abc import Callable, Collection

from quire.stores.place import Place
from quire.stores.store import Store

Listener = Callable[[Store, Place, Collection[str]], None]
"""Told in which conversation, and the ids of what is gone: none where all of it is."""

_listeners: list[Listener] = []


def heard_by(listener: Listener) -> Listener:
    """Let somebody hear from now on of what is gone, in whichever store."""
    _listeners.append(listener)
    return listener


def tell(store: Store, place: Place, ids: Collection[str] = ()) -> bool:
    """Say that some of a conversation is gone, or will be; without ids, all of it. Whether anybody heard."""
    for listener in _listeners:
        listener(store, place, ids)
    return bool(_listeners)
