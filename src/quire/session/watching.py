"""Who is told of what is forgotten, because he has read something and has yet to write what came of it."""

from collections.abc import Collection, Iterable
from typing import Protocol

from quire.items import Item
from quire.session.workspace import Workspace
from quire.stores.copies import Content


class Watcher(Protocol):
    """One who has read something, and has yet to write what came of it."""

    def hear(self, ids: Collection[str], words: Iterable[Content]) -> None:
        """Some items are forgotten, and these were their words."""
        ...

    def left_of(self, items: Iterable[Item], workspace: Workspace) -> list[Item]:
        """What may be written of items, given the state that they are written to."""
        ...
