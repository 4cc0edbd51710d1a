"""Conversations that share items: where a fork began, where that one did, and all forks of the first."""

from collections.abc import Iterator
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


def family(ledger: Ledger) -> list[Ledger]:
    """The first of them, then all its forks and theirs; this ledger itself stands for its own place."""
    first = [ledger, *pasts(ledger)][-1]
    return [ledger if one.place == ledger.place else one for one in (first, *_forks(first))]


def _forks(ledger: Ledger) -> Iterator[Ledger]:
    scope, name = ledger.place
    for other in ledger.store.conversations(scope):
        if other.startswith(f"{name}/"):
            with suppress(Forgotten):  # it has its past from another that had this address before
                fork = shared_ledger(ledger.store, Place(scope, other))
                if fork.workspace.origin is not None:
                    yield fork
