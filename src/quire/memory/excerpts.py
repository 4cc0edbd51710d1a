"""What matters most of a long text: the part around the words that were asked for, marked as a part."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import log
from typing import NamedTuple

from quire.memory.leaf import Leaf, parts_read
from quire.memory.quoted_text import BAR, one_line
from quire.memory.quotes import Shorten
from quire.memory.ranking import Weights
from quire.memory.ranking.scoring import stand_ins
from quire.memory.words import terms

LONG = 600
"""Letters up to which a text is told whole or not at all."""

_LONGEST_PIECE = 80
_LONGEST_HEAD = 120
_SHORTEST_PART = 80
_MOST_IDS = 3
_SAID_BEFORE = 0.1
"""What a word is worth that stands in the first words, or in what a tool was called with."""

_GAP = " … "
_CALL = re.compile(r"(?:\S{1,40}: |\| )?\[called ")
_LINES = re.compile(r"[^\n]+")
_PIECES = re.compile(rf"\S.{{0,{_LONGEST_PIECE - 1}}}(?=\s|$)|\S{{1,{_LONGEST_PIECE}}}")


class _Piece(NamedTuple):
    start: int
    end: int
    found: frozenset[str]
    is_call: bool


def shorter_of(leaf: Leaf, asked: Sequence[str], start: str) -> Shorten | None:
    """How a long leaf is told in less room, given the terms that were asked for.

    However little room there is, its line goes on to `start` with who said it.
    """
    return _Shortening(leaf, asked, start).shortened if len(leaf.said) > LONG else None


class _Shortening:
    """A leaf as it is told shorter and shorter, until it has room: it is read once for all of that."""

    def __init__(self, leaf: Leaf, asked: Sequence[str], start: str) -> None:
        self._leaf, self._asked, self._start = leaf, asked, start
        self._read: dict[str, _Read] = {}

    def shortened(self, line: str, letters: int) -> str:
        """The part of a line that matters most, in so many letters, and marked as a part."""
        if line not in self._read:
            # In other words it may begin otherwise, and then all of it is quoted text.
            is_as_it_was = line.startswith(self._start)
            start, text = (self._start, line) if is_as_it_was else (BAR, f"{BAR}{line}")
            self._read[line] = _Read(text, worths_of(self._asked), start)
        mark = f" [an excerpt: the whole has {len(line):,} letters and is {_where(self._leaf)}]"
        return self._read[line].cut(letters - len(mark)) + mark


def _where(leaf: Leaf) -> str:
    if leaf.kind == "document":
        return f"in {one_line(leaf.transcript)}"
    more = len(leaf.ids) - _MOST_IDS
    return f"item {', '.join(leaf.ids[:_MOST_IDS])}" + (f" and {more} more" if more > 0 else "")


def worths_of(asked: Iterable[str]) -> dict[str, float]:
    """Terms that were asked for and what may stand for them, each with what it is worth."""
    weights = Weights()
    found = {other: share for term in asked for other, share in stand_ins(term, weights)}
    return found | dict.fromkeys(asked, 1.0)


def excerpt(text: str, letters: int, worths: Mapping[str, float]) -> str:
    """The part of a text with most of some terms, in at most so many letters, after its first words."""
    return _Read(text, worths).cut(letters)


class _Read:
    """A text in pieces, and how much each is worth: the rarer in the text what was asked for, the more."""

    def __init__(self, text: str, worths: Mapping[str, float], start: str = "") -> None:
        self._text, self._pieces, self._start = text, list(_pieces(text, worths)), start.rstrip()
        times = Counter(term for piece in self._pieces for term in piece.found)
        self._rare = {
            term: worths[term] * log(1 + len(self._pieces) / count) for term, count in times.items()
        }
        self._whole = {term: _whole_of(term, worths) for term in times}
        calls = (piece.found for piece in self._pieces if piece.is_call)
        self._said_before = frozenset[str]().union(*(piece.found for piece in self._pieces[:1]), *calls)

    def cut(self, letters: int) -> str:
        """The part that matters most, in at most so many letters, after the first words.

        What it starts with stays in any case: else what is quoted would begin the line.
        """
        text, pieces = self._text, self._pieces
        if not pieces:
            return text[: max(0, letters)]
        first, letters = pieces[0], max(letters, len(self._start))
        head = text[first.start : max(len(self._start), min(first.end, first.start + _LONGEST_HEAD))]
        room = letters - len(head) - 2 * len(_GAP)
        is_told = room >= _SHORTEST_PART
        if not is_told:
            head, room = self._start, letters - len(self._start) - 2 * len(_GAP)
        start, end = _around(pieces, self._weighed(is_told), max(0, room))
        if start <= len(head) + first.start:
            head, start, end = "", first.start, first.start + max(letters - len(_GAP), len(self._start))
        before = f"{head}{_GAP}" if start > first.start else ""
        return f"{before}{text[start:end].rstrip()}{_GAP.rstrip()}"[:letters]

    def _weighed(self, after_head: bool) -> list[float]:
        """What each piece is worth. What the first words say already, the rest need hardly say again."""
        said = self._said_before if after_head else frozenset[str]()
        return [self._worth(piece.found, said) if piece.found else 0.0 for piece in self._pieces]

    def _worth(self, found: frozenset[str], said: frozenset[str]) -> float:
        """The sum over words of the best that is there of each: one in parts is one."""
        best: dict[str, float] = {}
        for term in found:
            worth = self._rare[term] * (_SAID_BEFORE if term in said else 1.0)
            best[self._whole[term]] = max(best.get(self._whole[term], 0.0), worth)
        return sum(best.values())


def _whole_of(term: str, asked: Iterable[str]) -> str:
    """The longest that was asked for of which a term is a part: an identifier is asked for in parts too."""
    return max((other for other in asked if term in other), key=len)


def _pieces(text: str, worths: Mapping[str, float]) -> Iterator[_Piece]:
    lines = (line for start, end in parts_read(text) for line in _LINES.finditer(text, start, end))
    for line in lines:
        is_call = _CALL.match(text, line.start()) is not None
        for piece in _PIECES.finditer(text, line.start(), line.end()):
            found = worths.keys() & set(terms(piece[0]))
            yield _Piece(piece.start(), piece.end(), frozenset(found), is_call)


def _around(pieces: Sequence[_Piece], worths: Sequence[float], room: int) -> tuple[int, int]:
    """From where to where the best piece goes with those beside it, the worthier side first."""
    first = last = max(range(len(pieces)), key=worths.__getitem__)  # of equal ones the first
    while True:
        sides = [nth for nth in (first - 1, last + 1) if 0 <= nth < len(pieces)]
        fitting = [nth for nth in sides if _length(pieces, min(first, nth), max(last, nth)) <= room]
        if not fitting:
            start = pieces[first].start
            return start, min(pieces[last].end, start + room)
        nearest = max(fitting, key=lambda nth: (worths[nth], nth))
        first, last = min(first, nearest), max(last, nearest)


def _length(pieces: Sequence[_Piece], first: int, last: int) -> int:
    return pieces[last].end - pieces[first].start
