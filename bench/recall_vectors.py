"""Embeddings that need no model: a weak one and one of noise, to see that neither does harm."""

from collections.abc import Sequence
from hashlib import blake2b
from random import Random
from zlib import crc32

from quire.memory.embedding import Embed

_DIMENSIONS = 256
_RUN = 4


def letters(texts: Sequence[str]) -> list[list[float]]:
    """Runs of letters, hashed: what is spelled alike is alike."""
    return [_letters(text.lower()) for text in texts]


def _letters(text: str) -> list[float]:
    vector = [0.0] * _DIMENSIONS
    for at in range(max(1, len(text) - _RUN + 1)):
        hashed = crc32(text[at : at + _RUN].encode())
        vector[hashed % _DIMENSIONS] += 1.0 if hashed & 1 << 20 else -1.0
    return vector


def noise(texts: Sequence[str]) -> list[list[float]]:
    """The same text has the same vector, which says nothing."""
    return [_noise(text) for text in texts]


def _noise(text: str) -> list[float]:
    chance = Random(blake2b(text.encode()).digest())
    return [chance.gauss(0.0, 1.0) for _ in range(_DIMENSIONS)]


EMBEDDINGS: dict[str, Embed] = {"letters": letters, "noise": noise}
