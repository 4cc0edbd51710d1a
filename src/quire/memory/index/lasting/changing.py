"""Leaves come and go, in tables: what changes are they, their neighbours, and the sums over all."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from quire.memory.index.holding import Read, read_words
from quire.memory.index.lasting.effects import Effects, Standing, effects
from quire.memory.index.lasting.known import (
    Scope,
    Words,
    made_source,
    made_transcript,
    numbered,
    written,
)
from quire.memory.index.lasting.known import read_words as stored_words
from quire.memory.index.lasting.speaking import hear, unhear
from quire.memory.index.lasting.tables import ORDER_BITS, Asked, address
from quire.memory.leaf import Leaf
from quire.memory.ranking import Weights
from quire.memory.ranking.vectors import unit

BATCH = 256
_REACH = 6
"""So far away stand those who have a say in what a leaf's neighbours carry."""

_ADD_LEAF = "INSERT INTO leaves VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_ADD_TERM = (
    "INSERT INTO terms (scope, address, leaves, carriers) VALUES (?, ?, ?, ?) ON CONFLICT (scope, address)"
    " DO UPDATE SET leaves = terms.leaves + excluded.leaves, carriers = terms.carriers + excluded.carriers"
)


class Come(NamedTuple):
    """A leaf that is put, with the number of its source."""

    leaf: Leaf
    source: int
    vector: bytes | None


class New(NamedTuple):
    """A leaf that comes, with all that is kept of it."""

    leaf: Leaf
    source: int
    body: bytes
    read: Read
    words: Words
    vector: bytes | None


Places = dict[tuple[str, str], tuple[int, int]]
"""By source and transcript: the numbers of both."""


def put(
    asked: Asked,
    scope: Scope,
    leaves: Sequence[Leaf],
    vectors: Sequence[Sequence[float]] | None,
    weights: Weights,
) -> None:
    """Put leaves where they stand; who had their keys or stood in their places goes."""
    places: Places = {}
    for leaf in leaves:
        if (leaf.source, leaf.transcript) not in places:
            source = made_source(asked, scope.number, leaf.source)
            places[leaf.source, leaf.transcript] = source, made_transcript(asked, source, leaf.transcript)
    for first in range(0, len(leaves), BATCH):
        some = slice(first, first + BATCH)
        come, gone = _settled(asked, places, leaves[some], vectors and vectors[some])
        _change(asked, scope, gone, _changed(asked, come, gone), weights)


def _settled(
    asked: Asked, places: Places, batch: Sequence[Leaf], vectors: Sequence[Sequence[float]] | None
) -> tuple[dict[int, Come], set[int]]:
    """Who is there after all of a batch was put, one after another, and all who are there no more."""
    keyed = _there(asked, batch, places)
    key_at = {number: key for key, number in keyed.items()}
    come: dict[int, Come] = {}
    gone: set[int] = set()
    for nth, leaf in enumerate(batch):
        source, transcript = places[leaf.source, leaf.transcript]
        number, key = numbered(transcript, leaf.order), (transcript, address(leaf.key))
        for other in {keyed.get(key, number), number}:
            gone.add(other)
            come.pop(other, None)
            if other in key_at:
                del keyed[key_at.pop(other)]
        keyed[key], key_at[number] = number, key
        come[number] = Come(leaf, source, None if vectors is None else unit(vectors[nth]).tobytes())
    return come, gone


def _there(asked: Asked, batch: Sequence[Leaf], places: Places) -> dict[tuple[int, str], int]:
    """Where the keys of some leaves are now, by transcript."""
    found: dict[tuple[int, str], int] = {}
    keys: dict[int, list[str]] = {}
    for leaf in batch:
        keys.setdefault(places[leaf.source, leaf.transcript][0], []).append(address(leaf.key))
    for source, addresses in keys.items():
        query = "SELECT number, address FROM leaves WHERE source = ? AND address IN (??)"
        for number, key in asked.rows(query, source, addresses):
            found[number >> ORDER_BITS, key] = number
    return found


def _changed(asked: Asked, come: dict[int, Come], gone: set[int]) -> dict[int, New]:
    """Those that are not there already just as they come: another may have put them."""
    query = "SELECT number, body, vector FROM bodies WHERE number IN (??)"
    there = {number: (body, vector) for number, body, vector in asked.rows(query, list(come))}
    found: dict[int, New] = {}
    for number, (leaf, source, vector) in come.items():
        body = written(leaf)
        if there.get(number) == (body, vector):
            gone.discard(number)
            continue
        read = read_words(leaf.text)
        told, questions = Counter(read.told), Counter(read.asked)
        words = {word: (told[word], questions[word]) for word in {**told, **questions}}
        found[number] = New(leaf, source, body, read, words, vector)
    return found


def take_away(asked: Asked, scope: Scope, numbers: Collection[int], weights: Weights) -> None:
    """Take leaves away, and the names of sources and transcripts that have none any more."""
    left = iter(sorted(numbers))
    while batch := set(islice(left, BATCH)):
        _change(asked, scope, batch, {}, weights)
    transcripts = sorted({number >> ORDER_BITS for number in numbers})
    asked.rows(
        "DELETE FROM transcripts WHERE number IN (??) AND NOT EXISTS (SELECT 1 FROM leaves"
        f" WHERE leaves.number BETWEEN transcripts.number << {ORDER_BITS}"
        f" AND (transcripts.number + 1) << {ORDER_BITS})",
        transcripts,
    )
    asked.rows(
        "DELETE FROM sources WHERE scope = ?"
        " AND NOT EXISTS (SELECT 1 FROM transcripts WHERE source = sources.number)",
        scope.number,
    )


def _change(asked: Asked, scope: Scope, gone: set[int], new: dict[int, New], weights: Weights) -> None:
    near = _standing(asked, gone | new.keys())
    gone &= near.keys()
    if not gone and not new:
        return
    come = {
        number: Standing(one.leaf.stretch, one.words, one.vector is not None) for number, one in new.items()
    }
    effect = effects(near, gone, come, weights)
    terms = _count_terms(asked, scope, effect)
    _delete(asked, scope, {number: near[number] for number in gone}, terms)
    _insert(asked, scope, new, terms, effect)
    _add_up(asked, scope, effect)
    if gone - new.keys():
        asked.rows("UPDATE scopes SET shrunk = ? WHERE number = ?", scope.changes + 1, scope.number)


def _standing(asked: Asked, touched: Collection[int]) -> dict[int, Standing]:
    around = {number + step for number in touched for step in range(-_REACH, _REACH + 1)}
    query = (
        "SELECT leaves.number, stretch, words, vector IS NOT NULL FROM leaves"
        " JOIN bodies ON bodies.number = leaves.number WHERE leaves.number IN (??)"
    )
    rows = asked.rows(query, sorted(around))
    return {row[0]: Standing(row[1], stored_words(row[2]), bool(row[3])) for row in rows}


def _count_terms(asked: Asked, scope: Scope, effect: Effects) -> dict[str, int]:
    """Add to what is counted of terms; their numbers."""
    addresses = {word: address(word) for word in effect.words}
    counts = [
        (scope.number, at, effect.leaves[word], effect.carriers[word]) for word, at in addresses.items()
    ]
    asked.many(_ADD_TERM, counts)
    query = "SELECT address, number FROM terms WHERE scope = ? AND address IN (??)"
    numbers = dict[str, int](asked.rows(query, scope.number, list(addresses.values())))
    return {word: numbers[at] for word, at in addresses.items()}


def _delete(asked: Asked, scope: Scope, gone: dict[int, Standing], terms: dict[str, int]) -> None:
    if not gone:
        return
    unhear(asked, gone)
    pairs = [(terms[word], number) for number, one in gone.items() for word in one.words]
    asked.many("DELETE FROM postings WHERE term = ? AND leaf = ?", pairs)
    for table in ("leaves", "bodies"):
        asked.rows(f"DELETE FROM {table} WHERE number IN (??)", list(gone))
    asked.rows(
        "DELETE FROM terms WHERE leaves = 0 AND carriers = 0 AND scope = ? AND number IN (??)",
        scope.number,
        list(terms.values()),
    )


def _insert(asked: Asked, scope: Scope, new: dict[int, New], terms: dict[str, int], effect: Effects) -> None:
    if not new:
        return
    speakers = hear(asked, scope, [one.leaf.speaker for one in new.values()])
    asked.many(_ADD_LEAF, _rows(scope, new, speakers, effect))
    bodies = [(number, written(one.words), one.body, one.vector) for number, one in new.items()]
    asked.many("INSERT INTO bodies VALUES (?, ?, ?, ?)", bodies)
    listed = sorted(
        (terms[word], number, one.leaf.stretch, *times)
        for number, one in new.items()
        for word, times in one.words.items()
    )
    asked.many("INSERT INTO postings VALUES (?, ?, ?, ?, ?)", listed)


def _rows(
    scope: Scope, new: dict[int, New], speakers: dict[str, int], effect: Effects
) -> Iterator[tuple[object, ...]]:
    for number, (leaf, source, _, read, _, _) in new.items():
        yield (
            *(number, scope.number, source, address(leaf.key), leaf.stretch, leaf.at, leaf.importance),
            *(leaf.kind, speakers[leaf.speaker], int(read.asks), int(read.says_time)),
            *(len(read.told) + len(read.asked), effect.lengths[number], scope.changes + 1),
        )


def _add_up(asked: Asked, scope: Scope, effect: Effects) -> None:
    longer = [(by, scope.changes + 1, number) for number, by in effect.longer.items()]
    asked.many("UPDATE leaves SET length = length + ?, changed = ? WHERE number = ?", longer)
    asked.rows(
        "UPDATE scopes SET leaves = leaves + ?, vectors = vectors + ?, total = total + ? WHERE number = ?",
        effect.more_leaves,
        effect.more_vectors,
        effect.more_total,
        scope.number,
    )
