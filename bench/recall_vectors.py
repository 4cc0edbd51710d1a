"""Embeddings that need no model: a weak one and one of noise, which must do no harm, and one that knows."""

from collections.abc import Callable, Sequence
from functools import partial
from hashlib import blake2b
from random import Random
from zlib import crc32

from locomo import Conversation
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


def knowing(conversation: Conversation, own: float) -> Embed:
    """What a question and the turns that answer it have in common, and noise of their `own` beside it.

    No embedding is as good; it says how much of a good one arrives.
    """
    asked = {question.text for question in conversation.questions}
    texts = {message.id: message.text for message in conversation.messages}
    answers: dict[str, list[str]] = {}
    for question in conversation.questions:
        for turn in question.gold:
            answers.setdefault(texts[turn], []).append(question.text)

    def vector(text: str) -> list[float]:
        share = 1.0 if text in asked else own
        rows = [[share * part for part in _noise(text)], *map(_noise, answers.get(text, ()))]
        return [sum(column) for column in zip(*rows, strict=True)]

    return lambda texts: list(map(vector, texts))


EMBEDDINGS: dict[str, Callable[[Conversation], Embed]] = {
    "letters": lambda _: letters,
    "noise": lambda _: noise,
    "knowing": partial(knowing, own=0.3),
    "guessing": partial(knowing, own=4.0),
}
