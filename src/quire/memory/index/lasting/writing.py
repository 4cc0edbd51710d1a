"""What is written of leaves that come and go, table by table."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from quire.memory.index.holding import Read
from quire.memory.index.lasting.bearers import change, changes_of
from quire.memory.index.lasting.effects import Effects, Standing
from quire.memory.index.lasting.known import Scope, Words, read_words, written
from quire.memory.index.lasting.speaking import hear, unhear
from quire.memory.index.lasting.tables import Asked, address
from quire.memory.leaf import Leaf

_REACH = 6
"""So far away stand those who have a say in what a leaf's neighbours carry."""

_ADD_LEAF = "INSERT INTO leaves VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_ADD_TERM = (
    "INSERT INTO terms (scope, address, leaves, carriers) VALUES (?, ?, ?, ?) ON CONFLICT (scope, address)"
    " DO UPDATE SET leaves = terms.leaves + excluded.leaves, carriers = terms.carriers + excluded.carriers"
)


class New(NamedTuple):
    """A leaf that comes, with all that is kept of it."""

    leaf: Leaf
    source: int
    body: bytes
    read: Read
    words: Words
    vector: bytes | None


def standing(asked: Asked, touched: Collection[int]) -> dict[int, Standing]:
    """Some leaves and all around them, as far as they are there."""
    around = {number + step for number in touched for step in range(-_REACH, _REACH + 1)}
    query = (
        "SELECT leaves.number, stretch, words, vector IS NOT NULL FROM leaves"
        " JOIN bodies ON bodies.number = leaves.number WHERE leaves.number IN (??)"
    )
    rows = asked.rows(query, sorted(around))
    return {row[0]: Standing(row[1], read_words(row[2]), bool(row[3])) for row in rows}


def count_terms(asked: Asked, scope: Scope, effect: Effects) -> dict[str, int]:
    """Add to what is counted of terms; their numbers."""
    addresses = {word: address(word) for word in effect.words}
    counts = [
        (scope.number, at, effect.leaves[word], effect.carriers[word]) for word, at in addresses.items()
    ]
    asked.many(_ADD_TERM, counts)
    query = "SELECT address, number FROM terms WHERE scope = ? AND address IN (??)"
    numbers = dict[str, int](asked.rows(query, scope.number, list(addresses.values())))
    return {word: numbers[at] for word, at in addresses.items()}


def delete(asked: Asked, scope: Scope, gone: dict[int, Standing], terms: dict[str, int]) -> None:
    """Take leaves out of every table, and the terms that nobody has any more."""
    if not gone:
        return
    unhear(asked, gone)
    for table in ("leaves", "bodies"):
        asked.rows(f"DELETE FROM {table} WHERE number IN (??)", list(gone))
    asked.rows(
        "DELETE FROM terms WHERE leaves = 0 AND carriers = 0 AND scope = ? AND number IN (??)",
        scope.number,
        list(terms.values()),
    )


def list_words(asked: Asked, gone: dict[int, Standing], new: dict[int, New], terms: dict[str, int]) -> None:
    """Write down which leaves have which words."""
    goes = {number: one.words.keys() for number, one in gone.items()}
    comes = {number: (one.leaf.stretch, one.words) for number, one in new.items()}
    change(asked, changes_of(goes, comes, terms))


def insert(asked: Asked, scope: Scope, new: dict[int, New], effect: Effects) -> None:
    """Write leaves into every table."""
    if not new:
        return
    speakers = hear(asked, scope, [one.leaf.speaker for one in new.values()])
    asked.many(_ADD_LEAF, _rows(scope, new, speakers, effect))
    bodies = [(number, written(one.words), one.body, one.vector) for number, one in new.items()]
    asked.many("INSERT INTO bodies VALUES (?, ?, ?, ?)", bodies)


def _rows(
    scope: Scope, new: dict[int, New], speakers: dict[str, int], effect: Effects
) -> Iterator[tuple[object, ...]]:
    for number, (leaf, source, _, read, _, _) in new.items():
        yield (
            *(number, scope.number, source, address(leaf.key), leaf.stretch, leaf.at, leaf.importance),
            *(leaf.kind, speakers[leaf.speaker], int(read.asks), int(read.says_time)),
            *(len(read.told) + len(read.asked), effect.lengths[number], scope.changes + 1),
        )


def add_up(asked: Asked, scope: Scope, effect: Effects) -> None:
    """Add to the lengths of neighbours, and to the sums over all."""
    longer = [(by, scope.changes + 1, number) for number, by in effect.longer.items()]
    asked.many("UPDATE leaves SET length = length + ?, changed = ? WHERE number = ?", longer)
    asked.rows(
        "UPDATE scopes SET leaves = leaves + ?, vectors = vectors + ?, total = total + ? WHERE number = ?",
        effect.more_leaves,
        effect.more_vectors,
        effect.more_total,
        scope.number,
    )
