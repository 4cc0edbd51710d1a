"""What a conversation quotes from others of its scope, noted so that it is forgotten with them.

That somebody recalls from a source is noted for the scope before anything of it is told, and then it is
looked for again. So who forgets there either finds the note, or was done before and there is nothing to tell.
"""

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from itertools import chain

from quire.memory import Quote
from quire.session.families import pasts
from quire.session.ledger import Ledger
from quire.session.recalled import Rows, note_of, rows_noted, rows_of
from quire.session.spending import Spending
from quire.session.stepping import Stepping
from quire.session.workspace import Workspace, Written
from quire.stores.recalls import digest_of, link
from quire.stores.streams import RECALLED


class Quoting(Stepping):
    """The verb for what was recalled, and what is known of where it came from."""

    def may_tell(self, quotes: Sequence[Quote], parts: Collection[str] = ()) -> bool:
        """Whether what was recalled may be told here; if not, look for it again: it may be gone meanwhile.

        What is from other conversations is noted, so that it is forgotten with them. `parts` are the ids of
        those quotes that are not told whole.
        """
        if new := self._new_sources(rows_of(quotes, self.place.conversation)):
            self._link(new)
            return False
        rows = rows_of(quotes, self.place.conversation, parts)
        self._ledger.commit(lambda workspace: self._noted(rows, workspace))
        return True

    @cached_property
    def _recalls_from(self) -> set[str]:
        """The sources that were noted for the scope."""
        return set()

    def _new_sources(self, rows: Iterable[str]) -> set[str]:
        """From whom this recalls that nobody knows of yet."""
        ledger = self._outermost()[0]
        own = {digest_of(ledger.place.conversation)}
        return set(rows) - ledger.workspace.recalled.keys() - self._recalls_from - own

    def _link(self, sources: Collection[str]) -> None:
        """Say for the scope that this recalls from others.

        Whoever forgets there looks here from then on; what was forgotten before that is found no more.
        """
        ledger = self._outermost()[0]
        link(ledger.store, ledger.place, sources)
        self._recalls_from.update(sources)

    def _noted(self, rows: Rows, workspace: Workspace) -> list[Written]:
        note = note_of(rows, workspace.recalled, self._outermost()[0].workspace.recalled)
        return [] if note is None else [Written(RECALLED, note)]

    def _recalled(self) -> Rows:
        """What was recalled here, and before where a fork began: who merges it takes that along."""
        known = (self._ledger, *pasts(self._ledger))
        notes = (one.read_at(one.workspace.versions(RECALLED)) for one in known)
        return rows_noted(chain.from_iterable(notes))

    def _outermost(self) -> tuple[Ledger, Spending | None]:
        """The log that all of this is kept in, and for a draft what had been spent when it began."""
        return self._ledger, None
