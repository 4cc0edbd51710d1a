"""What a conversation quotes from others of its scope, noted so that it is forgotten with them.

That somebody recalls from a source is noted for the scope before anything of it is told, and then it is
looked for again. So who forgets there either finds the note, or was done before and there is nothing to tell.
"""

from collections.abc import Collection, Iterable, Sequence

from quire.sections.quotes import Quote
from quire.session.drafting import Drafting
from quire.session.hooks import Hooks
from quire.session.ledger import Ledger
from quire.session.recalled import Rows, note_of, rows_of
from quire.session.workspace import Workspace, Written
from quire.session.writing import Redact
from quire.stores.recalls import link
from quire.stores.streams import RECALLED


class Quoting(Drafting):
    """The verb for what was recalled, and what is known of where it came from."""

    def __init__(self, ledger: Ledger, *, hooks: Hooks, redact: Redact | None = None) -> None:
        super().__init__(ledger, hooks=hooks, redact=redact)
        self._recalls_from: set[str] = set()  # as was noted for the scope

    def may_tell(self, quotes: Sequence[Quote], parts: Collection[str] = ()) -> bool:
        """Whether what was recalled may be told here; if not, look for it again: it may be gone meanwhile.

        What is from other conversations is noted, so that it is forgotten with them. `parts` are the ids of
        those quotes that are not told whole.
        """
        if new := self._new_sources(quotes):
            self._link(new)
            return False
        rows = rows_of(quotes, self.place.conversation, parts)
        self._ledger.commit(lambda workspace: self._noted(rows, workspace))
        return True

    def _new_sources(self, quotes: Iterable[Quote]) -> set[str]:
        """From whom this recalls that nobody knows of yet."""
        rows = rows_of(quotes, self.place.conversation)
        return rows.keys() - self._outermost()[0].workspace.recalled.keys() - self._recalls_from

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
