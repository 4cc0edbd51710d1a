"""Excerpts: the part of a long text around the words that were asked for, marked as a part."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import log
from typing import NamedTuple

from quire.memory.leaf import LETTERS_READ, Leaf
from quire.memory.quotes import BAR, Shorten, one_line
from quire.memory.words import related, terms

LONG = 600
"""Characters up to which a text is quoted whole or not at all."""

_LONGEST_PIECE = 80
_LONGEST_HEAD = 120
_SHORTEST_PART = 80
_MOST_IDS = 3
_CALL_WORTH = 0.1
"""The share that the words of a tool call, and the first words of a text, count: they are no answer."""

_RELATED_WORTH = 0.3
_GAP = " … "
_CALL = re.compile(r"(?:\S{1,40}: |\| )?\[called ")
_LINES = re.compile(r"[^\n]+")
_PIECES = re.compile(rf"\S.{{0,{_LONGEST_PIECE - 1}}}(?=\s|$)|\S{{1,{_LONGEST_PIECE}}}")


def shortener(leaf: Leaf, asked: Sequence[str], start: str) -> Shorten | None:
    """Return a function that shortens the line of a leaf around the `asked` terms; none for a short leaf.

    A shortened line still begins with `start`, the speaker: otherwise quoted text would begin the line.
    """
    if len(leaf.said) <= LONG:
        return None
    read: dict[str, Excerpt] = {}

    def shorten(line: str, characters: int) -> str:
        if line not in read:
            # A redacted line may begin with other words. Then all of it is quoted text.
            begin, text = (start, line) if line.startswith(start) else (BAR, f"{BAR}{line}")
            read[line] = Excerpt(text, term_worths(asked), begin)
        mark = f" [an excerpt: the whole has {len(line):,} letters and is {_where(leaf)}]"
        return read[line].cut(characters - len(mark)) + mark

    return shorten


def _where(leaf: Leaf) -> str:
    if leaf.kind == "document":
        return f"in {one_line(leaf.transcript)}"
    more = len(leaf.ids) - _MOST_IDS
    return f"item {', '.join(leaf.ids[:_MOST_IDS])}" + (f" and {more} more" if more > 0 else "")


def term_worths(asked: Iterable[str]) -> dict[str, float]:
    """Return the worth of the asked terms, and of the related terms that may stand for them."""
    asked = list(asked)
    others = (other for term in asked for other in related(term))
    return dict.fromkeys(others, _RELATED_WORTH) | dict.fromkeys(asked, 1.0)


class _Piece(NamedTuple):
    start: int
    end: int
    found: frozenset[str]
    is_call: bool


class Excerpt:
    """A text in pieces, of which the part with the most asked terms can be cut; rare terms count more.

    A part begins with `start`, if the text does.
    """

    def __init__(self, text: str, worths: Mapping[str, float], start: str = "") -> None:
        self._text, self._start = text, start.rstrip()
        self._pieces = list(_pieces(text, worths))
        times = Counter(term for piece in self._pieces for term in piece.found)
        rare = {term: worths[term] * log(1 + len(self._pieces) / count) for term, count in times.items()}
        self._worths = [sum(map(rare.__getitem__, _longest(piece.found))) for piece in self._pieces]
        for index, piece in enumerate(self._pieces):
            if piece.is_call or index == 0:
                self._worths[index] *= _CALL_WORTH

    def cut(self, characters: int) -> str:
        """Return the best part in at most so many characters, after the first words if there is room."""
        text, pieces = self._text, self._pieces
        if not pieces:
            return text[: max(0, characters)]
        first, characters = pieces[0], max(characters, len(self._start))
        head = text[first.start : max(len(self._start), min(first.end, first.start + _LONGEST_HEAD))]
        if characters - len(head) - 2 * len(_GAP) < _SHORTEST_PART:
            head = self._start
        start, end = self._best(max(0, characters - len(head) - 2 * len(_GAP)))
        if start <= len(head) + first.start:
            head, start, end = "", first.start, first.start + max(characters - len(_GAP), len(self._start))
        before = f"{head}{_GAP}" if start > first.start else ""
        return f"{before}{text[start:end].rstrip()}{_GAP.rstrip()}"[:characters]

    def _best(self, room: int) -> tuple[int, int]:
        """Return where the best piece begins and ends, with the pieces beside it, the better side first."""
        pieces, worths = self._pieces, self._worths
        first = last = max(range(len(pieces)), key=worths.__getitem__)
        while True:
            spans = [(first - 1, last), (first, last + 1)]
            inside = [(low, high) for low, high in spans if low >= 0 and high < len(pieces)]
            fitting = [one for one in inside if pieces[one[1]].end - pieces[one[0]].start <= room]
            if not fitting:
                start = pieces[first].start
                return start, min(pieces[last].end, start + room)
            first, last = max(fitting, key=lambda one: (worths[one[0] if one[0] < first else one[1]], one[1]))


def _longest(found: frozenset[str]) -> Iterable[str]:
    """Leave out the terms that are a part of another: an identifier is asked for whole and in parts."""
    return (term for term in found if not any(term != other and term in other for other in found))


def _pieces(text: str, worths: Mapping[str, float]) -> Iterator[_Piece]:
    for line in _LINES.finditer(text, 0, LETTERS_READ):
        is_call = _CALL.match(text, line.start()) is not None
        for piece in _PIECES.finditer(text, line.start(), line.end()):
            found = worths.keys() & set(terms(piece[0]))
            yield _Piece(piece.start(), piece.end(), frozenset(found), is_call)
