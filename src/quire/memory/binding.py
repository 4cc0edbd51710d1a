"""Leaves from a conversation's log, made as it grows.

A result joins the leaf of its call, however late it comes; so a leaf may be made again, under the same key
and in the same place. What was forgotten keeps its place and says nothing: so all others keep theirs.
"""

from array import array
from collections.abc import Iterable, Sequence

from quire.items import Item, Summary
from quire.memory.importance import importance_of
from quire.memory.leaf import Kind, Leaf
from quire.memory.past import Past
from quire.memory.telling import kind_of_group, speaker_of, words_of
from quire.state import Answers, is_edit
from quire.stores.streams import POOL
from quire.stores.streams import is_tombstone

PAUSE = 6 * 3600.0
"""Seconds of silence after which somebody who goes on talking may well talk about something else."""

APART = 1 << 30
"""Where summaries stand: beyond all that is said, so that nobody is between those who speak."""

_BESIDE_NOBODY = 8
"""So many places from one to the next, words are not lent."""

_MOST_OPEN = 64


class Binding:
    """The leaves of one transcript. Items are taken in the order of the log."""

    def __init__(self, source: str, transcript: str) -> None:
        self._source, self._transcript = source, transcript
        self._answers = Answers()
        self._groups: dict[int, list[Item]] = {}
        self._places: dict[int, tuple[int, int]] = {}  # by the head of a group: its order and stretch
        self._order, self._summaries, self._stretch = 0, 0, 0
        self._until: float | None = None
        self._orders = array("q")  # by position: how many leaves there were
        self.past = Past(is_pool=transcript == POOL)
        self.forgotten: set[str] = set()
        """The ids of what was forgotten."""

    def take(self, items: Iterable[Item]) -> list[Leaf]:
        """The leaves that items begin or change."""
        leaves: dict[str, Leaf] = {}
        for item in items:
            self.past.take(item)
            leaf = self._taken(item)
            if leaf is not None:
                leaves[leaf.key] = leaf
            self._orders.append(self._order)
        if len(self._groups) > _MOST_OPEN:
            self._let_go()
        return list(leaves.values())

    def _taken(self, item: Item) -> Leaf | None:
        if is_tombstone(item):
            self.forgotten.add(item.id)
        self._answers.add(item)
        if is_edit(item) and kind_of_group([item]) is None:
            return None
        head = self._answers.heads[-1]
        self._groups.setdefault(head, []).append(item)
        return self._leaf(head)

    def _let_go(self) -> None:
        """Keep only groups that something may still join: the latest, and those whose calls wait."""
        waiting = self._answers.open_calls()
        still = {self._answers.heads[position] for position in waiting} | {self._answers.heads[-1]}
        self._groups = {head: items for head, items in self._groups.items() if head in still}
        self._places = {head: place for head, place in self._places.items() if head in still}

    def _leaf(self, head: int) -> Leaf | None:
        kind = kind_of_group(self._groups[head])
        if kind is None:
            return None
        order, stretch = self._place(head, self._groups[head], kind)
        items = [item for item in self._groups[head] if item.id not in self.forgotten]
        kind, text = kind_of_group(items), words_of(items)
        if kind is None or not text.strip():
            return None
        return Leaf(
            source=self._source,
            transcript=self._transcript,
            key=items[0].id,
            order=order,
            stretch=stretch,
            ids=tuple(item.id for item in items),
            kind=kind,
            at=items[0].created_at,
            speaker=speaker_of(items),
            text=text,
            importance=importance_of(items),
            told=self._told(items[0]),
        )

    def _told(self, first: Item) -> int:
        """How many leaves there were when the last was recorded that a summary tells of."""
        spans = first.spans if isinstance(first, Summary) else ()
        last = max((self.past.position(span.last) for span in spans), default=-1)
        return self._orders[last] if last >= 0 else 0

    def _place(self, head: int, items: Sequence[Item], kind: Kind) -> tuple[int, int]:
        if head not in self._places:
            at = items[0].created_at
            if self._until is not None and at - self._until > PAUSE:
                self._stretch += 1
            self._places[head] = self._next_order(kind), self._stretch
            self._until = at if self._until is None else max(self._until, at)
        return self._places[head]

    def _next_order(self, kind: Kind) -> int:
        """A place of its own for what has no neighbours: a summary, and a note in a pool."""
        if kind == "summary":
            self._summaries += 1
            return APART + _BESIDE_NOBODY * self._summaries
        order = self._order
        self._order += _BESIDE_NOBODY if self._transcript == POOL else 1
        return order
