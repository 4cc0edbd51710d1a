"""What a context leaves out: by number of items, by tokens, or by covering old turns with a summary."""

import logging
from collections.abc import Iterable
from typing import NamedTuple

from quire.bridges.videosdk.choosing import frame
from quire.errors import EditRefused, Irreducible
from quire.items import Hide, Item, Message, Span, Summary
from quire.state import Transcript, View, truncate
from quire.tokens import Counter
from quire.tokens.numbers import whole

logger = logging.getLogger("quire.bridges.videosdk")


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
        edit = truncate(view, tokens=allowed, counter=counter)
    except Irreducible as fault:
        stays = set(fault.parts)
        edit = hiding(view, (item for item in view if item.id not in stays and not _covers(item)))
        logger.warning("%d items must stay, and they are more than the limit of %d", len(stays), allowed)
    if edit is not None:
        transcript.append(edit)


def hiding(view: View, items: Iterable[Item]) -> Hide | None:
    """The edit that leaves these items out, if there are any."""
    spans = spans_over(view, items)
    return Hide(spans) if spans else None


def spans_over(view: View, items: Iterable[Item]) -> tuple[Span, ...]:
    """Items that are shown as spans of the log, neighbours together."""
    spans: list[Span] = []
    last = -2
    for position, item in sorted((view.position(item.id), item) for item in items):
        first = spans.pop().first if position == last + 1 else item.id
        spans.append(Span(first, item.id))
        last = position
    return tuple(spans)


class OldTurns(NamedTuple):
    """What lies before the last turns and may be told in a few words."""

    items: tuple[Item, ...]
    spans: tuple[Span, ...]

    def record(self, transcript: Transcript, text: str) -> bool:
        """Put a summary in their place, if all of it is still shown; whether that was so."""
        shown = {item.id for item in transcript.view}
        if not all(item.id in shown for item in self.items):
            logger.warning("what was summarised is no longer shown; the summary is not used")
            return False
        try:
            transcript.append(Summary(text, self.spans))
        except EditRefused as fault:
            logger.warning("the summary is not used: %s", fault)
            return False
        return True


def old_turns(view: View, keep: int) -> OldTurns | None:
    """All before the last `keep` turns of the user but the frame of the conversation, if there is anything.

    An earlier summary is part of it, with all that it stands for. Calls that wait are not, and the last
    message of the user is never.
    """
    shown = list(view)
    users = [index for index, item in enumerate(shown) if _is_users(item)]
    if len(users) <= whole(keep, "keep_recent_turns", least=0):
        return None
    cut = users[-keep] if keep else len(shown)
    recent = {item.id for item in (*shown[cut:], shown[users[-1]])}
    kept = _whole_groups(view, recent)
    old = tuple(item for item in shown[:cut] if item.id not in kept and not frame(item))
    if all(isinstance(item, Summary) for item in old):
        return None
    earlier = [span for item in old if isinstance(item, Summary) for span in item.spans]
    content = (item for item in old if not _covers(item))
    return OldTurns(old, (*earlier, *spans_over(view, content)))


def _whole_groups(view: View, recent: set[str]) -> set[str]:
    """The ids of all groups that reach into what is recent, or wait for a result."""
    kept: set[str] = set()
    for group in view.groups():
        ids = {item.id for item in group.items}
        if group.pending or ids & recent:
            kept |= ids
    return kept


def _is_users(item: Item) -> bool:
    return isinstance(item, Message) and item.role == "user"


def _covers(item: Item) -> bool:
    return isinstance(item, Summary) and bool(item.spans)
