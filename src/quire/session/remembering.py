"""What a session remembers beyond itself: the memory of its scope, which is only there where it is used."""

from collections.abc import Collection
from contextlib import suppress
from typing import TYPE_CHECKING

from quire.errors import InvalidValue
from quire.memory import on_removed
from quire.session.forgetting import forget_recalled
from quire.session.wiping import let_go
from quire.stores import Place, Store
from quire.stores.recalls import RECALLS, begin_forgetting

if TYPE_CHECKING:
    from quire.memory import Knowledge, Memory


def memory_of(store: Store, scope: str) -> "Memory":
    """The memory of a scope. Most conversations need none, so it is imported with the first that does."""
    from quire.memory import Memory

    return Memory.of(store, scope)


def documents_of(store: Store, scope: str) -> "Knowledge":
    """The documents of a scope; where they were recalled, they go with their source, for this room hears."""
    from quire.memory import Knowledge

    return Knowledge(store, scope)


def take_out(store: Store, place: Place) -> None:
    """Take a whole conversation out of a store, and so out of the index and of where it was recalled."""
    if begin_forgetting(store, place):
        store.remove(place)
        _let_go_of_copies(store, place, ())
        store.scrub()


@on_removed
def _let_go_of_copies(store: Store, place: Place, ids: Collection[str]) -> None:
    """What goes from a store, or from its documents, goes where it was recalled too, and cannot be found."""
    forget_recalled(store, place, ids)
    with suppress(InvalidValue):  # within a sealed store: whoever has the key hears of it too
        let_go(store, place.scope)
    if list(store.conversations(place.scope)) == [RECALLS]:  # nobody is left who recalls, nor a scope
        store.remove(place._replace(conversation=RECALLS))
