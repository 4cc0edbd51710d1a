"""Vectors from a callable of the user's: asked in batches, for few texts at a time, and never for one twice.

Only what words have found is compared by vectors, so only that is embedded, when it is found first. Whatever
a callable does wrong, what words found stays found.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from math import isfinite
from threading import Thread
from typing import Any, TypeVar

from quire.errors import InvalidValue, WrongType
from quire.memory.index import Found, Index, Only, Question

logger = logging.getLogger("quire.memory")

Vectors = Sequence[Sequence[float]]
Embed = Callable[[Sequence[str]], Vectors | Awaitable[Vectors]]
"""Texts to vectors, one for each, in one go or to be awaited."""

_home: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("quire.memory.home", default=None)
_Result = TypeVar("_Result")

_BATCH = 64
_LONGEST = 8_000
"""Letters of a text that are embedded: most models read no more."""


class Embedding:
    """A callable, and how an index is asked with it."""

    def __init__(self, embed: Embed) -> None:
        if not callable(embed):
            raise WrongType(f"what embeds is a callable, not {type(embed).__name__}")
        self._embed = embed

    def search(self, index: Index, question: Question, limit: int, only: Only | None) -> Found:
        """What words find, moved by vectors; by words alone, and said so, where there are none."""
        try:
            (vector,) = self.vectors((question.text,))
            found = index.search(question.with_vector(vector), limit=limit, only=only)
            if found.lacking:
                index.set_vectors(found.lacking, self.vectors([leaf.text for leaf in found.lacking]))
                found = index.search(question.with_vector(vector), limit=limit, only=only)
            return found
        except Exception as fault:
            logger.warning("an embedding failed, and words alone were asked: %s", type(fault).__name__)
            return index.search(question, limit=limit, only=only).noting(
                f"by words alone, since the embedding failed ({type(fault).__name__})"
            )

    def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text."""
        found: list[list[float]] = []
        for first in range(0, len(texts), _BATCH):
            batch = [text[:_LONGEST] for text in texts[first : first + _BATCH]]
            vectors = [list(map(float, vector)) for vector in _waited(self._embed(batch))]
            if len(vectors) != len(batch) or not all(
                vector and all(map(isfinite, vector)) for vector in vectors
            ):
                raise InvalidValue(f"{len(batch)} texts are embedded as {len(batch)} rows of numbers")
            found += vectors
        return found


def at_home(home: asyncio.AbstractEventLoop, work: Callable[[], _Result]) -> _Result:
    """Do some work in a thread whose own this is; what is to be awaited in it is awaited in a loop.

    That is the loop from which it was asked for: clients that are awaited belong to one.
    """
    _home.set(home)
    return work()


def _waited(given: Vectors | Awaitable[Vectors]) -> Vectors:
    if not isinstance(given, Awaitable):
        return given
    home = _home.get()
    if home is not None and home.is_running():
        return asyncio.run_coroutine_threadsafe(_awaited(given), home).result()
    return _in_a_loop_of_its_own(given)


def _in_a_loop_of_its_own(given: Awaitable[Vectors]) -> Vectors:
    """In a thread: this one may have a loop that runs, and waits for us."""
    answers: list[Any] = []

    def work() -> None:
        try:
            answers.append(asyncio.run(_awaited(given)))
        except Exception as fault:
            answers.append(fault)

    thread = Thread(target=work)
    thread.start()
    thread.join()
    if isinstance(answers[0], Exception):
        raise answers[0]
    vectors: Vectors = answers[0]
    return vectors


async def _awaited(given: Awaitable[Vectors]) -> Vectors:
    return await given
