"""Messages of other formats, read on OpenAI's wires: what they say stands elsewhere than in a content.

Who reads them as messages without words loses a whole conversation in silence.
"""

from collections.abc import Mapping, Sized
from typing import Any, cast

from quire.errors import Damaged, cut
from quire.providers.json_values import entries_in, fields_in
from quire.providers.openai_chat.states import BLOCKS, SIGNED
from quire.providers.openai_chat.wishes import THOUGHTS
from quire.providers.provider import words_in
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
_PARTS = "parts"
ATTACHED = "experimental_attachments"
_SAID = (_PARTS, _CALLED, ATTACHED, "images", "thinking")
"""Where other formats have what is said, also beside a content that is empty."""


def content_of(message: Json, path: str) -> Any:
    """The content of a message that says something; it may be nothing, and has to be there."""
    refuse_elsewhere(message, path)
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


def refuse_elsewhere(message: Json, path: str) -> None:
    """Raise where a message with words would lose calls or files in a field of another format."""
    if not message.get(_CONTENT):
        return
    if _may_say(_CALLED, message.get(_CALLED)):
        raise Damaged("its calls are here, in a form that nobody reads", f"{path}.{_CALLED}")
    if any(map(_is_more_than_words, entries_in(message.get(_PARTS)))):
        raise Damaged("its calls or files are here, in a form that nobody reads", f"{path}.{_PARTS}")
    if _may_say(ATTACHED, message.get(ATTACHED)):
        raise Damaged("its files are here, in a form that nobody reads", f"{path}.{ATTACHED}")


def _is_more_than_words(part: Any) -> bool:
    """Whether a part of a message of the AI SDK is a file or a call; its words are in the content too."""
    kind = words_in(fields_in(part).get("type"))
    return kind in ("file", "dynamic-tool") or kind.startswith("tool-")


def _unread(message: Json) -> list[str]:
    """The fields of a message that may have words in them which nobody reads, lists first."""
    found = [name for name, value in message.items() if _may_say(name, value)]
    return sorted(found, key=lambda name: not isinstance(message[name], list))


def _may_say(name: object, value: object) -> bool:
    unknown = isinstance(name, str) and name not in _KNOWN
    return unknown and isinstance(value, str | list | tuple | Mapping) and len(cast("Sized", value)) > 0
