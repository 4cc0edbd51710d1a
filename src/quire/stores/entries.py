"""What all stores do with entries: check what comes in, sum what is written, verify what is read.

The sum of an entry covers its scope, conversation, version, stream and body. So an entry that was changed,
moved or renumbered is noticed, in whatever way a store keeps it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from zlib import crc32

from quire.errors import Conflict, Damaged, InvalidValue, OutOfRange, StoreDamaged, WrongType
from quire.items import JSON, Item
from quire.stores.store import Entry, Place, Stored, checked_stream, place_at

Row = tuple[int, str, bytes, int | None]
"""Version, stream, body and sum, as a store read them: of any types, where the store is damaged.

The sum is `None` in a store that was written before there were sums."""

SEALED = "sealed"
"""The kind of an encrypted entry. The kind comes first in its body."""

_begins_sealed = re.compile(rb'\s*\{\s*"kind"\s*:\s*"sealed"\s*[,}]').match


def checked(place: Place, entries: Sequence[Entry], expected: int) -> Place:
    """The place, if the arguments of an append are what they should be."""
    if type(expected) is not int:
        raise WrongType(f"the expected version is a number, not {type(expected).__name__}")
    for stream, body in entries:
        checked_stream(stream)
        _check_body(body)
    return place_at(scope=place.scope, conversation=place.conversation)


def check_bodies(place: Place, bodies: Mapping[int, bytes], count: int) -> None:
    """Refuse bodies that cannot be put into a conversation of so many entries."""
    for version, body in bodies.items():
        _check_body(body)
        if not 1 <= version <= count:
            raise OutOfRange(f"{place} has no version {version}: it has {count}")


def _check_body(body: object) -> None:
    if not isinstance(body, bytes):
        raise WrongType(f"a body is bytes, not {type(body).__name__}")


def conflict(place: Place, expected: int, found: int) -> Conflict:
    """The error of an append that expects another version."""
    return Conflict(f"{place} is at version {found}, not at {expected}", expected, found)


def damaged(place: Place, version: int, reason: str) -> StoreDamaged:
    """The error of a conversation that is whole up to a version only."""
    message = f"{place} is damaged after version {version}: {reason}"
    return StoreDamaged(message, place=str(place), version=version)


def sum_of(text: str) -> int:
    """The sum of a name."""
    return crc32(text.encode())


def seed_of(place: Place) -> int:
    """What the sums of all entries of a conversation begin with."""
    return crc32(f"{place.scope}\0{place.conversation}\0".encode())


def entry_sum(seed: int, version: int, stream: str, body: bytes) -> int:
    """The sum of an entry."""
    return crc32(body, crc32(f"{version}\0{stream}\0".encode(), seed))


def summed(place: Place, entries: Iterable[Entry], expected: int) -> list[tuple[int, str, bytes, int]]:
    """The rows of entries that follow a version."""
    seed = seed_of(place)
    return [
        (version, stream, body, entry_sum(seed, version, stream, body))
        for version, (stream, body) in enumerate(entries, expected + 1)
    ]


def verified(place: Place, after: int, count: int, rows: Iterable[Row]) -> list[Stored]:
    """The entries of a conversation after a version up to its last; `StoreDamaged` unless all are whole."""
    seed, found = seed_of(place), list[Stored]()
    version = after
    for row in rows:
        if not _is_whole(seed, version + 1, row):
            raise damaged(place, version, f"entry {version + 1} is missing or not as it was written")
        version += 1
        found.append(Stored(version, row[1], row[2]))
    if version != count:
        raise damaged(place, min(version, count), f"{count:,} entries are counted, and {version:,} are there")
    return found


def whole(place: Place, rows: Iterable[Row]) -> list[Stored]:
    """Those entries of a conversation that are as they were written. Later rows replace earlier ones."""
    seed = seed_of(place)
    good = {row[0]: Stored(*row[:3]) for row in rows if _is_whole(seed, row[0], row)}
    return [good[version] for version in sorted(good)]


def _is_whole(seed: int, version: int, row: Row) -> bool:
    at, stream, body, known = row
    try:
        return at == version and (known is None or entry_sum(seed, version, stream, body) == known)
    except (TypeError, UnicodeError):  # a damaged database gives values of other types
        return False


def is_sealed(body: bytes) -> bool:
    """Whether an entry is encrypted."""
    return _begins_sealed(body) is not None


def are_clear(entries: Sequence[Entry]) -> bool:
    """Whether some entries are not encrypted. Only for those has a store to look at the first entry."""
    return not all(is_sealed(entry.body) for entry in entries)


def check_seal(place: Place, first: bytes) -> None:
    """Refuse entries in clear for a conversation that is encrypted, by its first entry."""
    if is_sealed(first):
        raise InvalidValue(f"{place} is sealed: open its store with its key to write to it")


def items_in(place: Place, stored: Sequence[Stored]) -> list[Item]:
    """The items of entries."""
    if stored and is_sealed(stored[0].body):
        raise InvalidValue(f"{place} is sealed: open its store with its key")
    try:  # one array is decoded faster than many items
        return list(JSON.decode(b"[" + b",".join(entry.body for entry in stored) + b"]"))
    except Damaged:
        return [_item_in(place, entry) for entry in stored]


def _item_in(place: Place, entry: Stored) -> Item:
    try:
        return JSON.decode_item(entry.body)
    except Damaged as fault:
        raise damaged(place, entry.version - 1, f"entry {entry.version} is no item: {fault}") from fault
