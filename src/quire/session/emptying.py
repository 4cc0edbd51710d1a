"""Which entries of a log lose their content when items are forgotten, and what stays of each.

What was made from an item goes with it: summaries that cover it, stubs that stand for it, notes and results
that repeat it, and what sections made for requests that were sent since it was there. What somebody said
about it in words of their own is another item, and has to be named too.
"""

from collections.abc import Iterator, Sequence

from msgspec import to_builtins

from quire.items import Hide, Item, Mask, Note, Summary, ToolResult
from quire.session.ledger import Ledger
from quire.session.receipts import is_receipt, lasting
from quire.session.streams import POOL, RECEIPTS, is_own
from quire.session.tombstones import holds, is_tombstone, texts_of, tombstone
from quire.session.workspace import Workspace, Written
from quire.state import Transcript
from quire.state.active import area_of_summary
from quire.state.shape import contains


class Emptying:
    """What is to be emptied in one log: items by their ids, and whatever holds one of some texts."""

    def __init__(self, workspace: Workspace, ids: set[str], texts: set[str]) -> None:
        self._ids = ids | _made_from(workspace, ids)
        self._texts = texts
        self._inherited = any(workspace.inherits(item_id) for item_id in ids)

    def left(self, recorded: Sequence[Written]) -> Iterator[tuple[int, Item]]:
        """What is to stand in the place of entries, by their versions."""
        since = self._since(recorded)
        stays = lasting(recorded)
        keys: dict[str | None, str] = {}
        for version, (stream, item) in enumerate(recorded, 1):
            if is_tombstone(item):
                continue
            if stream == POOL:
                left = self._left_in_pool(item, keys)
            elif stream == RECEIPTS:
                is_made = since is not None and version > since and version not in stays
                left = self._left_of_receipt(item, is_made)
            else:
                left = tombstone(item) if self._is_named(stream, item) else item
            if left is not item:
                yield version, left

    def _since(self, recorded: Sequence[Written]) -> int | None:
        """From which version on something may have been made of it; `None` if it was never here."""
        if self._inherited:
            return 0
        found = (version for version, (_, item) in enumerate(recorded, 1) if item.id in self._ids)
        return next(found, None)

    def _is_named(self, stream: str, item: Item) -> bool:
        repeats = not is_own(stream) and isinstance(item, ToolResult | Note) and self._repeats(item)
        return item.id in self._ids or repeats

    def _repeats(self, item: ToolResult | Note) -> bool:
        """Whether something holds the whole of a forgotten text: read from a pool, or given by a tool."""
        return any(text in own for own in texts_of(item) for text in self._texts)

    def _left_in_pool(self, item: Item, keys: dict[str | None, str]) -> Item:
        """What stays of a note, or of what took one out: who it replaced, but not under which key."""
        if isinstance(item, Hide):
            gone = any(span.first in self._ids for span in item.spans)
            return tombstone(item) if gone else item
        if not isinstance(item, Note):
            return item
        before = keys.get(item.key)
        keys[item.key] = item.id
        if item.id not in self._ids and not holds(item.content, self._texts):
            return item
        self._ids.add(item.id)  # what took it out names its key
        return tombstone(item, **({} if before is None else {"instead_of": before}))

    def _left_of_receipt(self, item: Item, is_made: bool) -> Item:
        if is_receipt(item):
            return item
        gone = is_made or item.id in self._ids or holds(to_builtins(item), self._texts)
        return tombstone(item) if gone else item


def emptied_notes(ledger: Ledger) -> set[str]:
    """The notes of a pool, also those that left it, that were forgotten."""
    return {note.id for note in ledger.read_at(ledger.workspace.versions(POOL)) if is_tombstone(note)}


def copied_notes(ledger: Ledger) -> set[str]:
    """The notes of a pool that were not."""
    return {note.id for note in ledger.read_at(ledger.workspace.versions(POOL)) if not is_tombstone(note)}


def _made_from(workspace: Workspace, ids: set[str]) -> set[str]:
    """The summaries that cover items, and the stubs that stand for them."""
    made: set[str] = set()
    for transcript in workspace.transcripts.values():
        view = transcript.view
        targets = [p for p in (view.log.find(item_id, view.end) for item_id in ids) if p is not None]
        for position, item in enumerate(transcript.recorded()):
            covers = isinstance(item, Summary) and _covers(transcript, position, targets)
            if covers or (isinstance(item, Mask) and item.target in ids):
                made.add(item.id)
    return made


def _covers(transcript: Transcript, summary: int, targets: Sequence[int]) -> bool:
    view = transcript.view
    area = area_of_summary(view.log, summary, view.end)
    return any(contains(area, target) for target in targets)
