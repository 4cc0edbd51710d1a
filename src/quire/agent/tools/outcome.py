"""What became of one call of a tool."""

from typing import Literal

import msgspec

from quire.items import Content, Note

StopReason = Literal["completed", "error", "timeout", "refused", "cancelled"]

TOLD_BESIDE = "told_beside"
"""The attribute of an error with words for the model that its own words have no place for."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one call of a tool.

    `content` is what the model reads. `notes` are for the caller to keep, those with a key in the pool,
    others in the transcript; `routed` are those that were kept while the tool was still at work.
    """

    content: Content
    is_error: bool = False
    stop_reason: StopReason = "completed"
    notes: tuple[Note, ...] = ()
    routed: tuple[Note, ...] = ()
    seconds: float = 0.0


def failed(words: str, stop_reason: StopReason = "error") -> Outcome:
    """The outcome of a call that was never begun."""
    return Outcome(content=words, is_error=True, stop_reason=stop_reason)
