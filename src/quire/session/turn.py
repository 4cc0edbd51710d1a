"""One turn on its way to a context: what was asked, what sections gave, and what it leaves the history."""

from typing import NamedTuple

from quire.compactors import Room
from quire.context import Piece
from quire.errors import OverBudget
from quire.sections import Ask
from quire.session.since import Shown, Since
from quire.state import View
from quire.stores.streams import MAIN
from quire.tokens import Counter


class Turn(NamedTuple):
    """What was asked, what the sections had to show, and what tells whether something was forgotten since."""

    ask: Ask
    pieces: tuple[Piece, ...]
    since: Since

    @property
    def shown(self) -> Shown:
        """What the main transcript showed."""
        return Shown(self.ask.views[MAIN], self.since)

    @property
    def history(self) -> Piece | None:
        """The first that shows the main transcript: all of it, or what was chosen from it."""
        log = self.ask.views[MAIN].log
        return next((one for one in self.pieces if one.origin is not None and one.origin.log is log), None)

    def room_short_of(self, over: OverBudget, counter: Counter) -> Room | None:
        """What the history may take of a turn that is over its budget, while all else that it needs stays.

        None where all of the history could go, and it would still be too much.
        """
        history = self.history
        if history is None:
            return None
        stays = history.protected()
        tokens = counter.total(sum(map(counter.count, stays))) - over.over
        return Room(tokens, counter) if tokens > counter.total(0) else None


def counted(piece: Piece, counter: Counter) -> int:
    """The counts of all that a history had to show, added up."""
    content = piece.content
    if isinstance(content, View):
        return content.counted(counter)
    return sum(map(counter.count, content))
