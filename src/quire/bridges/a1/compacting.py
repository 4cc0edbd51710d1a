"""How contexts are kept short: A1's strategies, over the engine's."""

import logging

from quire.bridges.a1.conversation import Context
from quire.bridges.a1.items import is_part, is_shown
from quire.compactors import Room, TruncateOldest as Truncation, leaving_out
from quire.errors import Irreducible
from quire.items import Edit, Item
from quire.state import View, truncate
from quire.tokens import whole

logger = logging.getLogger("quire.bridges.a1")

_TO_THE_LIMIT = Truncation(floor=1.0)  # A1's users say how much is left, and nothing more goes


class Compact:
    """A strategy: it is given contexts by name, and gives them back. This one leaves them as they are."""

    def compact(self, contexts: dict[str, Context]) -> dict[str, Context]:
        """Make contexts shorter, in place or by putting others in their place."""
        return contexts


class TruncateOldest(Compact):
    """Leaves out the oldest messages of each context, down to a number.

    The cut falls where a turn of the user begins, or in the last turn between groups, so that no call is
    without its result; a few less than the number may be left. Instructions, calls that wait and the last
    message of the user stay.
    """

    def __init__(self, max_messages: int = 100) -> None:
        self.max_messages = whole(max_messages, "max_messages", least=1)

    def compact(self, contexts: dict[str, Context]) -> dict[str, Context]:
        """Leave out what is too much, in place."""
        for context in contexts.values():
            edits = _cut(context.view, self.max_messages)
            if edits:
                context.session.append(*edits, to=context.transcript)
        return contexts


class _EachMessage:
    """A counter for which every message of A1 is one, however many items it is."""

    key = "a1.messages"

    def count(self, item: Item) -> int:
        """One for the first item of a message."""
        return int(is_shown(item) and not is_part(item))

    def total(self, counted: int) -> int:
        """As many as there are."""
        return counted


_MESSAGES = _EachMessage()


def _cut(view: View, allowed: int) -> tuple[Edit, ...]:
    """The edit that leaves so many messages; if that cannot be, the one that leaves what must stay."""
    try:
        plan = _TO_THE_LIMIT.plan(view, Room(allowed, _MESSAGES))
    except Irreducible:
        stays = _must_stay(view, allowed)
        logger.warning("%d items must stay, and %d messages may: they are more", len(stays), allowed)
        edit = leaving_out(view, stays)
        return () if edit is None else (edit,)
    return () if plan is None else plan.edits


def _must_stay(view: View, allowed: int) -> tuple[str, ...]:
    """All that keeps a view from being within the number; a compactor names what is to blame alone."""
    try:
        truncate(view, tokens=allowed, counter=_MESSAGES)
    except Irreducible as fault:
        return fault.parts
    return tuple(item.id for item in view)
