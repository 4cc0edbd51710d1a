"""What was forgotten while calls were run: what they give may still tell of it.

Who forgets empties what is on the record. What a tool has read and nobody has written yet is on no record, so
it is looked at when it is written. By then what was forgotten is empty; its words are those of the state from
when the calls began. Where they are not known, nobody can tell what tells of it, and nothing is kept.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from quire.items import Item, Note, ToolResult
from quire.session.gone_outputs import asked_for, handles_of
from quire.session.handles import outputs_of
from quire.session.ledger import Ledger
from quire.session.recalled import listed_of, lists
from quire.session.since import Since
from quire.session.workspace import Workspace
from quire.stores.copies import Content, Sought, Told, values_in
from quire.stores.streams import CREW, FORGOTTEN, RECALLED
from quire.stores.tombstones import is_tombstone, recognised_by, told_in, tombstone


class Meanwhile:
    """Remembers from when on something was read, and empties what was forgotten since."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._before = ledger.workspace  # another takes its place when something is forgotten
        self._since, self._known = Since(ledger), ledger.workspace.forgotten
        self._begun = list(ledger.workspace.forgetting.values())  # what is read now may be of that, too
        self._heard: set[str] = set()
        self._words: set[Content] = set()
        self._emptied: set[str] = set()
        ledger.watched_by.add(self)

    def hear(self, ids: Collection[str], words: Iterable[Content]) -> None:
        """Some items are forgotten, here or in conversations that this one is related to."""
        self._heard.update(ids)
        self._words.update(words)

    def left_of(self, items: Iterable[Item], workspace: Workspace) -> list[Item]:
        """What may be written of items, given the state that they are written to."""
        items = list(items)
        if self._since.is_all:
            return items
        noted = [*self._begun, *self._ledger.read_at(workspace.versions(FORGOTTEN)[self._known :])]
        gone = _Gone(_said_by(noted), self._ledger.read_at(workspace.versions(RECALLED)))
        gone.know(self._heard, self._words)
        gone.look_in(self._before)
        left = gone.left_of(items, self._before, workspace)
        # Notes come before the result that shows the ends of what they hold.
        emptied = (item for item, one in zip(items, left, strict=True) if one is not item)
        self._emptied.update(*map(handles_of, emptied))
        return [one if self._emptied.isdisjoint(outputs_of(one)) else tombstone(one) for one in left]


def left_since(ledger: Ledger, known: int, items: Iterable[Item], workspace: Workspace) -> list[Item]:
    """The same for who did not watch: `known` says how often something had been forgotten when it was read.

    So it is in another process, or later. The log tells what was forgotten since, but none of its words.
    """
    if workspace.forgotten == known and not workspace.forgetting:
        return list(items)
    noted = ledger.read_at(workspace.versions(FORGOTTEN))
    over = {note.content.get("of") for note in noted[:known] if isinstance(note, Note)}
    then = [note for note in noted[:known] if note.id not in over]  # it was being forgotten
    gone = _Gone(_said_by([*then, *noted[known:]]), ledger.read_at(workspace.versions(RECALLED)))
    return gone.left_of(items, workspace)


def _said_by(notes: Iterable[Item]) -> list[Mapping[str, Any]]:
    """What was noted of what is forgotten."""
    return [
        note.content
        for note in notes
        if isinstance(note, Note) and not is_tombstone(note) and "ids" in note.content
    ]


class _Gone:
    """What was forgotten, by the words that were known of it and the ids that it is listed by."""

    def __init__(self, said: Iterable[Mapping[str, Any]], recalled: Iterable[Item]) -> None:
        ids = set[str]()
        self._here: dict[str, Collection[float] | None] = {}  # when it was said, where that is known
        self._sought = set[str]()
        for content in said:
            ids.update(content["ids"])
            made, times = content.get("made", ()), content.get("times")
            here = made if content.get("elsewhere") else content["ids"]
            self._here |= {one: None if times is None or one in made else times.get(one, ()) for one in here}
            if not content.get("elsewhere"):
                self._sought.update(set(content["ids"]).difference(made))
        self._listed = ids.union(*(listed_of(note, lambda _: ids) for note in recalled))
        self._texts = Sought()
        self._outputs = set[str]()

    def know(self, ids: Collection[str], words: Iterable[Content]) -> None:
        """The words of some of it."""
        self._sought.difference_update(ids)
        self._texts.add(words)

    def look_in(self, before: Workspace) -> None:
        """Find its words in a state from before it was forgotten."""
        for item in _items_in(before, self._here):
            times = self._here[item.id]
            if times is None or item.created_at in times:
                self.know((item.id,), recognised_by(item))
                self._outputs |= handles_of(item)

    def left_of(self, items: Iterable[Item], *states: Workspace) -> list[Item]:
        """What may be written of items, given the states from when they were read until now."""
        if CREW not in states[-1].transcripts:  # nobody was asked who could have told of what is not here
            self._sought = {one for one in self._sought if any(_has(state, one) for state in states)}
        pending = [call for one in states[-1].transcripts.values() for call in one.view.pending()]
        asked = asked_for(pending, self._outputs)
        return [tombstone(item) if self._is_told_by(item, asked) else item for item in items]

    def _is_told_by(self, item: Item, asked: Collection[str]) -> bool:
        """Whether something that a tool gave tells of it, or may."""
        if not isinstance(item, ToolResult | Note):
            return False
        if isinstance(item, ToolResult) and item.call_id in asked:
            return True
        told = told_in(item)
        texts = [text for text in values_in(told) if text]
        if texts and self._sought:
            return True
        is_listed = any(lists(text, item_id) for text in texts for item_id in self._listed)
        return is_listed or self._texts.are_in(Told(told))


def _has(workspace: Workspace, item_id: str) -> bool:
    """Whether a state holds an item, or what is left of it."""
    return any(item_id in one for one in workspace.transcripts.values()) or any(
        item.id == item_id for items in workspace.steps.held.values() for item in items
    )


def _items_in(workspace: Workspace, ids: Iterable[str]) -> Iterator[Item]:
    """Those items that a state holds with their words."""
    held = [item for items in workspace.steps.held.values() for item in items]
    beside = {item.id: item for item in (*workspace.pool, *held)}
    for item_id in ids:
        found = [one.get(item_id) for one in workspace.transcripts.values() if item_id in one]
        found += [beside[item_id]] if item_id in beside else []
        yield from (item for item in found if not is_tombstone(item))
