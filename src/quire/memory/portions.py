"""What is put into an index at once: so little that whoever waits for it waits for a part of a second."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from quire.memory.leaf import Leaf
from quire.stores import Stored

MOST_AT_ONCE = 256
"""Entries, leaves or keys: more of them in one go save no time."""

_MOST_BYTES = 1 << 18


def portions(stored: Sequence[Stored]) -> Iterator[list[Stored]]:
    """Entries in order, few at a time, and fewer where they are long."""
    some, size = list[Stored](), 0
    for entry in stored:
        if some and (len(some) >= MOST_AT_ONCE or size + len(entry.body) > _MOST_BYTES):
            yield some
            some, size = [], 0
        some.append(entry)
        size += len(entry.body)
    if some:
        yield some


def portions_of_documents(leaves: Sequence[Leaf]) -> list[list[Leaf]]:
    """The leaves of documents, few at a time, but each document whole."""
    found = list[list[Leaf]]()
    for _, group in groupby(leaves, key=lambda leaf: leaf.transcript):
        document = list(group)
        if found and len(found[-1]) + len(document) <= MOST_AT_ONCE:
            found[-1] += document
        else:
            found.append(document)
    return found


def portions_of_keys(keys: Sequence[str]) -> list[Sequence[str]]:
    """Keys, few at a time; one portion where there are none."""
    return [keys[first : first + MOST_AT_ONCE] for first in range(0, max(len(keys), 1), MOST_AT_ONCE)]
