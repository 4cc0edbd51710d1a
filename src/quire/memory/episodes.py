"""Summaries of a conversation's past: those that a compactor had written, and for the rest some by rule.

A rule picks the words that matter of a stretch of talk. It needs no model, and it never makes anything up.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from quire.memory.index import Index, Only
from quire.memory.leaf import Leaf

_MOST_LEAVES = 20
"""How much talk one episode is about, where nobody paused."""

_MOST_WORDS = 40
_LINES = 3


class Episode(NamedTuple):
    """What a stretch of talk was about. `by_rule` where no model wrote it."""

    text: str
    source: str
    ids: tuple[str, ...]
    at: float
    by_rule: bool


def episodes_of(index: Index, conversation: str | None, limit: int) -> list[Episode]:
    """The newest episodes, the oldest of them first."""
    sources = None if conversation is None else frozenset((conversation,))
    written = index.newest(limit, Only(sources=sources, kinds=frozenset(("summary",))))
    told: dict[tuple[str, str], int] = {}
    for leaf in written:
        place = leaf.source, leaf.transcript
        told[place] = max(told.get(place, 0), leaf.told)
    said = index.newest(
        limit * _MOST_LEAVES, Only(sources=sources, kinds=frozenset(("said", "done", "note")))
    )
    rest = [leaf for leaf in said if leaf.order >= told.get((leaf.source, leaf.transcript), 0)]
    found = [*map(_written, written), *map(_by_rule, _stretches(rest))]
    return sorted(found, key=lambda episode: episode.at)[-limit:]


def _written(leaf: Leaf) -> Episode:
    return Episode(leaf.text, leaf.source, leaf.ids, leaf.at, False)


def _by_rule(leaves: Sequence[Leaf]) -> Episode:
    weightiest = sorted(leaves, key=lambda leaf: (-leaf.importance, leaf.order))[:_LINES]
    lines = [_line(leaf) for leaf in sorted(weightiest, key=lambda leaf: leaf.order)]
    ids = tuple(item_id for leaf in leaves for item_id in leaf.ids)
    return Episode("\n".join(lines), leaves[0].source, ids, leaves[0].at, True)


def _line(leaf: Leaf) -> str:
    words = leaf.text.split()
    short = " ".join(words[:_MOST_WORDS])
    return f"{leaf.speaker}: {short}" + (" …" if len(words) > _MOST_WORDS else "")


def _stretches(leaves: Iterable[Leaf]) -> Iterator[list[Leaf]]:
    """Leaves that belong together: of one transcript, without a pause, and not too many."""
    in_order = sorted(leaves, key=lambda leaf: (leaf.source, leaf.transcript, leaf.order))
    for _, together in groupby(in_order, key=lambda leaf: (leaf.source, leaf.transcript, leaf.stretch)):
        row = list(together)
        for start in range(0, len(row), _MOST_LEAVES):
            yield row[start : start + _MOST_LEAVES]
