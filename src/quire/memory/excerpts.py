"""What matters most of a long text: the part around the words that were asked for, marked as a part."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from quire.memory.leaf import Leaf, parts_read
from quire.memory.ranking import Weights
from quire.memory.ranking.scoring import stand_ins
from quire.memory.words import terms
from quire.sections.quote import Shorter

LONG = 600
"""Letters up to which a text is told whole or not at all."""

_LONGEST_PIECE = 80
_LONGEST_HEAD = 120
_SHORTEST_PART = 80
_MOST_IDS = 3
_GAP = " … "
_LINES = re.compile(r"[^\n]+")
_PIECES = re.compile(rf"\S.{{0,{_LONGEST_PIECE - 1}}}(?=\s|$)|\S{{1,{_LONGEST_PIECE}}}")


class _Piece(NamedTuple):
    start: int
    end: int
    worth: float


def shorter_of(leaf: Leaf, asked: Sequence[str]) -> Shorter | None:
    """How a long leaf is told in less room, given the terms that were asked for."""
    return _Shortening(leaf, asked).shortened if len(leaf.text) > LONG else None


class _Shortening:
    """A leaf as it is told shorter and shorter, until it has room: it is read once for all of that."""

    def __init__(self, leaf: Leaf, asked: Sequence[str]) -> None:
        self._leaf, self._asked = leaf, asked
        self._pieces: dict[str, list[_Piece]] = {}

    def shortened(self, line: str, letters: int) -> str:
        """The part of a line that matters most, in so many letters, and marked as a part."""
        if line not in self._pieces:
            self._pieces[line] = list(_pieces(line, _worths(self._asked)))
        mark = f" [an excerpt: the whole has {len(line):,} letters and is {_where(self._leaf)}]"
        return _cut(line, letters - len(mark), self._pieces[line]) + mark


def _where(leaf: Leaf) -> str:
    if leaf.kind == "document":
        return f"in {leaf.transcript}"
    more = len(leaf.ids) - _MOST_IDS
    return f"item {', '.join(leaf.ids[:_MOST_IDS])}" + (f" and {more} more" if more > 0 else "")


def _worths(asked: Iterable[str]) -> dict[str, float]:
    weights = Weights()
    found = {other: share for term in asked for other, share in stand_ins(term, weights)}
    return found | dict.fromkeys(asked, 1.0)


def excerpt(text: str, letters: int, worths: Mapping[str, float]) -> str:
    """The part of a text with most of some terms, in at most so many letters, after its first words."""
    return _cut(text, letters, list(_pieces(text, worths)))


def _cut(text: str, letters: int, pieces: Sequence[_Piece]) -> str:
    if not pieces:
        return text[: max(0, letters)]
    first = pieces[0]
    head = text[first.start : min(first.end, first.start + _LONGEST_HEAD)]
    room = letters - len(head) - 2 * len(_GAP)
    best = max(range(len(pieces)), key=lambda nth: pieces[nth].worth)  # of equal ones the first
    if room < _SHORTEST_PART:
        head, room = "", letters - 2 * len(_GAP)
    start, end = _around(pieces, best, max(0, room))
    if start <= len(head) + first.start:
        head, start, end = "", first.start, min(len(text), first.start + letters - len(_GAP))
    before = f"{head}{_GAP}" if start > first.start else ""
    return f"{before}{text[start:end]}{_GAP.rstrip()}"[: max(0, letters)]


def _pieces(text: str, worths: Mapping[str, float]) -> Iterator[_Piece]:
    lines = (line for start, end in parts_read(text) for line in _LINES.finditer(text, start, end))
    for line in lines:
        for piece in _PIECES.finditer(text, line.start(), line.end()):
            found = worths.keys() & set(terms(piece[0]))
            yield _Piece(piece.start(), piece.end(), sum(worths[term] for term in found))


def _around(pieces: Sequence[_Piece], best: int, room: int) -> tuple[int, int]:
    """From where to where the best piece goes with those beside it, the worthier side first."""
    first = last = best
    while True:
        sides = [nth for nth in (first - 1, last + 1) if 0 <= nth < len(pieces)]
        fitting = [nth for nth in sides if _length(pieces, min(first, nth), max(last, nth)) <= room]
        if not fitting:
            start = pieces[first].start
            return start, min(pieces[last].end, start + room)
        nearest = max(fitting, key=lambda nth: (pieces[nth].worth, nth))
        first, last = min(first, nearest), max(last, nearest)


def _length(pieces: Sequence[_Piece], first: int, last: int) -> int:
    return pieces[last].end - pieces[first].start
