"""Embeddings: vectors from a function of the caller, in batches and never twice for one text.

Vectors only re-rank leaves that a search by words has found, so a leaf is embedded when it is first found. If
the function fails, the search by words still has a result.
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
from quire.memory.hits import SearchResult
from quire.memory.index import Index, LeafFilter
from quire.memory.ranking import Question
from quire.memory.snapshots import SnapshotChanged

logger = logging.getLogger("quire.memory")

Vectors = Sequence[Sequence[float]]
Embed = Callable[[Sequence[str]], Vectors | Awaitable[Vectors]]
"""Texts to vectors, one for each; plain or async."""

_BATCH = 64
_LONGEST = 8_000
"""Characters of a text that are embedded; most models read no more."""

_loop: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("quire.memory.loop", default=None)
_Result = TypeVar("_Result")


class Embedding:
    """A function that embeds texts, and the search of an index with it."""

    def __init__(self, embed: Embed) -> None:
        if not callable(embed):
            raise WrongType(f"embed must be a callable, not {type(embed).__name__}")
        self._embed = embed

    def search(self, index: Index, question: Question, limit: int, only: LeafFilter | None) -> SearchResult:
        """Search by words and re-rank by vectors. If embedding fails, the reasons say so."""
        try:
            (vector,) = self.vectors((question.text,))
            question_vector = replace(question, vector=vector)
            result = index.search(question_vector, limit=limit, only=only)
            if missing := result.without_vectors:
                index.set_vectors(missing, self.vectors([leaf.text for leaf in missing]))
                result = index.search(question_vector, limit=limit, only=only)
            return result
        except SnapshotChanged:
            raise
        except Exception as fault:
            logger.warning("embedding failed, searched by words alone: %s", type(fault).__name__)
            result = index.search(question, limit=limit, only=only)
            result.note = f"by words alone, since the embedding failed ({type(fault).__name__})"
            return result

    def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text."""
        all_vectors: list[list[float]] = []
        for first in range(0, len(texts), _BATCH):
            batch = [text[:_LONGEST] for text in texts[first : first + _BATCH]]
            vectors = [list(map(float, vector)) for vector in _awaited(self._embed(batch))]
            if len(vectors) != len(batch) or not all(
                vector and all(map(isfinite, vector)) for vector in vectors
            ):
                raise InvalidValue(
                    f"embed must give {len(batch)} vectors of finite numbers for {len(batch)} texts"
                )
            all_vectors += vectors
        return all_vectors


def run_with_loop(loop: asyncio.AbstractEventLoop, work: Callable[[], _Result]) -> _Result:
    """Run work in this thread, and await async embeddings in the loop, to which their client belongs."""
    _loop.set(loop)
    return work()


def _awaited(vectors: Vectors | Awaitable[Vectors]) -> Vectors:
    if not isinstance(vectors, Awaitable):
        return vectors
    loop = _loop.get()
    if loop is not None and loop.is_running():
        return asyncio.run_coroutine_threadsafe(_await(vectors), loop).result()
    with ThreadPoolExecutor(1) as thread:  # this thread may have a running loop
        return thread.submit(asyncio.run, _await(vectors)).result()


async def _await(vectors: Awaitable[Vectors]) -> Vectors:
    return await vectors
