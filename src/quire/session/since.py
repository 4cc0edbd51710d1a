"""Whether something was forgotten since one read: what was read before is neither written nor sent any more.

Who forgets empties what is on the record. What somebody has read and has yet to write, or to tell a model, is
on no record. So it goes along with what tells how much had been forgotten when it was read, and is dropped,
or read again, once that is not all any more.
"""

from collections.abc import Iterator
from typing import NamedTuple

from quire.session.draft_ledger import DraftLedger
from quire.session.ledger import Ledger
from quire.state import View


class Since:
    """How much had been forgotten in a conversation when this was made: before anything is read, then."""

    def __init__(self, ledger: Ledger) -> None:
        # What a draft began with is forgotten where it began.
        self._counts = {one: one.workspace.forgotten for one in _with_those_left(ledger)}

    @property
    def is_all(self) -> bool:
        """Whether nothing more was forgotten, as far as is known here, nor is being.

        Entries are emptied between two that say so: until the second nobody knows how far that came.
        """
        states = ((one.workspace, count) for one, count in self._counts.items())
        return all(state.forgotten == count and not state.forgetting for state, count in states)

    def is_still_all(self) -> bool:
        """The same, once what others have written is taken in."""
        for ledger in self._counts:
            ledger.catch_up()
        return self.is_all


class Shown(NamedTuple):
    """What a transcript showed, and what tells whether something was forgotten since."""

    view: View
    since: Since


def _with_those_left(ledger: Ledger) -> Iterator[Ledger]:
    yield ledger
    while isinstance(ledger, DraftLedger):
        ledger = ledger.left
        yield ledger
