"""Where a conversation rests: a scope, such as a tenant or a user, and a name within it."""

from typing import NamedTuple
from urllib.parse import quote, unquote

from quire.errors import InvalidValue, TooLarge, WrongType

MAX_NAME = 500
"""The longest scope, conversation or stream, in characters."""


class Place(NamedTuple):
    """The address of one conversation. Nothing of one scope is readable from another."""

    scope: str
    conversation: str

    def __str__(self) -> str:
        return f"{quote(self.scope, safe='')}/{quote(self.conversation, safe='')}"


def place_at(address: str | None = None, *, scope: str = "", conversation: str = "") -> Place:
    """The place of `"scope/conversation"`, or of the two given by name.

    An address without a slash is a conversation of the empty scope. A slash or a percent sign within a part
    is written as in a URL: `%2F`, `%25`.
    """
    if address is None:
        return Place(_checked(scope, "a scope"), _checked(conversation, "a conversation"))
    if scope or conversation:
        raise InvalidValue("a place is given by its address, or by scope and conversation: not by both")
    parts = _checked(address, "an address", 7 * MAX_NAME).split("/")
    if len(parts) > 2:
        raise InvalidValue("an address is scope/conversation: a slash within a part is written %2F")
    try:
        *before, name = (unquote(part, errors="strict") for part in parts)
    except UnicodeDecodeError:
        raise InvalidValue("an address escapes bytes that are not UTF-8") from None
    return Place(_checked("".join(before), "a scope"), _checked(name, "a conversation"))


def checked_stream(name: object) -> str:
    """The name of a stream, if it can be one."""
    if not _checked(name, "a stream"):
        raise InvalidValue("a stream needs a name")
    return str(name)


def _checked(name: object, what: str, longest: int = MAX_NAME) -> str:
    if not isinstance(name, str):
        raise WrongType(f"{what} is a text, not {type(name).__name__}")
    if len(name) > longest:
        raise TooLarge(f"{what} has {len(name):,} characters; {longest:,} are the most")
    if "\x00" in name or not name.isprintable():
        raise InvalidValue(f"{what} is made of printable characters")
    return name
