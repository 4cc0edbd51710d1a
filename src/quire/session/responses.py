"""Whose response is it: the wire that a client's answer came over, told by its shape."""

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from quire.errors import WrongType


def wire_of(response: Any) -> str:
    """The name of the wire of a response, or of one event of a streamed one."""
    fields = _fields(response)
    kind, sort = fields.get("object"), fields.get("type")
    if kind in ("chat.completion", "chat.completion.chunk") or "choices" in fields:
        return "openai"
    if kind == "response" or (isinstance(sort, str) and sort.startswith("response.")):
        return "openai-responses"
    if sort == "message" or sort in _ANTHROPIC_EVENTS:
        return "anthropic"
    if "candidates" in fields or "usageMetadata" in fields or "usage_metadata" in fields:
        return "gemini"
    raise WrongType(
        f"{type(response).__name__} is no response of a client known here: name its wire with `provider=`"
    )


_ANTHROPIC_EVENTS = {
    *("message_start", "message_delta", "message_stop", "ping", "error"),
    *("content_block_start", "content_block_delta", "content_block_stop"),
}
_TELLING = ("object", "type", "choices", "candidates", "usage_metadata", "usageMetadata")


def is_stream(response: Any) -> bool:
    """Whether a response comes in pieces: it can be gone through, and is no mapping or object itself."""
    if isinstance(response, Mapping | str | bytes) or hasattr(response, "model_dump"):
        return False
    return hasattr(response, "__iter__") or hasattr(response, "__aiter__")


def read(response: Any) -> Any:
    """A response as it is, or what its JSON says where it is still a text."""
    if not isinstance(response, str | bytes | bytearray):
        return response
    try:
        return _decoded(response)
    except (ValueError, RecursionError):
        raise WrongType(f"{len(response):,} characters are no JSON, and so no response of a client") from None


def _decoded(text: str | bytes | bytearray) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError):
        # Half of a surrogate pair, where an answer was cut, is JSON for most: its wire mends it.
        return json.loads(text, parse_constant=_refused)


def _refused(_: str) -> None:
    raise ValueError


def is_same_model(asked: str | None, answered: str | None) -> bool:
    """Whether an answer can be of the model that was asked; many answer by a longer name, with a date."""
    if asked is None or answered is None:
        return True
    one, other = (name.rpartition("/")[2].rpartition(":")[2].lower() for name in (asked, answered))
    return one.startswith(other) or other.startswith(one)


def _fields(response: Any) -> Mapping[str, Any]:
    if isinstance(response, Mapping):
        return response  # pyright: ignore[reportUnknownVariableType]
    return {name: getattr(response, name) for name in _TELLING if getattr(response, name, None) is not None}
