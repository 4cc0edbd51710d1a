"""Responses of clients: how they are read, and the events of a stream for callers that cannot await."""

import json
import logging
from collections.abc import AsyncGenerator, Iterator, Mapping
from typing import Any, Self

from quire.errors import WrongType
from quire.providers import StreamReader, chunk_of
from quire.session.aio import run

logger = logging.getLogger("quire.session")


def is_stream(response: Any) -> bool:
    """Whether a response comes in pieces: it can be iterated, and is no mapping or object itself."""
    if isinstance(response, Mapping) or hasattr(response, "model_dump"):
        return False
    return hasattr(response, "__iter__") or hasattr(response, "__aiter__")


def decoded(response: Any) -> Any:
    """A response as it is, or decoded if it is JSON text."""
    if not isinstance(response, str | bytes | bytearray):
        return response
    try:
        return json.loads(response)
    except (ValueError, RecursionError):
        what = f"{len(response):,} characters are no JSON, and so no response of a client"
        raise WrongType(f"{what}: a text is recorded by `session.assistant`") from None


def feed(reader: StreamReader, event: Any) -> None:
    chunk = chunk_of(event)
    if chunk is not None:
        reader.feed(chunk)


def log_refusal(refusal: Exception) -> None:
    logger.warning("a response that was broken off is not recorded: %s", type(refusal).__name__)


class Listening(Iterator[Any]):
    """The events of a stream, one by one. Its `with` block ends with the response recorded."""

    def __init__(self, events: AsyncGenerator[Any, None]) -> None:
        """The events are those of a plain stream, so that nothing is waited for."""
        self._events = events

    def __next__(self) -> Any:
        try:
            return run(self._events.__anext__())
        except StopAsyncIteration:
            raise StopIteration from None

    def close(self) -> None:
        """Record the part that has come, now."""
        run(self._events.aclose())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        try:
            self.close()
        except Exception as refusal:  # there is no caller to raise it to
            log_refusal(refusal)
