"""The log of a draft: it takes what is written until the block of the draft has ended."""

from collections.abc import Sequence

from quire.errors import StoreFailed
from quire.items import Item
from quire.session.ledger import Change, Ledger
from quire.session.workspace import Workspace, Written
from quire.stores import MemoryStore
from quire.stores.streams import USAGE


class DraftLedger(Ledger):
    """Entries in memory, and the log that they are merged into.

    Who writes when the block has ended is told so. But what he spent is spent, and counts where the draft was
    begun.
    """

    def __init__(self, left: Ledger, beginning: Workspace) -> None:
        self.left = left
        """The log that the draft is merged into."""
        self._is_over = False
        self._counted: set[str] = set()  # what was spent too late: who is told may try to write it alone
        super().__init__(MemoryStore(), left.place, beginning.child)
        self.fared = left.fared  # it is the same conversation

    def end(self) -> list[Written]:
        """All entries of the log; it takes no more. At once, so that none comes in between and is lost."""
        with self.lock:
            self._is_over = True
            return self.recorded()

    def check_goes_on(self) -> None:
        """`StoreFailed` where the block has ended."""
        if self._is_over:
            raise StoreFailed(
                f"the draft of {self.place} is over: what is written to it now would be kept nowhere"
            )

    def append(self, name: str, item: Item, *, otherwise: Change | None = None) -> Item:
        """Write one item that is no edit to a transcript."""
        with self.lock:
            self.check_goes_on()
            return super().append(name, item, otherwise=otherwise)

    def commit(self, change: Change, *, expected: int | None = None) -> list[Written]:
        """Write a change, and give what was written once it is kept."""
        with self.lock:
            if not self._is_over:
                return super().commit(change, expected=expected)
            return self._too_late(change(self.workspace))

    def _too_late(self, written: Sequence[Written]) -> list[Written]:
        spent = [entry for entry in written if entry.stream == USAGE]
        new = [entry for entry in spent if entry.item.id not in self._counted]
        if new:
            self.left.commit(lambda _: new)
            self._counted.update(entry.item.id for entry in new)
        if len(spent) < len(written):
            self.check_goes_on()
        return spent
