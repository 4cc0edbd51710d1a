"""Going on from an earlier view of the same transcript, so that what was worked out is not done again."""

from collections.abc import Hashable
from typing import Any

from quire.items import Item
from quire.state.positions import first_position, positions
from quire.state.view import View

_KEPT = 4
"""Of one sort, such as renderings: one for each provider and model that is in use at a time."""


def memos(view: View) -> dict[Hashable, Any]:
    """What readers worked out from views of this transcript and keep, each under a key of its own."""
    return view.log.segments[-1].memos


def keep(view: View, key: Hashable, found: object) -> None:
    """Keep what was worked out, to be taken further; of each sort of thing the latest few are kept."""
    kept = memos(view)
    kept[key] = found
    alike = [known for known, value in list(kept.items()) if type(value) is type(found)]
    for older in alike[:-_KEPT]:
        kept.pop(older, None)


def was_edited(view: View) -> bool:
    """Whether what a view shows is other than what was said when it was said.

    An edit was recorded, or an item came late and is shown before something that was there already.
    """
    if first_position(view.log, "edits", 0, view.end) is not None:
        return True
    return any(_is_aside(view, position) for position in positions(view.log, "late", 0, view.end))


def _is_aside(view: View, position: int) -> bool:
    # The others were only given a later time, to be shown last as they came.
    segment = view.log.segment(position)
    return segment.placed[position] < segment.arrived[position]


def added_since(view: View, earlier: View) -> list[Item] | None:
    """What a view shows after all that an earlier one showed; none if it is not just longer."""
    same_log = earlier.log.segments[-1] is view.log.segments[-1]
    if not same_log or earlier.shape is not view.shape or not view.shape.tail <= earlier.end <= view.end:
        return None
    return view.log.items(earlier.end, view.end)
