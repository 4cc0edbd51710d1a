"""What is said in a conversation, apart from what frames it.

It is a transcript of its own: what was rendered of one is gone on from, so that one more message costs one
more message, while a list of items would be rendered from the start each time.
"""

from collections.abc import Callable

import msgspec

from quire.bridges.videosdk.choosing import frame
from quire.bridges.videosdk.entry import not_before
from quire.items import Item, Summary
from quire.state import Transcript, View

Change = Callable[[Item], Item]
"""What is made of an item before it is said; of the same item always the same."""


class Speech:
    """The items of a view that are said, each as a change makes it."""

    __slots__ = ("_change", "_heard", "_latest", "_said")

    def __init__(self, change: Change) -> None:
        self._change = change
        self._heard: View | None = None
        self._begin()

    def of(self, view: View) -> View:
        """All that is said in a view; of one that only grew since the last time, just what is new is read."""
        added = None if self._heard is None else view.added_since(self._heard)
        if added is None:
            self._begin()
            added = list(view)
        self._heard = None  # until all of it is there
        for item in added:
            if not frame(item):
                self._say(self._change(item))
        self._heard = view
        return self._said.view

    def _begin(self) -> None:
        self._said = Transcript()
        self._latest = float("-inf")

    def _say(self, item: Item) -> None:
        """Say an item after all others: what it stands for, and when it was recorded, was settled before."""
        if isinstance(item, Summary) and item.spans:
            item = msgspec.structs.replace(item, spans=())
        placed = not_before(item, self._latest)
        self._said.append(placed)
        self._latest = placed.created_at
