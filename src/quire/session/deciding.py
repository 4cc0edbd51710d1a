"""Changes of a pool that hooks may refuse: decided on a state, told, and written only as they were told.

Others may write between the decision and its writing. Then it is decided again on what they wrote, and hooks
hear of what is new in it before anything is written.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from quire.items import Hide, Note, Span
from quire.session.events import Event
from quire.session.workspace import Workspace, Written
from quire.stores.streams import POOL


class Change(NamedTuple):
    """The notes that leave a pool, the one that comes, and what hooks hear of it before and after."""

    leaving: tuple[Note, ...] = ()
    coming: Note | None = None
    before: tuple[Event, ...] = ()
    after: tuple[Event, ...] = ()

    @property
    def written(self) -> list[Written]:
        """What is to be written for it."""
        came = [] if self.coming is None else [Written(POOL, self.coming)]
        return [*map(_out, self.leaving), *came]


Decide = Callable[[Workspace], Change]
"""What becomes of the pool, given the state that it is in."""


class Deciding:
    """A change on its way: it is made once hooks have heard of all of it as it is then."""

    def __init__(self, first: Change, decide: Decide) -> None:
        self._decide = decide
        self._heard: list[Event] = []
        self.change = first
        self.is_made = False

    def untold(self) -> Sequence[Event]:
        """What hooks are to hear now, before it is made; each thing once."""
        new = [event for event in self.change.before if event not in self._heard]
        self._heard += new
        return new

    def written(self, workspace: Workspace) -> list[Written]:
        """What is written to a state: nothing where hooks have yet to hear of some of it."""
        self.change = self._decide(workspace)
        self.is_made = all(event in self._heard for event in self.change.before)
        return self.change.written if self.is_made else []


def _out(note: Note) -> Written:
    return Written(POOL, Hide((Span(note.id, note.id),), extras={"key": note.key}))
