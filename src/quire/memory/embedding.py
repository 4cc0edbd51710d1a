"""Embeddings: vectors from a function of the caller's, requested in batches and never twice for one text.

Only leaves that words have found are compared by vectors, so only these are embedded, when they are found
first. Whatever the function does wrong, what words found stays found.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from math import isfinite
from typing import TypeVar

from msgspec.structs import replace

from quire.errors import InvalidValue, WrongType
from quire.memory.found import Found
from quire.memory.index import Index, LeafFilter
from quire.memory.ranking import Question
from quire.memory.snapshots import SnapshotChanged

logger = logging.getLogger("quire.memory")

Vectors = Sequence[Sequence[float]]
Embed = Callable[[Sequence[str]], Vectors | Awaitable[Vectors]]
"""Texts to vectors, one for each; plain or async."""

_BATCH = 64
_LONGEST = 8_000
"""Characters of a text that are embedded: most models read no more."""

_loop: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("quire.memory.loop", default=None)
_Result = TypeVar("_Result")


class Embedding:
    """A function that embeds texts, and the search of an index with it."""

    def __init__(self, embed: Embed) -> None:
        if not callable(embed):
            raise WrongType(f"embed is a callable, not {type(embed).__name__}")
        self._embed = embed

    def search(self, index: Index, question: Question, limit: int, only: LeafFilter | None) -> Found:
        """What words find, moved by vectors; by words alone where embedding fails, and the reasons say so."""
        try:
            (vector,) = self.vectors((question.text,))
            asked = replace(question, vector=vector)
            found = index.search(asked, limit=limit, only=only)
            if bare := found.without_vectors:
                index.set_vectors(bare, self.vectors([leaf.text for leaf in bare]))
                found = index.search(asked, limit=limit, only=only)
            return found
        except SnapshotChanged:
            raise
        except Exception as fault:
            logger.warning("embedding failed, searched by words alone: %s", type(fault).__name__)
            found = index.search(question, limit=limit, only=only)
            found.note = f"by words alone, since the embedding failed ({type(fault).__name__})"
            return found

    def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text."""
        found: list[list[float]] = []
        for first in range(0, len(texts), _BATCH):
            batch = [text[:_LONGEST] for text in texts[first : first + _BATCH]]
            vectors = [list(map(float, vector)) for vector in _awaited(self._embed(batch))]
            if len(vectors) != len(batch) or not all(
                vector and all(map(isfinite, vector)) for vector in vectors
            ):
                raise InvalidValue(
                    f"embed must give {len(batch)} vectors of finite numbers for {len(batch)} texts"
                )
            found += vectors
        return found


def run_with_loop(loop: asyncio.AbstractEventLoop, work: Callable[[], _Result]) -> _Result:
    """Run some work in this thread; an async embedding is awaited in the loop, that of its client."""
    _loop.set(loop)
    return work()


def _awaited(given: Vectors | Awaitable[Vectors]) -> Vectors:
    if not isinstance(given, Awaitable):
        return given
    loop = _loop.get()
    if loop is not None and loop.is_running():
        return asyncio.run_coroutine_threadsafe(_await(given), loop).result()
    with ThreadPoolExecutor(1) as thread:  # this thread may have a running loop that waits for us
        return thread.submit(asyncio.run, _await(given)).result()


async def _await(given: Awaitable[Vectors]) -> Vectors:
    return await given
