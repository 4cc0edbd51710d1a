"""What a summary is to stand for: a stretch of what is shown, with earlier summaries and what they cover."""

from collections.abc import Iterable
from typing import NamedTuple

from quire.items import Hide, Item, Message, Span, Summary
from quire.state import View, checked_view, spans_over, structural
from quire.tokens import whole


class Stretch(NamedTuple):
    """Items to be told in a few words, and the spans that the words will stand for."""

    items: tuple[Item, ...]
    spans: tuple[Span, ...]


def stretch_over(view: View, items: Iterable[Item]) -> Stretch:
    """The stretch of these items, which are shown and stand in order."""
    told = tuple(items)
    return Stretch(told, spans_over(view, told))


def old_turns(view: View, keep: int) -> Stretch | None:
    """All before the last `keep` turns of the user but the frame of the conversation, if there is anything.

    An earlier summary is part of it. Pins and calls that wait are not, and the last message of the user is
    never.
    """
    whole(keep, "keep", least=0)
    shown = list(checked_view(view))
    users = [index for index, item in enumerate(shown) if isinstance(item, Message) and item.role == "user"]
    if len(users) <= keep:
        return None
    cut = users[-keep] if keep else len(shown)
    stays = _whole_groups(view, {item.id for item in (*shown[cut:], shown[users[-1]])})
    old = [item for item in shown[:cut] if item.id not in stays and may_be_told(view, item)]
    return stretch_over(view, old) if any(not isinstance(item, Summary) for item in old) else None


def leaving_out(view: View, stays: Iterable[str]) -> Hide | None:
    """The edit that leaves out all but these items and what stands for others, if there is anything."""
    kept = frozenset(stays)
    spans = spans_over(view, (i for i in view if i.id not in kept and not isinstance(i, Summary)))
    return Hide(spans) if spans else None


def may_be_told(view: View, item: Item) -> bool:
    """Whether an item may go into a summary: pins and the frame may not, earlier summaries may."""
    if structural(item) and not isinstance(item, Summary):
        return False
    return view.fate(item.id).state != "pinned"


def _whole_groups(view: View, recent: set[str]) -> set[str]:
    """The ids of all groups that reach into what is recent, or wait for a result."""
    kept: set[str] = set()
    for group in view.groups():
        ids = {item.id for item in group.items}
        if group.pending or ids & recent:
            kept |= ids
    return kept
