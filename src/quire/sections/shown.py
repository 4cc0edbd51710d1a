"""What a view shows and where it stands in the log: this room's one door to what is below views."""

from typing import NamedTuple

from quire.items import Hide, Item, Mask, Pin, Undo
from quire.state import Run, View

NEVER_SHOWN = (Hide, Mask, Pin, Undo)
"""Edits that are recorded and have no words."""


class Shown(NamedTuple):
    """An item as it is shown, its position in the log and that of its group's first item.

    A summary that stands for others has no position of its own among them, and is given one below zero.
    """

    item: Item
    position: int
    head: int


def last_shown(view: View, count: int) -> list[Shown]:
    """The last so many, oldest first. What comes before them is not touched."""
    found: list[list[Shown]] = []
    for run in view.runs(backwards=True):
        if count <= 0:
            break
        found.append(_shown(view, run, count))
        count -= len(found[-1])
    return [shown for several in reversed(found) for shown in several]


def _shown(view: View, run: Run, most: int) -> list[Shown]:
    log = view.log
    if run.stand_in is None:
        start = max(run.start, run.stop - most)
        return [Shown(item, p, log.head(p)) for p, item in enumerate(log.items(start, run.stop), start)]
    if run.start < run.stop:
        return [Shown(run.stand_in, run.start, log.head(run.start))]
    return [Shown(run.stand_in, -1 - run.start, -1 - run.start)]


def members(view: View, head: int) -> list[int]:
    """The positions of a group."""
    return view.log.group(head, view.end) if head >= 0 else [head]


def last_user_position(view: View) -> int | None:
    """The position of the message that the model is asked to answer."""
    return view.log.last_user(view.end)


def without_last(view: View) -> View | list[Item]:
    """All but the last item, which belongs to no call; a view, where the last is the last recorded."""
    if view.end <= view.shape.tail:
        return view[:-1]  # an edit came after it
    waiting = tuple(view.position(call.id) for call in view.pending())
    return View(view.log, view.shape, view.end - 1, waiting)
