"""What the stores on databases check alike: what comes in, and that a row of versions is whole."""

from collections.abc import Sequence

from quire.errors import Conflict, StoreDamaged
from quire.stores.place import Place, checked_stream, place_at
from quire.stores.store import Entry, Stored


def checked(place: Place, entries: Sequence[Entry]) -> tuple[Place, set[str]]:
    """A place and the streams of what is to be added to it, if they can be ones."""
    streams = {checked_stream(entry.stream) for entry in entries}
    return place_at(scope=place.scope, conversation=place.conversation), streams


def conflict(place: Place, expected: int, found: int) -> Conflict:
    """Another came first."""
    return Conflict(f"version {expected} of {place} was expected, and {found} found", expected, found)


def whole_row(place: Place, after: int, found: list[Stored]) -> list[Stored]:
    """Entries as they were read, if none is missing between the first and the last."""
    if found and (found[0].version, found[-1].version) != (after + 1, after + len(found)):
        raise StoreDamaged(f"entries of {place} are missing after version {after}")
    return found
