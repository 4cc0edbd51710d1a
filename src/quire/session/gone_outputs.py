"""Long outputs in several places: in the notes that hold them, in what shows their ends, and read back.

None of these is a copy of another, word for word. What each is of is told by the handle.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set

from quire.compactors import READ_BACK, handle_for
from quire.items import Item, Mask, Note, ToolCall, ToolResult
from quire.session.handles import PLAIN_HANDLE, handle_of, outputs_of
from quire.session.workspace import Written
from quire.stores.tombstones import is_tombstone

_KEPT = re.compile(f"kept as ({PLAIN_HANDLE.pattern})")


class Outputs:
    """Outputs that are gone, and the ids of all that was found to be of them."""

    def __init__(self) -> None:
        self._handles: set[str] = set()
        self._claimed: set[str] = set()
        self._first: defaultdict[str, set[str]] = defaultdict(set)
        self.ids: set[str] = set()

    def look_at(self, recorded: Iterable[Written]) -> None:
        """See which outputs are kept in a conversation, and who shows them.

        Who records what tools gave by hand may not say which result is of which output. It is the first that
        names it, then: whoever names it later quotes it.
        """
        kept, first = set[str](), dict[str, str]()
        for _, item in recorded:
            if isinstance(item, Note):
                kept |= handles_of(item)
            elif isinstance(item, ToolResult):
                self._claimed |= self._claims(item)
                for handle in _KEPT.findall(item.text):
                    first.setdefault(handle, item.id)
        for handle in kept & first.keys():
            self._first[handle].add(first[handle])

    def take(self, item: Item, calls: Mapping[str, ToolCall]) -> None:
        """An item is gone, with the output that it is of; `calls` are those beside it, by their call ids."""
        self._handles |= self._of(item)
        call = calls.get(item.call_id) if isinstance(item, ToolResult) else None
        if call is not None and _reads_back(call):
            self._handles.update(PLAIN_HANDLE.findall(call.arguments))

    def find(self, recorded: Iterable[Written]) -> Iterator[str]:
        """The ids of all that is of an output that is gone."""
        if not self._handles:
            return
        items = [item for _, item in recorded if not is_tombstone(item)]
        asked = asked_for((item for item in items if _reads_back(item)), self._handles)
        for item in items:
            is_read_back = isinstance(item, ToolResult) and item.call_id in asked
            if is_read_back or not self._handles.isdisjoint(self._of(item)):
                self.ids.add(item.id)
                yield item.id

    def _of(self, item: Item) -> Set[str]:
        """The handles of the outputs of which an item holds something, or in whose place it stands."""
        match item:
            case Note():
                return handles_of(item)
            case Mask():
                return {handle_for(item.target)}
            case ToolResult():
                named = {*_KEPT.findall(item.text)} - self._claimed
                return self._claims(item) | {one for one in named if item.id in self._first.get(one, ())}
            case _:
                return frozenset()

    def _claims(self, result: ToolResult) -> Set[str]:
        """Those that are a result's own, whatever it says: what its tool gave, and where it was moved to."""
        return {*outputs_of(result), handle_for(result.id)}


def handles_of(item: Item) -> Set[str]:
    """The handle of a note that holds an output."""
    handle = handle_of(item) if isinstance(item, Note) else None
    return frozenset() if handle is None else {handle}


def asked_for(items: Iterable[Item], handles: Set[str]) -> set[str]:
    """The ids of calls that name one of some outputs."""
    calls = (item for item in items if isinstance(item, ToolCall))
    return {call.call_id for call in calls if not handles.isdisjoint(PLAIN_HANDLE.findall(call.arguments))}


def _reads_back(item: Item) -> bool:
    return isinstance(item, ToolCall) and item.name == READ_BACK["name"]
