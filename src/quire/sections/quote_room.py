"""Quotes put into so many tokens, the worthiest first, each counted by itself."""

from collections.abc import Callable

from quire.sections.quote import Key, Quote, Shorter

_TOO_LITTLE = 4
"""Tokens in which no line worth telling has room."""

_FEWEST_LETTERS = 200
"""A part of a line that is shorter than this says too little to be worth its mark."""

_MOST_MISSES = 20
"""After so many in a row that have no room, there is hardly one that has: and each takes a while to count."""

_IN_PART = "it is long, and told in part"
_TOO_LONG = "it is longer than the room that was left"


class Room:
    """So many tokens, and the quotes that are `kept` in them.

    `length` gives the tokens of a message of one line, and what was too long is said in `remarks`. None that
    can be told in part takes more than `longest`, unless that is too little to say something.
    """

    def __init__(
        self, tokens: int, longest: int, length: Callable[[str], int], remarks: dict[Key, str]
    ) -> None:
        self.kept: list[Quote] = []
        self._left, self._longest, self._length = tokens, longest, length
        self._frame, self._remarks = length(""), remarks
        self._headings, self._misses = {""}, 0

    @property
    def is_full(self) -> bool:
        """Whether there is no use in offering more."""
        return self._left < _TOO_LITTLE or self._misses == _MOST_MISSES

    def offer(self, quote: Quote) -> None:
        """Keep a quote if there is room for it, be it in part."""
        fitting = self._fitting(quote)
        if fitting is None:
            self._misses += 1
            return
        self._left -= self._length(fitting.line) - self._frame + self._heading(fitting)
        self._headings.add(fitting.heading)
        self.kept.append(fitting)
        self._misses = 0

    def _heading(self, quote: Quote) -> int:
        return 0 if quote.heading in self._headings else self._length(quote.heading) - self._frame

    def _fitting(self, quote: Quote) -> Quote | None:
        """A quote as there is room for it: whole, or what matters most of it where that can be told."""
        beside = self._frame - self._heading(quote)
        line = quote.line if quote.shorter is None else self._shortened(quote, quote.shorter, beside)
        if self._length(line) > self._left + beside:
            self._remarks[quote.key] = _TOO_LONG
            return None
        if line is quote.line:
            return quote
        self._remarks[quote.key] = _IN_PART
        return quote._replace(line=line)

    def _shortened(self, quote: Quote, shorter: Shorter, beside: int) -> str:
        """As much of a line as one may take; more than that where it would say too little."""
        room = min(self._left, self._longest) + beside
        line, letters = quote.line, len(quote.line)
        while (length := self._length(line)) > room and letters > _FEWEST_LETTERS:
            letters = max(_FEWEST_LETTERS, min(letters - 1, letters * room // length * 9 // 10))
            line = shorter(quote.line, letters)
        return line
