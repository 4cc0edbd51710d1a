"""Words and vectors together: an embedding moves leaves that words have found, as far as it can be trusted.

An embedding may be better than words, or worse than chance; nobody can tell beforehand. Two things speak for
it, and noise has neither. It agrees with words on what they found: then all of it counts. Or a few leaves
stand out of the rest, more than the best of so many would by chance: then these rise, whatever words say.
"""

from array import array
from collections.abc import Mapping, Sequence
from math import log, sqrt
from operator import mul

from quire.memory.ranking.scoring import Scores

RANKED = 200
"""So many of the best are compared: each takes a product of vectors, which is slow in plain Python."""

_FEWEST = 8
_BY_CHANCE = 0.3
"""An agreement with words that noise may have, or vectors that only know how words are spelled."""

_OUT_OF = 0.8
"""Of how far the best of so many stands out by chance: so far hardly one of noise does."""

_STANDING_OUT = 2.0
"""What counts how much more than what agrees."""


def unit(vector: Sequence[float]) -> "array[float]":
    """A vector of length one in the same direction; one without a direction stays as it is."""
    length = sqrt(sum(part * part for part in vector))
    return array("f", vector if not length else [part / length for part in vector])


def likeness(one: Sequence[float], other: Sequence[float]) -> float:
    """The cosine of two vectors of length one; vectors of another embedding are like nothing."""
    return sum(map(mul, one, other)) if len(one) == len(other) else 0.0


def fused(best: Sequence[tuple[int, float]], alike: Mapping[int, float], most: float) -> Scores:
    """New scores for leaves, from those by words and their likeness, both as deviations from their means."""
    both = [leaf for leaf, _ in best if leaf in alike]
    by_words = dict(best)
    if len(both) < _FEWEST:
        return by_words
    words, vectors = (
        _deviations([by_words[leaf] for leaf in both]),
        _deviations([alike[leaf] for leaf in both]),
    )
    if not words[1] or not vectors[1]:
        return by_words
    trusted = _trusted(words[0], vectors[0])
    moved = {leaf: most * words[1] * by for leaf, by in zip(both, trusted, strict=True)}
    return {leaf: score + moved.get(leaf, 0.0) for leaf, score in best}


def _trusted(words: Sequence[float], vectors: Sequence[float]) -> list[float]:
    """Of the deviations by vectors what is not by chance: as far as they agree with words, or stand out."""
    agreement = sum(map(mul, words, vectors)) / len(words)
    share = max(0.0, agreement - _BY_CHANCE) / (1 - _BY_CHANCE)
    usual = _OUT_OF * sqrt(2 * log(len(vectors)))
    return [share * by + _STANDING_OUT * max(0.0, by - usual) for by in vectors]


def _deviations(values: Sequence[float]) -> tuple[list[float], float]:
    """Each value's distance from the mean in standard deviations, and how much one is."""
    mean = sum(values) / len(values)
    spread = sqrt(sum((value - mean) ** 2 for value in values) / len(values))
    return [(value - mean) / spread if spread else 0.0 for value in values], spread
