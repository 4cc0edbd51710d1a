"""What all conversations of a scope have spent together."""

from threading import Lock
from weakref import WeakKeyDictionary

from quire.session.ledger import read_entries
from quire.session.spending import Spending
from quire.stores import Place, Store
from quire.stores.streams import USAGE

_lock = Lock()
_known: "WeakKeyDictionary[Store, dict[Place, tuple[int, Spending]]]" = WeakKeyDictionary()


def scope_spending(store: Store, scope: str) -> Spending:
    """The sum over a scope. Each conversation is read once, and from then on what it has grown by."""
    with _lock:
        known = _known.setdefault(store, {})
        total = Spending()
        for name in store.conversations(scope):
            place = Place(scope, name)
            known[place] = _grown(store, place, *known.get(place, (0, Spending())))
            total += known[place][1]
        return total


def _grown(store: Store, place: Place, version: int, spending: Spending) -> tuple[int, Spending]:
    if store.version(place) < version:
        version, spending = 0, Spending()  # it was forgotten, and has begun again
    stored = store.read(place, after=version)
    spending.take(item for _, item in read_entries(place, [one for one in stored if one.stream == USAGE]))
    return (stored[-1].version if stored else version), spending
