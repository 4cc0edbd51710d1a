"""What a context leaves out by number of items or by tokens, and the turns that it summarizes."""

import logging

from quire.compactors import Room, TruncateOldest, leaving_out, record
from quire.errors import Irreducible
from quire.items import Item, Summary
from quire.state import Transcript, View, is_user_message, structural, truncate
from quire.tokens import Counter, whole

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


def old_turns(view: View, keep: int) -> tuple[Item, ...]:
    """Return all before the last `keep` turns that can be summarized; nothing if only summaries can.

    Earlier summaries are part of it. Instructions, pins, pending calls and the last user message are not.
    """
    whole(keep, "keep", least=0)
    shown = list(view)
    users = [index for index, item in enumerate(shown) if is_user_message(item)]
    if len(users) <= keep:
        return ()
    cut = users[-keep] if keep else len(shown)
    recent = {item.id for item in (*shown[cut:], shown[users[-1]])}
    stays: set[str] = set()
    for group in view.groups():
        ids = {item.id for item in group.items}
        if group.pending or ids & recent:
            stays |= ids
    old = [item for item in shown[:cut] if item.id not in stays and _may_be_summarized(view, item)]
    return () if all(isinstance(item, Summary) for item in old) else tuple(old)


def _may_be_summarized(view: View, item: Item) -> bool:
    if structural(item) and not isinstance(item, Summary):
        return False
    return view.fate(item.id).state != "pinned"
