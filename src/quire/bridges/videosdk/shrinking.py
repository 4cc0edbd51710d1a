"""What a context leaves out, by number of items or by tokens."""

import logging

from quire.compactors import Room, TruncateOldest, leaving_out, record
from quire.errors import Irreducible
from quire.items import Item
from quire.state import Transcript, View, truncate
from quire.tokens import Counter

logger = logging.getLogger("quire.bridges.videosdk")

_TO_THE_LIMIT = TruncateOldest(floor=1.0)  # the framework's users say how much is left, and nothing more goes


class OneEach:
    """A counter for which every item is one."""

    key = "videosdk.items"

    def count(self, item: Item) -> int:
        """One."""
        return 1

    def total(self, counted: int) -> int:
        """As many as there are."""
        return counted


def shrink(transcript: Transcript, allowed: int, counter: Counter) -> None:
    """Leave out the oldest until what is shown is within the number; if it cannot be, all that may go."""
    view = transcript.view
    try:
        plan = _TO_THE_LIMIT.plan(view, Room(allowed, counter))
    except Irreducible:
        stays = _must_stay(view, allowed, counter)
        logger.warning("%d items must stay, and they are more than the limit of %d", len(stays), allowed)
        edit = leaving_out(view, stays)
        transcript.extend(() if edit is None else (edit,))
    else:
        if plan is not None:
            record(transcript, plan)


def _must_stay(view: View, allowed: int, counter: Counter) -> tuple[str, ...]:
    """All that keeps a view from being within the number; a compactor names what is to blame alone."""
    try:
        truncate(view, tokens=allowed, counter=counter)
    except Irreducible as fault:
        return fault.parts
    return tuple(item.id for item in view)
