"""Leaves from a conversation's log, made as it grows.

A result joins the leaf of its call, however late it comes; so a leaf may be made again, under the same key
and in the same place.
"""

from collections.abc import Iterable, Sequence

from quire.items import Item
from quire.memory.importance import importance_of
from quire.memory.leaf import Leaf
from quire.memory.telling import kind_of_group, speaker_of, words_of
from quire.state.groups import Answers, is_edit

PAUSE = 6 * 3600.0
"""Seconds of silence after which somebody who goes on talking may well talk about something else."""

_MOST_OPEN = 64


class Binding:
    """The leaves of one transcript. Items are taken in the order of the log."""

    def __init__(self, source: str, transcript: str) -> None:
        self._source, self._transcript = source, transcript
        self._answers = Answers()
        self._groups: dict[int, list[Item]] = {}
        self._places: dict[int, tuple[int, int]] = {}  # by the head of a group: its order and stretch
        self._order, self._stretch = 0, 0
        self._until: float | None = None

    def take(self, items: Iterable[Item]) -> list[Leaf]:
        """The leaves that items begin or change."""
        changed: dict[int, None] = {}
        for item in items:
            self._answers.take(item)
            head = self._answers.heads[-1]
            if is_edit(item) and kind_of_group([item]) is None:
                continue
            self._groups.setdefault(head, []).append(item)
            changed[head] = None
        leaves = [leaf for head in changed if (leaf := self._leaf(head)) is not None]
        if len(self._groups) > _MOST_OPEN:
            self._let_go()
        return leaves

    def _let_go(self) -> None:
        """Keep only groups that something may still join: the latest, and those whose calls wait."""
        waiting = (position for calls in self._answers.waiting.values() for position, _ in calls)
        still = {self._answers.heads[position] for position in waiting} | {self._answers.heads[-1]}
        self._groups = {head: items for head, items in self._groups.items() if head in still}
        self._places = {head: place for head, place in self._places.items() if head in still}

    def _leaf(self, head: int) -> Leaf | None:
        items = self._groups[head]
        kind, text = kind_of_group(items), words_of(items)
        if kind is None or not text.strip():
            return None
        order, stretch = self._place(head, items)
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
        )

    def _place(self, head: int, items: Sequence[Item]) -> tuple[int, int]:
        if head not in self._places:
            at = items[0].created_at
            if self._until is not None and at - self._until > PAUSE:
                self._stretch += 1
            self._places[head] = self._order, self._stretch
            self._order += 1
            self._until = at if self._until is None else max(self._until, at)
        return self._places[head]
