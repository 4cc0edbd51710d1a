"""How answers end: where a service broke one off, there may be half a call in it, which nobody may run."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from quire.items import Item, Message
from quire.providers.pieces import whole_calls
from quire.providers.provider import Finish, error_in, words_in

HALF_CALL = "a call did not come whole"
"""The error of an answer that says it came to its end, and has half a call in it."""

_FAILURES = frozenset(
    (
        *("error", "error_finish", "network_error", "server_error", "internal_error", "upstream_error"),
        *("insufficient_system_resource", "abort", "aborted", "timeout", "failed"),
    )
)
_FAILED = "its service broke off the answer"


def spelled(reason: Any) -> str:
    """Why an answer ended, in the one spelling that tables have."""
    return words_in(reason).lower().replace("-", "_")


def failure_in(reason: Any) -> str | None:
    """The error that an answer ended by, where the reason for its end is a word for a failure."""
    word = spelled(reason)
    # It is none of who asked: by its kind, it may be worth another try.
    return error_in({"type": "server_error", "code": word, "message": _FAILED}) if word in _FAILURES else None


def settled(
    items: Sequence[Item], reason: Any, finish: Finish, error: str | None, *, lost: bool = False
) -> tuple[list[Item], str | None]:
    """The items that an answer leaves, by why it ended, and what went wrong with it.

    An answer without a reason was cut off. Under a reason that nobody knows calls stay which are whole: it
    may be a service's own word for an end like any other. Of an answer that is done also malformed calls
    stay, since the model is to hear of them. `lost` says that a call was left out already.
    """
    failure = failure_in(reason)
    unsure = error is not None or finish in ("length", "other")
    whole = whole_calls(items) if unsure else list(items)
    lost = lost or len(whole) < len(items)
    if lost and reason is not None and finish not in ("length", "refused"):
        failure = failure or HALF_CALL
    broke_off = reason is None or failure is not None
    return interrupted(whole) if broke_off else whole, error or failure


def interrupted(items: Sequence[Item]) -> list[Item]:
    """The items with the last message marked: it is where the answer broke off."""
    last = max((at for at, item in enumerate(items) if isinstance(item, Message)), default=None)
    return [replace(item, interrupted=True) if at == last else item for at, item in enumerate(items)]
