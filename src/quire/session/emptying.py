"""Which entries of a log lose their content when items are forgotten, and what stays of each.

What was made from an item goes with it: summaries that cover it or tell of it, stubs that stand for it, notes
and results that repeat it, and what sections made for requests that were sent since it was there. What
somebody said about it in words of their own is another item, and has to be named too.
"""

from collections.abc import Iterator

from msgspec import to_builtins

from quire.items import Hide, Item, Note
from quire.session.forgettable import may_go
from quire.session.ledger import Ledger
from quire.session.recalled import listed_of
from quire.session.receipts import lasting
from quire.session.traces import Read, Traces
from quire.stores.copies import Told
from quire.stores.streams import POOL, RECALLED, RECEIPTS
from quire.stores.tombstones import is_tombstone, tombstone


class Emptying:
    """What is to be emptied in one log: all that traces lead to, and what was made for requests since."""

    def __init__(self, log: Read, traces: Traces) -> None:
        self._recorded = log.recorded
        self._ids, self._texts = traces.ids_in(log), traces.texts
        self._gone_from = traces.gone_from
        self._is_inherited = any(map(log.workspace.inherits, self._ids))

    def left(self) -> Iterator[tuple[int, Item]]:
        """What is to stand in the place of entries, by their versions."""
        since = self._since()
        stays = lasting(self._recorded)
        keys: dict[str | None, str] = {}
        for version, (stream, item) in enumerate(self._recorded, 1):
            if is_tombstone(item) or not may_go(stream, item):
                continue
            if stream == POOL:
                left = self._left_in_pool(item, keys)
            elif stream == RECEIPTS:
                is_made = since is not None and version > since and version not in stays
                left = self._left_of_receipt(item, is_made)
            else:
                left = tombstone(item) if item.id in self._ids else item
            if left is not item:
                yield version, left

    def _since(self) -> int | None:
        """From which version on something may have been made of it; `None` if it was never here."""
        if self._is_inherited:
            return 0
        found = (version for version, entry in enumerate(self._recorded, 1) if self._is_source(*entry))
        return next(found, None)

    def _is_source(self, stream: str, item: Item) -> bool:
        """Whether something is one of the items, or says that one was recalled from elsewhere."""
        return item.id in self._ids or (stream == RECALLED and bool(listed_of(item, self._gone_from)))

    def _left_in_pool(self, item: Item, keys: dict[str | None, str]) -> Item:
        """What stays of a note, or of what took one out: who it replaced, but not under which key."""
        if isinstance(item, Hide):
            gone = item.id in self._ids or any(span.first in self._ids for span in item.spans)
            return tombstone(item) if gone else item
        if not isinstance(item, Note):
            return item
        before = keys.get(item.key)
        keys[item.key] = item.id
        if item.id not in self._ids:
            return item
        return tombstone(item, **({} if before is None else {"instead_of": before}))

    def _left_of_receipt(self, item: Item, is_made: bool) -> Item:
        gone = is_made or item.id in self._ids or self._texts.are_in(Told([to_builtins(item)]))
        return tombstone(item) if gone else item


def emptied_notes(ledger: Ledger) -> set[str]:
    """The notes of a pool, also those that left it, that were forgotten."""
    return {note.id for note in ledger.read_at(ledger.workspace.versions(POOL)) if is_tombstone(note)}


def copied_notes(ledger: Ledger) -> set[str]:
    """The notes of a pool that were not."""
    return {note.id for note in ledger.read_at(ledger.workspace.versions(POOL)) if not is_tombstone(note)}
