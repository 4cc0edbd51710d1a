"""Words and vectors together: an embedding moves leaves that words have found, as far as both agree.

An embedding may be better than words, or worse than chance; nobody can tell beforehand. So its weight is how
well it agrees with words on what they found: where it has nothing to do with them it moves nothing.
"""

from array import array
from collections.abc import Mapping, Sequence
from math import sqrt
from operator import mul

from quire.memory.ranking.scoring import Scores

RANKED = 200
"""So many of the best are compared: each takes a product of vectors, which is slow in plain Python."""

_FEWEST = 8
_BY_CHANCE = 0.3
"""An agreement with words that noise may have, or vectors that only know how words are spelled."""


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
    agreement = sum(map(mul, words[0], vectors[0])) / len(both)
    weight = most * max(0.0, agreement - _BY_CHANCE) / (1 - _BY_CHANCE)
    moved = {leaf: weight * words[1] * by for leaf, by in zip(both, vectors[0], strict=True)}
    return {leaf: score + moved.get(leaf, 0.0) for leaf, score in best}


def _deviations(values: Sequence[float]) -> tuple[list[float], float]:
    """Each value's distance from the mean in standard deviations, and how much one is."""
    mean = sum(values) / len(values)
    spread = sqrt(sum((value - mean) ** 2 for value in values) / len(values))
    return [(value - mean) / spread if spread else 0.0 for value in values], spread
