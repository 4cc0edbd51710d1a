"""Leaves come and go, in tables: what changes are they, their neighbours, and the sums over all."""

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import islice
from typing import NamedTuple

from quire.memory.index.holding import read_words
from quire.memory.index.lasting.effects import Standing, effects
from quire.memory.index.lasting.known import (
    Scope,
    made_source,
    made_transcript,
    numbered,
    standing_at,
    written,
)
from quire.memory.index.lasting.tables import ORDER_BITS, Asked, address
from quire.memory.index.lasting.writing import (
    New,
    add_up,
    count_terms,
    delete,
    insert,
    list_words,
    standing,
)
from quire.memory.leaf import Leaf
from quire.memory.ranking import Weights
from quire.memory.ranking.vectors import unit

BATCH = 256


class Come(NamedTuple):
    """A leaf that is put, with the number of its source."""

    leaf: Leaf
    source: int
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


def embed(asked: Asked, scope: Scope, leaves: Sequence[Leaf], vectors: Sequence[Sequence[float]]) -> None:
    """Put vectors to leaves that are there as they are given."""
    for leaf, vector in zip(leaves, vectors, strict=True):
        number = standing_at(asked, scope, leaf)
        if number is None:
            continue
        query = "SELECT vector IS NOT NULL FROM bodies WHERE number = ? AND body = ?"
        there = asked.rows(query, number, written(leaf))
        if there:
            asked.rows("UPDATE bodies SET vector = ? WHERE number = ?", unit(vector).tobytes(), number)
        if there and not there[0][0]:
            asked.rows("UPDATE scopes SET vectors = vectors + 1 WHERE number = ?", scope.number)


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
        read = read_words(leaf)
        told, questions = Counter([*read.named, *read.told]), Counter(read.asked)
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
        f" WHERE leaves.number >= transcripts.number << {ORDER_BITS}"
        f" AND leaves.number < (transcripts.number + 1) << {ORDER_BITS})",
        transcripts,
    )
    asked.rows(
        "DELETE FROM sources WHERE scope = ?"
        " AND NOT EXISTS (SELECT 1 FROM transcripts WHERE source = sources.number)",
        scope.number,
    )


def _change(asked: Asked, scope: Scope, gone: set[int], new: dict[int, New], weights: Weights) -> None:
    near = standing(asked, gone | new.keys())
    gone &= near.keys()
    if not gone and not new:
        return
    come = {
        number: Standing(one.leaf.stretch, one.words, one.vector is not None) for number, one in new.items()
    }
    effect = effects(near, gone, come, weights)
    terms = count_terms(asked, scope, effect)
    went = {number: near[number] for number in gone}
    list_words(asked, went, new, terms)
    delete(asked, scope, went, terms)
    insert(asked, scope, new, effect)
    add_up(asked, scope, effect)
    if any(number not in new or one.words.keys() - new[number].words for number, one in went.items()):
        asked.rows("UPDATE scopes SET shrunk = ? WHERE number = ?", scope.changes + 1, scope.number)
