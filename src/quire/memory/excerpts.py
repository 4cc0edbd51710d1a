"""Excerpts: the sentences of a long text that have most of a question; a mark stands for the others."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from math import log
from typing import NamedTuple

from quire.memory.leaf import LETTERS_READ, Leaf
from quire.memory.quotes import BAR, SHORT, Shorten
from quire.memory.words import language_of, related, terms

_STRETCH = 2.2
"""How many times longer than asked an excerpt may be, to end its sentence."""

_LONGEST_PIECE = 80
_CALL_WORTH = 0.1
"""The share that the words of a tool call count: they are no answer."""

_FIRST_WORTH = 0.15
"""What the first sentence is worth, as a share of the whole question: people begin with what it is about."""

_RELATED_WORTH = 0.3
_GAP = " … "
_CALL = re.compile(r"(?:\S{1,40}: |\| )?\[called ")
_LINES = re.compile(r"[^\n]+")
_PIECES = re.compile(rf"\S.{{0,{_LONGEST_PIECE - 1}}}(?=\s|$)|\S{{1,{_LONGEST_PIECE}}}")
_ENDS = ".!?\u3002\uff1f"
_SENTENCES = re.compile(rf"\S[^{_ENDS}]*(?:[{_ENDS}]++(?!\s|$)[^{_ENDS}]*)*[{_ENDS}]*")


def shortener(leaf: Leaf, asked: Sequence[str], start: str) -> Shorten | None:
    """Return a function that shortens the line of a leaf around the `asked` terms; none for a short leaf.

    A shortened line still begins with `start`, the speaker: otherwise quoted text would begin the line.
    """
    if len(leaf.said) <= SHORT:
        return None
    read: dict[str, Excerpt] = {}

    def shorten(line: str, characters: int) -> str:
        if line not in read:
            # A redacted line may begin with other words. Then all of it is quoted text.
            begin, text = (start, line) if line.startswith(start) else (BAR, f"{BAR}{line}")
            read[line] = Excerpt(text, term_worths(asked), begin)
        return read[line].cut(characters, _STRETCH)

    return shorten


def term_worths(asked: Iterable[str]) -> dict[str, float]:
    """Return the worth of the asked terms, and of the related terms that may stand for them."""
    asked = list(asked)
    others = (other for term in asked for other in related(term))
    return dict.fromkeys(others, _RELATED_WORTH) | dict.fromkeys(asked, 1.0)


class _Sentence(NamedTuple):
    start: int
    end: int
    found: Set[str]
    share: float
    """How much its words count."""


class Excerpt:
    """A text in sentences, of which those with most of the asked terms can be cut out; rare terms count more.

    A part begins with `start`, if the text does.
    """

    def __init__(self, text: str, worths: Mapping[str, float], start: str = "") -> None:
        self._text, self._start = text, start.rstrip()
        self._language = language_of(text[len(self._start) :])
        self._sentences = list(self._split(worths))
        times = Counter(term for one in self._sentences for term in one.found)
        rare = {term: worths[term] * log(1 + len(self._sentences) / count) for term, count in times.items()}
        worth = [one.share * sum(map(rare.__getitem__, one.found)) for one in self._sentences]
        if worth and self._sentences[0].share == 1.0:
            worth[0] += _FIRST_WORTH * sum(rare.values())
        self._order = sorted(range(len(worth)), key=lambda nth: -worth[nth])
        self._rare = rare

    def cut(self, characters: int, stretch: float = 1.0) -> str:
        """Return the best sentences in so many characters, or the part of the best one that fits.

        With `stretch`, the best may be so many times longer than `characters`, to be whole.
        """
        text, characters = self._text, max(characters, len(self._start))
        if not self._sentences or len(text) <= characters:
            return text[:characters]
        frame = len(self._start) + 2 * len(_GAP)
        best, *others = self._order
        first = self._sentences[best]
        if first.end - first.start + frame > stretch * characters:
            return self._joined([self._part(first, characters - frame)])[:characters]
        spans, left = [(first.start, first.end)], characters - frame - (first.end - first.start)
        for one in map(self._sentences.__getitem__, others):
            left -= one.end - one.start + len(_GAP)
            if left < 0:
                break
            spans.append((one.start, one.end))
        return self._joined(sorted(spans))

    def _joined(self, spans: Sequence[tuple[int, int]]) -> str:
        """Return parts of the text in order, with a mark where something is left out."""
        text, at = self._text, len(self._start)
        parts = [self._start]
        for start, end in spans:
            between = text[at:start]
            is_next = not between.removeprefix(f"\n{BAR}").strip()
            parts += [between if is_next else _GAP, text[start:end]]
            at = end
        return "".join(parts).strip() + (_GAP.rstrip() if text[at:].strip() else "")

    def _part(self, sentence: _Sentence, room: int) -> tuple[int, int]:
        """Return the part of a long sentence, or of a line without any, that has most of the question."""
        pieces = [found.span() for found in _PIECES.finditer(self._text, sentence.start, sentence.end)]
        worths = [
            sum(map(self._rare.__getitem__, self._found(self._text[start:end], self._rare)))
            for start, end in pieces
        ]
        first = last = max(range(len(pieces)), key=worths.__getitem__)
        while True:
            sides = [(first - 1, last), (first, last + 1)]
            inside = [(low, high) for low, high in sides if low >= 0 and high < len(pieces)]
            fitting = [one for one in inside if pieces[one[1]][1] - pieces[one[0]][0] <= room]
            if not fitting:
                start = pieces[first][0]
                return start, max(start, min(pieces[last][1], start + room))
            first, last = max(fitting, key=lambda one: (worths[one[0] if one[0] < first else one[1]], one[1]))

    def _split(self, worths: Mapping[str, float]) -> Iterator[_Sentence]:
        text, start = self._text, len(self._start)
        for line in _LINES.finditer(text, 0, LETTERS_READ):
            begin = max(start, line.start() + len(BAR) * text.startswith(BAR, line.start()))
            share = 1.0 if _CALL.match(text, line.start()) is None else _CALL_WORTH
            for one in _SENTENCES.finditer(text, begin, line.end()):
                yield _Sentence(one.start(), one.end(), self._found(one[0], worths), share)

    def _found(self, text: str, worths: Mapping[str, float]) -> Set[str]:
        return worths.keys() & terms(text, language=self._language)
