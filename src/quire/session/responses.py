"""Reading the responses of clients, and iterating over the events of a stream without `await`."""

import json
import logging
from collections.abc import AsyncGenerator, Iterator, Mapping
from typing import Any, Self

from quire.errors import WrongType
from quire.providers import StreamReader, chunk_of
from quire.session.aio import run

logger = logging.getLogger("quire.session")


def is_stream(response: Any) -> bool:
    """Whether a response is a stream: it can be iterated, and is no mapping or model object."""
    if isinstance(response, Mapping) or hasattr(response, "model_dump"):
        return False
    return hasattr(response, "__iter__") or hasattr(response, "__aiter__")


def decoded(response: Any) -> Any:
    """Decode a response that is JSON text; return any other as it is."""
    if not isinstance(response, str | bytes | bytearray):
        return response
    try:
        return json.loads(response)
    except (ValueError, RecursionError):
        what = f"a response of {len(response):,} characters is not JSON"
        raise WrongType(f"{what}: record a text by `session.assistant`") from None


def feed(reader: StreamReader, event: Any) -> None:
    chunk = chunk_of(event)
    if chunk is not None:
        reader.feed(chunk)


def log_refusal(refusal: Exception) -> None:
    logger.warning("a response that was broken off is not recorded: %s", type(refusal).__name__)


class Listening(Iterator[Any]):
    """Yields the events of a stream. The end of its `with` block records the response."""

    def __init__(self, events: AsyncGenerator[Any, None]) -> None:
        """`events` must be those of a plain stream: then no step of the generator waits."""
        self._events = events

    def __next__(self) -> Any:
        try:
            return run(self._events.__anext__())
        except StopAsyncIteration:
            raise StopIteration from None

    def close(self) -> None:
        """Record the part of the response that has come."""
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
