"""What the entries of a conversation come to: the leaves of all its transcripts, and what is past by them."""

from collections.abc import Collection, Iterable, Sequence

from quire.items import Item
from quire.memory.binding import Binding
from quire.memory.index import Gone
from quire.memory.leaf import Leaf
from quire.stores import Place, Stored
from quire.stores.decoding import items_in
from quire.stores.streams import POOL, is_own


def forgotten_of(bindings: dict[str, Binding]) -> set[str]:
    """The ids of all that was forgotten of a conversation."""
    return set[str]().union(*(binding.forgotten for binding in bindings.values()))


def gone_of(name: str, keys: Collection[str], *, is_forgotten: bool = True) -> list[Gone]:
    """What is taken away of a conversation for some keys, if there are any."""
    return [Gone(source=name, keys=frozenset(keys), is_forgotten=is_forgotten)] if keys else []


def unlike(there: Iterable[Leaf], leaves: Iterable[Leaf]) -> set[str]:
    """The keys of leaves that are there and should not be, or are not there just as they should be."""
    before = {(leaf.transcript, leaf.key): leaf for leaf in there}
    now = {(leaf.transcript, leaf.key): leaf for leaf in leaves}
    return {at[1] for at in before.keys() | now.keys() if before.get(at) != now.get(at)}


def bound(
    place: Place, bindings: dict[str, Binding], stored: Sequence[Stored]
) -> tuple[list[Leaf], set[str]]:
    """The leaves that entries begin or change, and the ids of all that is past by them."""
    leaves: dict[tuple[str, str], Leaf] = {}
    for entry, item in _said(place, stored):
        if entry.stream not in bindings:
            bindings[entry.stream] = Binding(place.conversation, entry.stream)
        for leaf in bindings[entry.stream].take((item,)):
            leaves[leaf.transcript, leaf.key] = leaf
    gone = set[str]().union(*(binding.past.settle() for binding in bindings.values()))
    held = [leaf for leaf in leaves.values() if leaf.key not in bindings[leaf.transcript].past.gone]
    return held, gone


def _said(place: Place, stored: Sequence[Stored]) -> Iterable[tuple[Stored, Item]]:
    """What was said and kept, without what a session notes for itself."""
    said = [entry for entry in stored if not is_own(entry.stream) or entry.stream == POOL]
    return zip(said, items_in(place, said), strict=True)
