"""Conversations that may hold items of each other: forks, what stands below an address, what was merged."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from quire.errors import Forgotten
from quire.items import Note
from quire.session.ledger import Ledger
from quire.session.opening import shared_ledger
from quire.session.workspace import Written
from quire.stores import Place, Store
from quire.stores.recalls import recalling
from quire.stores.streams import MERGED
from quire.stores.tombstones import is_tombstone


def pasts(ledger: Ledger) -> Iterator[Ledger]:
    """The conversations that a fork has its past from, the nearest first."""
    origin = ledger.workspace.origin
    while origin is not None:
        ledger = shared_ledger(ledger.store, Place(ledger.place.scope, origin.content["conversation"]))
        yield ledger
        origin = ledger.workspace.origin


def above(ledger: Ledger) -> list[Ledger]:
    """The conversations that one is a fork of, or that it was begun beside."""
    found = {past.place: past for past in pasts(ledger)}
    for name in _names_above(ledger.place.conversation):
        place = ledger.place._replace(conversation=name)
        if place not in found and ledger.store.version(place):
            found |= {one.place: one for one in _opened(ledger.store, [place], {})}
    return list(found.values())


def relatives(known: Sequence[Ledger], *, but: Collection[Place] = ()) -> list[Ledger]:
    """All that may have items of these conversations, themselves included; those above come before others.

    What somebody merges or forks meanwhile is found by asking again.
    """
    store, scope = known[0].store, known[0].place.scope
    names = {*store.conversations(scope), *(name for one in known for name in _known_by(one))}
    firsts = {_first_of(name, names) for one in known for name in (*_known_by(one), *_merged_in(one))}
    below = tuple(f"{first}/" for first in firsts)
    wanted = (Place(scope, name) for name in sorted(names) if name in firsts or name.startswith(below))
    held = {one.place: one for one in known}
    return list(_opened(store, (place for place in wanted if place not in but), held))


def recallers(
    store: Store, scope: str, sources: Iterable[str], *, but: Collection[Place] = ()
) -> list[Ledger]:
    """Those who recalled something from conversations of a scope, by their names."""
    found = recalling(store, scope, sources)
    return list(_opened(store, (place for place in found if place not in but), {}))


def is_related(one: Place, other: Place) -> bool:
    """Whether one of two conversations stands below the other, so that nobody need say so."""
    return is_below(one, other) or is_below(other, one) or one == other


def is_below(lower: Place, upper: Place) -> bool:
    """Whether a conversation is a fork of another, or was begun beside it, by its address."""
    return lower.scope == upper.scope and lower.conversation.startswith(f"{upper.conversation}/")


def merged_with(other: Place) -> Written:
    """What says that two conversations have items in common; it is written in both."""
    return Written(MERGED, Note(content={"conversation": other.conversation}, description="merged"))


def _known_by(ledger: Ledger) -> list[str]:
    """The name of a conversation, and of the one that it was forked from, which need not have any entries."""
    origin = ledger.workspace.origin
    return [ledger.place.conversation, *([] if origin is None else [origin.content["conversation"]])]


def _merged_in(ledger: Ledger) -> list[str]:
    """The names of those that a conversation was merged with."""
    notes = ledger.read_at(ledger.workspace.versions(MERGED))
    return [
        note.content["conversation"] for note in notes if isinstance(note, Note) and not is_tombstone(note)
    ]


def _first_of(name: str, names: Collection[str]) -> str:
    """The first conversation that one is below of, by its address; else its own name."""
    return next((upper for upper in _names_above(name) if upper in names), name)


def _names_above(name: str) -> list[str]:
    """What stands before each slash of a name, the shortest first."""
    return [name[:place] for place, letter in enumerate(name) if letter == "/"]


def _opened(store: Store, places: Iterable[Place], held: Mapping[Place, Ledger]) -> Iterator[Ledger]:
    for place in places:
        with suppress(Forgotten):  # it has its past from another that had this address before
            yield held.get(place) or shared_ledger(store, place)
