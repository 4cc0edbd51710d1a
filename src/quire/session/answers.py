"""Answers before they are recorded: whole or in pieces, words of somebody or nothing but an error."""

import logging
from collections.abc import AsyncIterator, Iterable
from typing import Any

from quire.errors import ModelFailed
from quire.providers import Parsed
from quire.session.reading import Reading
from quire.session.responses import is_stream

logger = logging.getLogger("quire.session")


def check_answer(parsed: Parsed) -> None:
    """An answer that is nothing but an error is nobody's words: there is nothing to record."""
    if parsed.error is not None and not parsed.items:
        # What a provider says of a fault may quote what was sent; it is for the caller alone.
        fault = ModelFailed("the provider answered with an error; its words are in the notes of this one")
        fault.add_note(parsed.error)
        raise fault
    if parsed.error is not None:
        logger.warning("an answer of %d items ended in an error", len(parsed.items))


def is_in_pieces(response: Any) -> bool:
    """Whether a response is a stream."""
    return not isinstance(response, Parsed) and is_stream(response)


async def awaited(events: Iterable[Any]) -> AsyncIterator[Any]:
    """A stream as one that is awaited."""
    for event in events:
        yield event


def take(reading: Reading, response: Any) -> None:
    """Read a response that came in one piece."""
    if isinstance(response, Parsed):
        reading.take_parsed(response)
    else:
        reading.take_whole(response)
