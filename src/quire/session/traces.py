"""What was made of items, wherever it is: found by what says of what it was made, and by texts it repeats."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple

from quire.items import Item, Mask, Message, Note, Summary, ToolCall, ToolResult
from quire.session.gone_outputs import Outputs
from quire.session.handing import Handing
from quire.session.recalled import listed_of, lists
from quire.session.workspace import Workspace, Written
from quire.state import Transcript
from quire.stores import Place
from quire.stores.copies import Sought, Told, values_in
from quire.stores.recalls import digest_of
from quire.stores.streams import POOL, RECALLED, STEPS, is_own
from quire.stores.tombstones import TOLD, is_tombstone, recognised_by, told_in

Times = Mapping[str, Iterable[float]]
"""When items were said, by their ids."""


class Read(NamedTuple):
    """A conversation as it was read: where, its state, and the entries of its log."""

    place: Place
    workspace: Workspace
    recorded: Sequence[Written]


class Traces:
    """Items by their ids, all that was made of them, and the texts by which copies are known.

    What was made of one thing may have been told on in another conversation: so all are looked at together,
    until nothing more is found. Two conversations may give one id to two items: an item is one of these where
    it has one of the `times` of its id, or says the same as one that has.
    """

    def __init__(
        self,
        ids: Iterable[str],
        times: Times,
        *,
        made: Iterable[str] = (),
        apart: Iterable[str] = (),
    ) -> None:
        """Of items, it may be known which were `made` of the others.

        Conversations that are `apart`, by their digests, have none of them unless they are looked at.
        """
        self.ids = {*ids, *made}
        self._given = frozenset(self.ids.difference(made))
        self.times = {item_id: set(found) for item_id, found in times.items()}
        self._contents: defaultdict[str, list[Any]] = defaultdict(list)
        self._made_in: defaultdict[Place, set[str]] = defaultdict(set)
        self._gone_from: dict[str, Collection[str]] = dict.fromkeys(apart, ())
        self.texts = Sought()
        self._own_texts: defaultdict[Place, Sought] = defaultdict(Sought)
        self._summaries: set[str] = set()
        self._listed: set[str] = set()  # what was recalled of it elsewhere is told with one of these
        self._handing = Handing()
        self._outputs = Outputs()

    @property
    def made(self) -> set[str]:
        """Those that were made of the others, and whose own words are nobody's secret."""
        return self.ids - self._given - self._summaries

    def ids_in(self, log: Read) -> Set[str]:
        """The ids of those that are in a conversation, or in its past."""
        own = {item.id for _, item in log.recorded if item.id in self._given and self._is_one(item)}
        past = (item for item_id in self._given for item in log.workspace.inherited(item_id))
        own.update(item.id for item in past if self._is_one(item))
        return own | self._made_in[log.place] | (self.ids - self._given)

    def _is_one(self, item: Item) -> bool:
        """Whether an item is one of those that were named, and not another of the same id."""
        known, contents = self.times.setdefault(item.id, set()), self._contents[item.id]
        content = item.content if isinstance(item, Message) and not is_tombstone(item) else None
        # By its words first: the answer of a fork is said anew where it is merged.
        is_one = content in contents if content is not None and contents else item.created_at in known
        if is_one:
            self.know(item)
        return is_one

    def know(self, item: Item) -> None:
        """Take in that an item is one of these."""
        self.times.setdefault(item.id, set()).add(item.created_at)
        contents = self._contents[item.id]
        if isinstance(item, Message) and not is_tombstone(item) and item.content not in contents:
            contents.append(item.content)

    def gone_from(self, source: str) -> Collection[str]:
        """The ids of what is gone from a conversation, by its digest; from one that is not known, any."""
        return self._gone_from.get(source, self.ids)

    def follow(self, logs: Sequence[Read]) -> None:
        """Find all that was made of what is known so far."""
        for log in logs:
            self._outputs.look_at(log.recorded)
        found = -1
        while found != (found := self._known()):
            self._gone_from |= {digest_of(log.place.conversation): self.ids_in(log) for log in logs}
            for log in logs:
                self._take_texts(log)
                self._listed.update(*(listed_of(item, self.gone_from) for item in _noted_in(log.recorded)))
                self._handing.take(log.place, log.recorded)
            for log in logs:
                self._made_in[log.place].update(self._made(log))
                self.ids |= self._made_in[log.place]

    def _known(self) -> int:
        """How much is known: as long as it grows, more may be found."""
        places = sum(len(made) for made in self._made_in.values())
        return len(self.ids) + places + sum(len(times) for times in self.times.values())

    def _take_texts(self, log: Read) -> None:
        """Of what only repeats a text among others, the others are nobody's secret."""
        ids = self.ids_in(log)
        calls = {item.call_id: item for _, item in log.recorded if isinstance(item, ToolCall)}
        for _, item in log.recorded:
            if item.id in ids and isinstance(item, Summary):
                self._summaries.add(item.id)
                self.times.setdefault(item.id, set()).add(item.created_at)  # for who has to finish it
            is_given = item.id in ids and (item.id in self._given or item.id in self._outputs.ids)
            is_stub = isinstance(item, Mask) and item.target in ids & self._given
            is_same = isinstance(item, Note) and item.id in ids and self._is_known(item)
            if is_given or is_stub or is_same:
                self._outputs.take(item, calls)
            if (is_given or item.id in self._summaries) and not is_tombstone(item):
                contents = [*recognised_by(item)]
                self.texts.add(contents, item.created_at)
                self._own_texts[log.place].add(contents)

    def _is_known(self, note: Note) -> bool:
        """Whether all that a note holds is what is gone: so it is with an output that was given twice."""
        return any(content in self.texts for content in recognised_by(note))

    def _made(self, log: Read) -> Iterator[str]:
        yield from self._handed(log)
        yield from self._outputs.find(log.recorded)
        ids = self.ids_in(log)
        covering = {
            name: _Covering(transcript, ids) for name, transcript in log.workspace.transcripts.items()
        }
        for stream, item in log.recorded:
            if item.id in ids:
                continue
            is_cover = isinstance(item, Summary) and stream in covering and covering[stream].has(item)
            is_mask = isinstance(item, Mask) and item.target in ids
            if is_cover or is_mask or self._tells(item) or self._repeats(log.place, stream, item):
                yield item.id

    def _handed(self, log: Read) -> Iterator[str]:
        """What was handed to one of those who work for an agent, and what it gave back."""
        given = self._handing.given_to(log.place)
        if given is not None:
            gone = self.gone_from(digest_of(given.above.conversation))
            for item_id, text in given.gone_with(log.recorded, gone, self._given):
                if not text or self.texts.are_in(Told([text])):
                    yield item_id

    def _tells(self, item: Item) -> bool:
        """Whether a summary says itself that it tells of one of these, here or elsewhere."""
        return isinstance(item, Summary) and not self.ids.isdisjoint(item.extras.get(TOLD, ()))

    def _repeats(self, place: Place, stream: str, item: Item) -> bool:
        """Whether something holds the whole of a text, or a quote of it: from a pool, or given by a tool.

        In another conversation it is a copy if it came later: that began with much of what this one has.
        """
        if (is_own(stream) and stream not in (POOL, STEPS)) or not isinstance(item, ToolResult | Note):
            return False
        own = told_in(item)
        if self._listed and any(lists(text, one) for text in values_in(own) for one in self._listed):
            return True
        told = Told(own)
        return self._own_texts[place].are_in(told) or self.texts.are_in(told, item.created_at or None)


def _noted_in(recorded: Iterable[Written]) -> Iterator[Item]:
    """What says what was recalled from elsewhere."""
    return (item for stream, item in recorded if stream == RECALLED)


class _Covering:
    """Tells which summaries of a transcript stand for some of the items."""

    def __init__(self, transcript: Transcript, ids: Set[str]) -> None:
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
        return folds or any(self._is_between(*interval) for interval in log.area(summary, end))

    def _is_between(self, start: int, stop: int) -> bool:
        index = bisect_left(self._positions, start)
        return index < len(self._positions) and self._positions[index] < stop
