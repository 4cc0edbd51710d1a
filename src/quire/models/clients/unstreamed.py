"""What comes in one piece where a stream was asked for: an answer, an error, or the page of a gateway."""

import json
import re
from collections.abc import AsyncGenerator
from functools import partial
from typing import Any, cast

from quire.models.clients.bodies import words_in
from quire.models.clients.client import Json, NoResponse

_ANSWERED_UNDER = ("choices", "output", "content", "candidates", "error")
"""What is said under one of these is read with the wire, errors too."""

_LARGEST = 64 * 1024 * 1024
"""Bytes of a body; an answer with media may be long, and one without an end is none."""

_EVENTS = re.compile(rb"\s*(:|(data|event|id|retry)\s*:)")


async def body_of(http: Any) -> bytes | None:
    """All that came, where it is no stream of events. It can be read once more by whoever else wants it.

    Events are left to be read, also where they are called something else.
    """
    kind = str(http.headers.get("content-type") or "")
    if not kind or "event-stream" in kind.lower():
        return None
    chunks, came = http.aiter_bytes(), bytearray()
    is_stream = False
    async for chunk in chunks:
        came += chunk
        is_stream = _EVENTS.match(came) is not None
        if is_stream:
            break
        if len(came) > _LARGEST:
            raise NoResponse("more came than any answer has")
    http.aiter_bytes = partial(_again, bytes(came), chunks)
    return None if is_stream else bytes(came)


def response_in(body: bytes) -> Json:
    """The response that a body is; a text or a page is none, and what is cut is damaged JSON."""
    try:
        found: Any = json.loads(body)
    except ValueError:
        text = body.decode(errors="replace").strip()
        if not text or text[0] in "{[":
            raise
        raise NoResponse(words_in(text)) from None
    if not isinstance(found, dict):
        raise NoResponse(words_in(found))
    return answer_in(cast("Json", found))


def answer_in(response: Json) -> Json:
    """A response that may be an answer; one of nothing but words on what went wrong is none."""
    is_read = response.get("object") == "error" or any(response.get(name) for name in _ANSWERED_UNDER)
    if not is_read and (words := words_in(response)):
        raise NoResponse(words)
    return response


async def _again(
    came: bytes, rest: AsyncGenerator[bytes, None], chunk_size: int | None = None
) -> AsyncGenerator[bytes, None]:
    """What came, and then the rest; in pieces of any size, whatever is asked for."""
    yield came
    async for chunk in rest:
        yield chunk
