"""Messages of other formats, read on OpenAI's wires: what they say stands elsewhere than in a content.

Who reads them as messages without words loses a whole conversation in silence.
"""

from collections.abc import Mapping, Sized
from typing import Any, cast

from quire.errors import Damaged, cut
from quire.providers.openai_chat.states import BLOCKS, SIGNED
from quire.providers.openai_chat.wishes import THOUGHTS
from quire.providers.sheet import Json

_CONTENT = "content"
_KNOWN = frozenset(
    (
        *("role", "type", "id", "status", "phase", "name", "tool_name", "tool_call_id", "metadata"),
        *(_CONTENT, "refusal", "audio", "annotations", "tool_calls", "function_call"),
        *(*THOUGHTS, *BLOCKS, *SIGNED),
    )
)
"""Fields that are read, or that have no words in any format."""

_CALLED = "toolInvocations"
_SAID = ("parts", _CALLED, "images", "thinking")
"""Where other formats have what is said, also beside a content that is empty."""


def content_of(message: Json, path: str) -> Any:
    """The content of a message that says something; it may be nothing, and has to be there."""
    refuse_calls_elsewhere(message, path)
    elsewhere, is_there = _unread(message), _CONTENT in message
    if is_there:
        elsewhere = [name for name in elsewhere if name in _SAID and not message[_CONTENT]]
    if elsewhere or not is_there:
        hint = f"; its words may be under {cut(elsewhere[0])!r}" if elsewhere else ""
        raise Damaged(f"it has no content{hint}", f"{path}.{_CONTENT}")
    return message[_CONTENT]


def content_if_any(message: Json, path: str) -> Any:
    """The content of a message that may be without, as clients write one that is null."""
    return content_of(message, path) if _unread(message) else message.get(_CONTENT)


def refuse_calls_elsewhere(message: Json, path: str) -> None:
    """Raise where a message with words has calls in a field of another format, which would be lost."""
    if message.get(_CONTENT) and _may_say(_CALLED, message.get(_CALLED)):
        raise Damaged("its calls are here, in a form that nobody reads", f"{path}.{_CALLED}")


def _unread(message: Json) -> list[str]:
    """The fields of a message that may have words in them which nobody reads, lists first."""
    found = [name for name, value in message.items() if _may_say(name, value)]
    return sorted(found, key=lambda name: not isinstance(message[name], list))


def _may_say(name: object, value: object) -> bool:
    unknown = isinstance(name, str) and name not in _KNOWN
    return unknown and isinstance(value, str | list | tuple | Mapping) and len(cast("Sized", value)) > 0
