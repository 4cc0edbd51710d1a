"""What a session remembers beyond itself: the memory of its scope, which is only there where it is used."""

from typing import TYPE_CHECKING

from quire.stores import Store

if TYPE_CHECKING:
    from quire.memory import Memory


def memory_of(store: Store, scope: str) -> "Memory":
    """The memory of a scope. Most conversations need none, so it is imported with the first that does."""
    from quire.memory import Memory

    return Memory.of(store, scope)


def let_go(store: Store, scope: str) -> None:
    """See to it that what was forgotten cannot be found any more either."""
    from quire.memory import Memory

    Memory.let_go(store, scope)
