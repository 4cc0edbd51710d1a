"""Long outputs in several places: in the notes that hold them, in what shows their ends, and read back.

None of these is a copy of another, word for word. What each is of is told by the handle.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Set

from quire.compactors import READ_BACK
from quire.items import Item, Mask, Note, ToolCall, ToolResult
from quire.session.handles import PLAIN_HANDLE, handle_of
from quire.session.workspace import Written
from quire.stores.tombstones import is_tombstone

_KEPT = re.compile(f"kept as ({PLAIN_HANDLE.pattern})")
"""As it is said in place of what was left out. Whoever says it first shows the output; others quote it."""


class Outputs:
    """Outputs that are gone, and the ids of all that was found to be of them."""

    def __init__(self) -> None:
        self._handles: set[str] = set()
        self._owners: set[tuple[str, str]] = set()
        self.ids: set[str] = set()

    def look_at(self, recorded: Iterable[Written]) -> None:
        """See which outputs are kept in a conversation, and which results are of them."""
        kept, first = set[str](), dict[str, str]()
        for _, item in recorded:
            if isinstance(item, Note):
                kept |= handles_of(item)
            elif isinstance(item, ToolResult):
                for handle in _KEPT.findall(item.text):
                    first.setdefault(handle, item.id)
        self._owners.update((handle, first[handle]) for handle in kept & first.keys())

    def take(self, item: Item, calls: Mapping[str, ToolCall]) -> None:
        """An item is gone, with the output that it is of; `calls` are those beside it, by their call ids."""
        self._handles |= self._of(item)
        call = calls.get(item.call_id) if isinstance(item, ToolResult) else None
        if call is not None and call.name == READ_BACK["name"]:
            self._handles.update(PLAIN_HANDLE.findall(call.arguments))

    def find(self, recorded: Iterable[Written]) -> Iterator[str]:
        """The ids of all that is of an output that is gone."""
        if not self._handles:
            return
        items = [item for _, item in recorded if not is_tombstone(item)]
        asked = asked_for(items, self._handles)
        for item in items:
            is_read_back = isinstance(item, ToolResult) and item.call_id in asked
            if is_read_back or not self._handles.isdisjoint(self._of(item)):
                self.ids.add(item.id)
                yield item.id

    def _of(self, item: Item) -> Set[str]:
        """The handle of the output of which an item holds something, or in whose place it stands."""
        match item:
            case Note():
                return handles_of(item)
            case Mask():
                return {*_KEPT.findall(item.stub)}
            case ToolResult():
                return {handle for handle in _KEPT.findall(item.text) if (handle, item.id) in self._owners}
            case _:
                return frozenset()


def handles_of(item: Item) -> Set[str]:
    """The handle of a note that holds an output."""
    handle = handle_of(item) if isinstance(item, Note) else None
    return frozenset() if handle is None else {handle}


def asked_for(items: Iterable[Item], handles: Set[str]) -> set[str]:
    """The ids of calls that ask for one of some outputs."""
    calls = (item for item in items if isinstance(item, ToolCall))
    return {call.call_id for call in calls if not handles.isdisjoint(PLAIN_HANDLE.findall(call.arguments))}
