"""What tables have of a scope, and of the leaves in it: rows by name."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from quire.errors import OutOfRange
from quire.memory.index.lasting.sums import summed, unsummed
from quire.memory.index.lasting.tables import MOST_ORDER, ORDER_BITS, Asked, Row, address, stored
from quire.memory.leaf import Leaf
from quire.memory.ranking.postings import Times

Words = dict[str, Times]
"""The words of a leaf, each with how often it stands in statements and in questions."""

_encode = msgspec.msgpack.Encoder().encode
_words = msgspec.msgpack.Decoder(Words).decode
_leaf = msgspec.msgpack.Decoder(Leaf).decode


def written(one: Leaf | Words) -> bytes:
    """A leaf, or its words, as they are kept."""
    return summed(_encode(one))


def read_words(kept: bytes) -> Words:
    """The words of a leaf as they were."""
    return _words(unsummed(kept))


def read_leaf(kept: bytes) -> Leaf:
    """A leaf as it was."""
    return _leaf(unsummed(kept))


class Scope(NamedTuple):
    """A scope in one dialect, and what holds for all its leaves together."""

    number: int
    leaves: int
    vectors: int
    total: float
    changes: int
    """How often something changed."""
    shrunk: int
    """What that was when last something went, a leaf or a word of one."""


_SCOPE = "SELECT number, leaves, vectors, total, changes, shrunk FROM scopes WHERE address = ?"


def scope_of(asked: Asked, name: str, dialect: str) -> Scope | None:
    """A scope as it stands."""
    found = asked.rows(f"{_SCOPE} AND dialect = ?", name, dialect)
    return _scope(found[0]) if found else None


def scopes_of(asked: Asked, name: str) -> list[Scope]:
    """A scope in all dialects in which somebody had it indexed."""
    return [_scope(row) for row in asked.rows(_SCOPE, name)]


def _scope(row: Row) -> Scope:
    number, leaves, vectors, total, changes, shrunk = row
    return Scope(int(number), int(leaves), int(vectors), float(total), int(changes), int(shrunk))


def made_scope(asked: Asked, name: str, dialect: str) -> Scope:
    """A scope as it stands, which is there from now on."""
    asked.rows(
        "INSERT INTO scopes (address, dialect, leaves, vectors, total, changes, shrunk)"
        " VALUES (?, ?, 0, 0, 0.0, 0, 0)"
        " ON CONFLICT (address, dialect) DO NOTHING",
        name,
        dialect,
    )
    found = scope_of(asked, name, dialect)
    assert found is not None
    return found


def source_numbers(asked: Asked, scope: int, names: Iterable[str]) -> list[int]:
    """The numbers of those sources that are there."""
    addresses = [address(name) for name in names]
    found = asked.rows("SELECT number FROM sources WHERE scope = ? AND address IN (??)", scope, addresses)
    return [row[0] for row in found]


def made_source(asked: Asked, scope: int, name: str) -> int:
    """The number of a source, which is there from now on."""
    asked.rows(
        "INSERT INTO sources (scope, address, name) VALUES (?, ?, ?) ON CONFLICT (scope, address) DO NOTHING",
        scope,
        address(name),
        stored(name),
    )
    return source_numbers(asked, scope, (name,))[0]


def transcript_number(asked: Asked, source: int, name: str) -> int | None:
    """The number of a transcript, where it is there."""
    found = asked.rows(
        "SELECT number FROM transcripts WHERE source = ? AND address = ?", source, address(name)
    )
    return int(found[0][0]) if found else None


def made_transcript(asked: Asked, source: int, name: str) -> int:
    """The number of a transcript, which is there from now on."""
    asked.rows(
        "INSERT INTO transcripts (source, address, name) VALUES (?, ?, ?)"
        " ON CONFLICT (source, address) DO NOTHING",
        source,
        address(name),
        stored(name),
    )
    found = transcript_number(asked, source, name)
    assert found is not None
    return found


def numbered(transcript: int, order: int) -> int:
    """The number of the leaf at a place of a transcript."""
    if not 0 <= order < MOST_ORDER:
        raise OutOfRange(f"a leaf stands at a place from 0 to {MOST_ORDER - 1}, not at {order}")
    return transcript << ORDER_BITS | order


def standing_at(asked: Asked, scope: Scope, leaf: Leaf) -> int | None:
    """The number that a leaf has where it is there."""
    sources = source_numbers(asked, scope.number, (leaf.source,))
    transcript = transcript_number(asked, sources[0], leaf.transcript) if sources else None
    return None if transcript is None else numbered(transcript, leaf.order)


def bodies_of(asked: Asked, numbers: Sequence[int]) -> list[Leaf]:
    """Leaves whole, in the order in which their numbers are given."""
    rows = asked.rows("SELECT number, body FROM bodies WHERE number IN (??)", list(numbers))
    found = {number: read_leaf(body) for number, body in rows}
    return [found[number] for number in numbers]
