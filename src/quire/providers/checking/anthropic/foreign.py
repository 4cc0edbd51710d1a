"""Fields that the API has not: it refuses them, where other services do not read what they do not know."""

from collections.abc import Collection

from quire.providers.checking.reading import Fields, short
from quire.providers.library_fields import OF_LIBRARIES

_OF_MESSAGES = {
    "user": frozenset(("role", "content")),
    "assistant": frozenset(("role", "content")),
    "system": frozenset(("role", "content", "output_config", "clear_at")),
}
_NAMELESS = frozenset(
    ("text", "image", "document", "search_result", "tool_result", "thinking", "redacted_thinking")
)
"""Blocks that have neither an id nor a name of their own."""

_TOLD = 5  # so many names are told
_NAMES = frozenset(("id", "name"))
_OF_OPENAI = frozenset(
    (
        *("response_format", "n", "seed", "stop", "user", "store", "logprobs", "top_logprobs", "logit_bias"),
        *("frequency_penalty", "presence_penalty", "max_completion_tokens", "parallel_tool_calls"),
        *("functions", "function_call", "tool_calls", "reasoning_effort", "stream_options"),
        "prompt_cache_key",
    )
)


def check_request_fields(body: Fields) -> None:
    """Note fields of a request to OpenAI. Others are trusted: new ones come with every beta."""
    _note(body, [name for name in body.names() if name in _OF_OPENAI], "a request")


def check_message_fields(message: Fields, role: str) -> None:
    """Note what a message has beside its content, such as what else an answer said."""
    known = _OF_MESSAGES[role]
    # A name that is not plain may not even be sent, which is a fault of its own.
    _note(message, [name for name in message.names() if name.isascii() and name not in known], "a message")


def check_block_fields(block: Fields, kind: str) -> None:
    """Note what libraries leave in a block. What else it has may be newer than this list."""
    refused: Collection[str] = OF_LIBRARIES | _NAMES if kind in _NAMELESS else OF_LIBRARIES
    _note(block, [name for name in block.names() if name in refused], "such a block")


def _note(fields: Fields, found: list[str], noun: str) -> None:
    """Note all of them as one fault, at the first: they have one cause."""
    if found:
        fields.add(found[0], "unknown_field", f"{noun} has no {', '.join(map(short, found[:_TOLD]))}")
