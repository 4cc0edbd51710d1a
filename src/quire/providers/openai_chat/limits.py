"""OpenAI Chat Completions: how much of a kind one message or one request takes."""

from collections.abc import Iterator, Sequence

from quire.errors import InvalidValue

MOST_CALLS = 128
"""Calls of one message."""

LONGEST_ID = 40
"""Characters of a call's id. OpenAI itself takes more by now, Azure and others on this wire do not."""

_MOST_TOOLS = 128


def in_messages(length: int) -> Iterator[slice]:
    """So many calls in a row, cut to what one message holds."""
    return (slice(start, start + MOST_CALLS) for start in range(0, length, MOST_CALLS))


def refuse_too_many(tools: Sequence[object]) -> None:
    """Raise if a request cannot declare so many tools: which of them may go is for the caller to say."""
    if len(tools) > _MOST_TOOLS:
        raise InvalidValue(f"{len(tools)} tools: Chat Completions takes at most {_MOST_TOOLS} in a request")
