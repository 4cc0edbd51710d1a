"""What was forgotten while calls were run: what they give may still tell of it.

Who forgets empties what is on the record. What a tool has read and nobody has written yet is on no record, so
it is looked at when it is written. By then what was forgotten is empty; its words are those of the state from
when the calls began. Where they are not known, nobody can tell what tells of it, and nothing is kept.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from quire.items import Item, Note, ToolResult
from quire.session.ledger import Ledger
from quire.session.recalled import listed_of, lists
from quire.session.workspace import Workspace
from quire.stores.streams import FORGOTTEN, RECALLED
from quire.stores.tombstones import is_tombstone, texts_of, tombstone


class Meanwhile:
    """Remembers from when on something was read, and empties what was forgotten since."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._before = ledger.workspace  # another takes its place when something is forgotten
        self._since = ledger.workspace.forgotten

    def left_of(self, items: Iterable[Item], workspace: Workspace) -> list[Item]:
        """What may be written of items, given the state that they are written to."""
        if workspace.forgotten == self._since:
            return list(items)
        gone = _Gone(self._before, self._said(workspace), self._ledger.read_at(workspace.versions(RECALLED)))
        return [tombstone(item) if gone.is_told_by(item) else item for item in items]

    def _said(self, workspace: Workspace) -> list[Mapping[str, Any]]:
        """What was noted since of what is forgotten."""
        notes = self._ledger.read_at(workspace.versions(FORGOTTEN)[self._since :])
        return [note.content for note in notes if isinstance(note, Note) and "ids" in note.content]


class _Gone:
    """What was forgotten, by the words that were known of it and the ids that it is listed by."""

    def __init__(
        self, before: Workspace, said: Iterable[Mapping[str, Any]], recalled: Iterable[Item]
    ) -> None:
        self._ids = set[str]()
        sought = set[str]()
        for content in said:
            self._ids.update(content["ids"])
            if not content.get("elsewhere"):
                sought.update(set(content["ids"]).difference(content.get("made", ())))
        self._listed = self._ids.union(*(listed_of(note, self._ids) for note in recalled))
        known = {item.id: texts_of(item) for item in _items_in(before, self._ids)}
        self._texts = set[str]().union(*known.values())
        self._is_unknown = not sought <= known.keys()

    def is_told_by(self, item: Item) -> bool:
        """Whether something that a tool gave tells of it, or may."""
        texts = texts_of(item) if isinstance(item, ToolResult | Note) else set[str]()
        return any(self._is_in(text) for text in texts)

    def _is_in(self, text: str) -> bool:
        if self._is_unknown or any(words in text for words in self._texts):
            return True
        return any(lists(text, item_id) for item_id in self._listed)


def _items_in(workspace: Workspace, ids: Iterable[str]) -> Iterator[Item]:
    """Those items that a state holds with their words."""
    held = [item for items in workspace.steps.held.values() for item in items]
    beside = {item.id: item for item in (*workspace.pool, *held)}
    for item_id in ids:
        found = [one.get(item_id) for one in workspace.transcripts.values() if item_id in one]
        found += [beside[item_id]] if item_id in beside else []
        yield from (item for item in found if not is_tombstone(item))
