"""What was made of items, wherever it is: found by what says of what it was made, and by texts it repeats."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from quire.items import Item, Mask, Message, Note, Summary, ToolCall, ToolResult
from quire.session.families import is_below
from quire.session.recalled import listed_of, lists
from quire.session.workspace import Workspace, Written
from quire.state import Transcript
from quire.state.active import area_of_summary
from quire.stores import Place
from quire.stores.streams import POOL, RECALLED, STEPS, is_own
from quire.stores.tombstones import TOLD, holds, is_tombstone, texts_of


class Read(NamedTuple):
    """A conversation as it was read: where, its state, and the entries of its log."""

    place: Place
    workspace: Workspace
    recorded: Sequence[Written]


class Traces:
    """Items by their ids, all that was made of them, and the texts by which copies are known.

    What was made of one thing may have been told on in another conversation: so all are looked at together,
    until nothing more is found.
    """

    def __init__(self, ids: Iterable[str]) -> None:
        self._given = frozenset(ids)
        self.ids = set(self._given)
        self.texts: set[str] = set()
        self._summaries: set[str] = set()
        self._listed: set[str] = set()  # what was recalled of it elsewhere is told with one of these
        self._handed: defaultdict[Place, dict[str, Any]] = defaultdict(dict)  # by calls, to whom is below

    @property
    def made(self) -> set[str]:
        """Those that were made of the others, and whose own words are nobody's secret."""
        return self.ids - self._given - self._summaries

    def follow(self, logs: Sequence[Read]) -> None:
        """Find all that was made of what is known so far."""
        before = -1
        while before != len(self.ids):
            before = len(self.ids)
            for log in logs:
                self.texts.update(self._texts_in(log.recorded))
                self._listed.update(*(listed_of(item, self.ids) for item in _noted_in(log.recorded)))
                self._handed[log.place].update(self._handed_in(log.recorded))
            for log in logs:
                self.ids.update(self._made(log))

    def _texts_in(self, recorded: Iterable[Written]) -> Iterator[str]:
        """Of what only repeats a text among others, the others are nobody's secret."""
        for _, item in recorded:
            if item.id in self.ids and isinstance(item, Summary):
                self._summaries.add(item.id)
            is_source = item.id in self._given or item.id in self._summaries
            if is_source and not is_tombstone(item):
                yield from texts_of(item)

    def _handed_in(self, recorded: Iterable[Written]) -> Iterator[tuple[str, Any]]:
        """What went to others, and came back from them, by calls that are among these."""
        for _, item in recorded:
            if item.id not in self.ids or is_tombstone(item):
                continue
            if isinstance(item, ToolCall):
                yield item.id, _decoded(item.arguments)
            elif isinstance(item, ToolResult):
                yield item.id, sorted(texts_of(item))

    def _made(self, log: Read) -> Iterator[str]:
        handed = [
            value
            for place, values in self._handed.items()
            if is_below(log.place, place)
            for value in values.values()
        ]
        covering = {
            name: _Covering(transcript, self.ids) for name, transcript in log.workspace.transcripts.items()
        }
        for stream, item in log.recorded:
            if item.id in self.ids:
                continue
            is_cover = isinstance(item, Summary) and stream in covering and covering[stream].has(item)
            if is_cover or self._is_of(item) or self._repeats(stream, item) or _is_handed(item, handed):
                yield item.id

    def _is_of(self, item: Item) -> bool:
        """Whether an item says itself that it was made of one of these."""
        if isinstance(item, Mask):
            return item.target in self.ids
        return isinstance(item, Summary) and not self.ids.isdisjoint(item.extras.get(TOLD, ()))

    def _repeats(self, stream: str, item: Item) -> bool:
        """Whether something holds the whole of a text, or a quote of it: from a pool, or given by a tool."""
        if (is_own(stream) and stream not in (POOL, STEPS)) or not isinstance(item, ToolResult | Note):
            return False
        own = texts_of(item)
        if any(lists(text, item_id) for text in own for item_id in self._listed):
            return True
        if stream == POOL:
            return isinstance(item, Note) and holds(item.content, self.texts)
        return any(text in one for one in own for text in self.texts)


def _noted_in(recorded: Iterable[Written]) -> Iterator[Item]:
    """What says what was recalled from elsewhere."""
    return (item for stream, item in recorded if stream == RECALLED)


def _is_handed(item: Item, handed: Sequence[Any]) -> bool:
    """Whether a message is the brief that a call gave, or the answer that it came back with."""
    texts = texts_of(item) if handed and isinstance(item, Message) else set[str]()
    return bool(texts) and any(holds(value, texts) for value in handed)


def _decoded(arguments: str) -> Any:
    try:
        return msgspec.json.decode(arguments)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return arguments


class _Covering:
    """Tells which summaries of a transcript stand for some of the items."""

    def __init__(self, transcript: Transcript, ids: set[str]) -> None:
        self._view = transcript.view
        self._ids = ids
        found = (self._view.log.find(item_id, self._view.end) for item_id in ids)
        self._positions = sorted(position for position in found if position is not None)

    def has(self, summary: Summary) -> bool:
        """Whether a summary covers one of them, or folds in another that was made of one."""
        log, end = self._view.log, self._view.end
        position = log.find(summary.id, end)
        if position is None or not self._positions:
            return False
        folds = any(span.first == span.last and span.first in self._ids for span in summary.spans)
        return folds or any(self._is_between(*interval) for interval in area_of_summary(log, position, end))

    def _is_between(self, start: int, stop: int) -> bool:
        index = bisect_left(self._positions, start)
        return index < len(self._positions) and self._positions[index] < stop
