"""Excerpts: the sentences of a long text that match a question best, with a mark for those left out."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from math import log
from typing import NamedTuple

from quire.memory.leaf import MAX_TEXT_LENGTH, Leaf
from quire.memory.quotes import BAR, SHORT, Shorten
from quire.memory.words import language_of, related, terms

_STRETCH = 2.2
"""An excerpt may be this many times longer than requested, to end its sentence."""

_LONGEST_PIECE = 80
_CALL_WORTH = 0.1
"""The weight of the words of a tool call, which are hardly an answer."""

_FIRST_WORTH = 0.15
"""The bonus of the first sentence, as a share of the whole question: people begin with the topic."""

_RELATED_WORTH = 0.3
_GAP = " … "
_CALL = re.compile(r"(?:\S{1,40}: |\| )?\[called ")
_LINES = re.compile(r"[^\n]+")
_PIECES = re.compile(rf"\S.{{0,{_LONGEST_PIECE - 1}}}(?=\s|$)|\S{{1,{_LONGEST_PIECE}}}")
_ENDS = ".!?\u3002\uff1f"
_SENTENCES = re.compile(rf"\S[^{_ENDS}]*(?:[{_ENDS}]++(?!\s|$)[^{_ENDS}]*)*[{_ENDS}]*")


def shortener(leaf: Leaf, asked: Sequence[str], start: str) -> Shorten | None:
    """Return a function that shortens the line of a leaf to its best match of the `asked` terms.

    None for a short leaf. A shortened line still begins with `start`, the speaker: quoted text never begins a
    line.
    """
    if len(leaf.said) <= SHORT:
        return None
    excerpts: dict[str, Excerpt] = {}

    def shorten(line: str, characters: int) -> str:
        if line not in excerpts:
            # A redacted line may begin with other words. Then all of it is quoted text.
            begin, text = (start, line) if line.startswith(start) else (BAR, f"{BAR}{line}")
            excerpts[line] = Excerpt(text, term_worths(asked), begin)
        return excerpts[line].cut(characters, _STRETCH)

    return shorten


def term_worths(asked: Iterable[str]) -> dict[str, float]:
    """Return the weights of the asked terms and of their related terms."""
    asked = list(asked)
    others = (other for term in asked for other in related(term))
    return dict.fromkeys(others, _RELATED_WORTH) | dict.fromkeys(asked, 1.0)


class _Sentence(NamedTuple):
    start: int
    end: int
    matches: Set[str]
    share: float
    """The weight of its matches, as a share of that of other sentences."""


class Excerpt:
    """A text in sentences, which are ranked by the asked terms that they have; rare terms weigh more.

    `start` is the beginning of the text that every part keeps.
    """

    def __init__(self, text: str, worths: Mapping[str, float], start: str = "") -> None:
        self._text, self._start = text, start.rstrip()
        self._language = language_of(text[len(self._start) :])
        self._sentences = list(self._split(worths))
        counts = Counter(term for sentence in self._sentences for term in sentence.matches)
        self._worths = {
            term: worths[term] * log(1 + len(self._sentences) / count) for term, count in counts.items()
        }
        scores = [each.share * sum(map(self._worths.__getitem__, each.matches)) for each in self._sentences]
        if scores and self._sentences[0].share == 1.0:
            scores[0] += _FIRST_WORTH * sum(self._worths.values())
        self._order = sorted(range(len(scores)), key=lambda nth: -scores[nth])

    def cut(self, characters: int, stretch: float = 1.0) -> str:
        """Return the best sentences in at most `characters`, or the part of the best one that fits.

        With `stretch`, a whole best sentence may be that many times longer.
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
        for sentence in map(self._sentences.__getitem__, others):
            left -= sentence.end - sentence.start + len(_GAP)
            if left < 0:
                break
            spans.append((sentence.start, sentence.end))
        return self._joined(sorted(spans))

    def _joined(self, spans: Sequence[tuple[int, int]]) -> str:
        """Join parts of the text, with a mark where something is left out."""
        text, at = self._text, len(self._start)
        parts = [self._start]
        for start, end in spans:
            between = text[at:start]
            is_next = not between.removeprefix(f"\n{BAR}").strip()
            parts += [between if is_next else _GAP, text[start:end]]
            at = end
        return "".join(parts).strip() + (_GAP.rstrip() if text[at:].strip() else "")

    def _part(self, sentence: _Sentence, room: int) -> tuple[int, int]:
        """Return the part of a long sentence that matches the question best."""
        pieces = [match.span() for match in _PIECES.finditer(self._text, sentence.start, sentence.end)]
        worths = [
            sum(map(self._worths.__getitem__, self._matches(self._text[start:end], self._worths)))
            for start, end in pieces
        ]
        first = last = max(range(len(pieces)), key=worths.__getitem__)
        while True:
            sides = [(first - 1, last), (first, last + 1)]
            inside = [(low, high) for low, high in sides if low >= 0 and high < len(pieces)]
            fitting = [(low, high) for low, high in inside if pieces[high][1] - pieces[low][0] <= room]
            if not fitting:
                start = pieces[first][0]
                return start, max(start, min(pieces[last][1], start + room))
            # The better of the two pieces beside; of equal ones the later.
            first, last = max(fitting, key=lambda new: (worths[new[0] if new[0] < first else new[1]], new[1]))

    def _split(self, worths: Mapping[str, float]) -> Iterator[_Sentence]:
        text, start = self._text, len(self._start)
        for line in _LINES.finditer(text, 0, MAX_TEXT_LENGTH):
            begin = max(start, line.start() + len(BAR) * text.startswith(BAR, line.start()))
            share = 1.0 if _CALL.match(text, line.start()) is None else _CALL_WORTH
            for match in _SENTENCES.finditer(text, begin, line.end()):
                yield _Sentence(match.start(), match.end(), self._matches(match[0], worths), share)

    def _matches(self, text: str, worths: Mapping[str, float]) -> Set[str]:
        return worths.keys() & terms(text, language=self._language)
