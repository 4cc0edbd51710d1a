"""What an agent gave to those who work for it, and what came back: briefs and answers stand in both places.

Only those are looked at who are on the record of an agent. What a call gave is the message of the same words,
and what came back is in the result of that call: other results may list what somebody below has said too.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import msgspec

from quire.compactors import item_text
from quire.items import Handoff, Message, Note, ToolCall, ToolResult
from quire.session.handles import handle_of, outputs_of
from quire.session.workspace import Written
from quire.stores import Place
from quire.stores.copies import values_in
from quire.stores.streams import CREW
from quire.stores.tombstones import is_tombstone


class Handing:
    """What conversations have handed to those below them, as far as it was read before it was emptied."""

    def __init__(self) -> None:
        self._names: defaultdict[Place, set[str]] = defaultdict(set)
        self._calls: defaultdict[Place, dict[str, ToolCall]] = defaultdict(dict)
        self._briefs: defaultdict[Place, dict[str, set[str]]] = defaultdict(dict)
        self._results: defaultdict[Place, dict[str, ToolResult]] = defaultdict(dict)
        self._outputs: defaultdict[Place, dict[str, dict[str, Note]]] = defaultdict(dict)

    def take(self, place: Place, recorded: Sequence[Written]) -> None:
        """Take in what an agent has on its record; of one that nobody works for there is nothing."""
        names = {item.to_agent for stream, item in recorded if stream == CREW and isinstance(item, Handoff)}
        self._names[place] |= names
        for _, item in recorded if self._names[place] else ():
            if is_tombstone(item):
                continue
            if isinstance(item, ToolCall):
                self._calls[place][item.call_id] = item
                for text in values_in(_decoded(item.arguments)):
                    self._briefs[place].setdefault(text, set()).add(item.call_id)
            elif isinstance(item, ToolResult):
                self._results[place][item.call_id] = item
            elif isinstance(item, Note) and (handle := handle_of(item)):
                self._outputs[place].setdefault(handle, {})[item.id] = item

    def given_to(self, place: Place) -> "Given | None":
        """What one was given and gave back, if it is on the record of the one above it."""
        above, found, name = place.conversation.rpartition("/")
        parent = place._replace(conversation=above)
        if not found or name not in self._names.get(parent, ()):
            return None
        kept = self._outputs[parent]
        told = {
            call_id: _Told(
                result, [*chain.from_iterable(kept.get(one, {}).values() for one in outputs_of(result))]
            )
            for call_id, result in self._results[parent].items()
        }
        return Given(parent, self._briefs[parent], self._calls[parent], told)


class _Told(NamedTuple):
    """A result, and the notes that hold all of it where it is long."""

    result: ToolResult
    notes: Sequence[Note]

    @property
    def words(self) -> str:
        """All that it tells."""
        return "\n".join([self.result.text, "".join(str(note.content) for note in self.notes)])

    def is_among(self, ids: Collection[str]) -> bool:
        """Whether one of them is named."""
        return self.result.id in ids or any(note.id in ids for note in self.notes)


class Given:
    """What one of those who work for an agent shares with it."""

    def __init__(
        self,
        above: Place,
        briefs: dict[str, set[str]],
        calls: dict[str, ToolCall],
        told: dict[str, _Told],
    ) -> None:
        self.above = above
        self._briefs, self._calls, self._told = briefs, calls, told

    def gone_with(
        self, recorded: Sequence[Written], ids: Collection[str], named: Collection[str]
    ) -> Iterator[tuple[str, str]]:
        """Messages that stand in calls and results that are gone, by their ids above, with their texts.

        Without a text where it goes in any case: with its call, or with a result that was `named`. What else
        a result holds may be nobody's secret.
        """
        messages = [item for _, item in recorded if isinstance(item, Message) and not is_tombstone(item)]
        briefed = {call_id for message in messages for call_id in self._briefs.get(message.text, ())}
        gone = {call_id for call_id in briefed if self._calls[call_id].id in ids}
        results = [one for one in map(self._told.get, briefed) if one is not None and one.is_among(ids)]
        told = [(one.words, one.is_among(named)) for one in results]
        for message in filter(lambda message: message.text, messages):
            text, holding = message.text, [is_named for words, is_named in told if _is_in(message, words)]
            if any(holding) or not gone.isdisjoint(self._briefs.get(text, ())):
                yield message.id, ""
            elif holding:
                yield message.id, text


def _is_in(message: Message, words: str) -> bool:
    """Whether words hold a message, as it was said or as it is told where all is told."""
    return message.text in words or (item_text(message) or message.text) in words


def _decoded(arguments: str) -> Any:
    try:
        return msgspec.json.decode(arguments)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return arguments
