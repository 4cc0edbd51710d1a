"""Conversations that share items: where a fork began, where that one did, and all forks of the first."""

from collections.abc import Container, Iterator
from contextlib import suppress

from quire.errors import Forgotten
from quire.session.ledger import Ledger
from quire.session.opening import shared_ledger
from quire.stores import Place


def pasts(ledger: Ledger) -> Iterator[Ledger]:
    """The conversations that a fork has its past from, the nearest first."""
    origin = ledger.workspace.origin
    while origin is not None:
        ledger = shared_ledger(ledger.store, Place(ledger.place.scope, origin.content["conversation"]))
        yield ledger
        origin = ledger.workspace.origin


def first_of(ledger: Ledger) -> Ledger:
    """The conversation that a fork, or what it was forked from, has its past from; else the ledger itself."""
    return [ledger, *pasts(ledger)][-1]


def forks_of(ledger: Ledger, *, but: Container[Place] = ()) -> list[Ledger]:
    """All forks of a conversation, and theirs, but for some places."""
    scope, name = ledger.place
    places = (Place(scope, other) for other in ledger.store.conversations(scope))
    return list(
        _opened(ledger, (p for p in places if p.conversation.startswith(f"{name}/") and p not in but))
    )


def _opened(ledger: Ledger, places: Iterator[Place]) -> Iterator[Ledger]:
    for place in places:
        with suppress(Forgotten):  # it has its past from another that had this address before
            fork = shared_ledger(ledger.store, place)
            if fork.workspace.origin is not None:
                yield fork
