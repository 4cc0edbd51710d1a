"""A store copied into another: every entry of every conversation, byte for byte, and compared at the end."""

from typing import TYPE_CHECKING

from quire.cli.progress import progress
from quire.errors import Conflict

if TYPE_CHECKING:
    from quire.stores import Place, Store

_MOST_NAMED = 5


def copied(source: "Store", target: "Store") -> dict[str, int]:
    """Copy what the target does not have, and say how much that was.

    A conversation is there whole or not at all, so that a copy that was broken off can be begun again. What
    is there and is another is `Conflict`, and then nothing is copied.
    """
    places = places_of(source)
    there = _there(source, target, places)
    sizes = {place: source.version(place) for place in places if place not in there}
    with progress(2 * sum(sizes.values())) as advance:
        entries = 0
        for place, size in sizes.items():
            entries += _copy(source, target, place)
            advance("copying", size)
        for place, size in sizes.items():
            _check_alike(source, target, place)
            advance("comparing", size)
    return {"copied": len(sizes), "entries": entries, "there": len(there)}


def places_of(store: "Store") -> "list[Place]":
    """Every conversation of every scope."""
    from quire.stores import Place

    return [Place(scope, name) for scope in store.scopes() for name in store.conversations(scope)]


def _there(source: "Store", target: "Store", places: "list[Place]") -> "set[Place]":
    """What the target has already; an error where that is not the same."""
    known = [place for place in places if target.version(place)]
    others = [str(place) for place in known if _rows(source, place) != _rows(target, place)]
    if others:
        more = f" and {len(others) - _MOST_NAMED:,} more" if len(others) > _MOST_NAMED else ""
        named = ", ".join(others[:_MOST_NAMED])
        raise Conflict(f"the target has other conversations of the same names: {named}{more}")
    return set(known)


def _copy(source: "Store", target: "Store", place: "Place") -> int:
    """Copy one conversation, and what is added to it meanwhile."""
    from quire.stores import Entry

    version = 0
    while stored := source.read(place, after=version):
        entries = [Entry(entry.stream, entry.body) for entry in stored]
        version = target.append(place, entries, expected=version)
    return version


def _check_alike(source: "Store", target: "Store", place: "Place") -> None:
    if _rows(source, place) != _rows(target, place):
        versions = f"version {source.version(place):,} here and {target.version(place):,} there"
        raise Conflict(f"{place} was written to while it was copied, and is not the same: {versions}")


def _rows(store: "Store", place: "Place") -> list[tuple[str, bytes]]:
    """What both have to have; in a file of lines a line break within a body is a space."""
    return [
        (entry.stream, entry.body.replace(b"\r", b" ").replace(b"\n", b" ").strip())
        for entry in store.read(place)
    ]
