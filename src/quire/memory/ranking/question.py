"""A question as it is looked for: parsed once, whatever index is asked."""

import re
from collections.abc import Container, Iterable, Sequence
from datetime import UTC, tzinfo

from msgspec import Struct
from msgspec.structs import replace

from quire.memory.dates import Span
from quire.memory.times import Dated, dated, is_by_calendar, readings, spans_of
from quire.memory.words import asks_for_nothing, terms

_LONGEST = 4_000
_MOST_TERMS = 64
_ASKS_WHEN = re.compile(
    r"\b(?:when|how long|(?:what|which) (?:date|day|month|year|time)|"
    r"wann|quand|cuando|cuándo|quando|wanneer)\b",
    re.IGNORECASE,
)
_DAY = 86_400.0
_LONGEST_DAY = 26 / 24 * _DAY
"""That on which clocks are put back: by an hour, and by two at the most."""

_TOLD_WITHIN = 10 * _DAY
"""What happens on a day is told on it, or some days later."""

_THE_DAY_AFTER = 0.6
"""What is told the day after counts so much of what is told on the day."""


class Question(Struct, frozen=True):
    """What is asked, with the terms it is looked for by and the time that it names.

    A question may be a whole turn; then its beginning and its end are read, as far as it is long. `vector` is
    what an embedding made of it, where there is one. `dated` are the terms that are of the time.
    `own` are the turns in which it is asked, each by its source and key: they do not answer it.
    `asks_what_was_said` is true where it asks that of a time, and nothing else. Days are those of `zone`.
    """

    text: str
    terms: tuple[str, ...]
    asks_when: bool
    span: Span | None
    vector: Sequence[float] | None = None
    dated: Dated = Dated()
    own: frozenset[tuple[str, str]] = frozenset()
    asks_what_was_said: bool = False
    zone: tzinfo = UTC

    @classmethod
    def of(
        cls, text: str, now: float, vector: Sequence[float] | None = None, *, zone: tzinfo = UTC
    ) -> "Question":
        """A question of somebody at a time and in a zone, for whom "last week" is the one before.

        A time that may be one of two is the first of them.
        """
        return cls.readings(text, now, vector, zone=zone)[0]

    @classmethod
    def readings(
        cls, text: str, now: float, vector: Sequence[float] | None = None, *, zone: tzinfo = UTC
    ) -> "list[Question]":
        """What a question may mean: one, or two where a date may be that of two days."""
        read = text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]} {text[-_LONGEST // 2 :]}"
        found = () if asks_for_nothing(text) else tuple(dict.fromkeys(terms(read)))[:_MOST_TERMS]
        spans = spans_of(read, now, zone)
        of_time = dated(read, spans)
        asks_when = _ASKS_WHEN.search(read) is not None
        times: Sequence[Span | None] = readings(spans) or (None,)
        return [cls(text, found, asks_when, span, vector, of_time, zone=zone) for span in times]

    def with_vector(self, vector: Sequence[float]) -> "Question":
        """The same with what an embedding made of it."""
        return replace(self, vector=vector)

    def asked_in(self, turns: Iterable[tuple[str, str]]) -> "Question":
        """The same as it is asked in some turns."""
        return replace(self, own=frozenset(turns))

    def among(self, speakers: Container[str]) -> "Question":
        """The same as it is asked where some may be named: "What did Ana say last week?" wants no "say".

        What is on Friday may be what somebody said of a Friday, long before; what was, is told that day.
        """
        left = tuple(term for term in self.terms if term not in self.dated.talk)
        is_other = any(not self.dated.is_time(term) and term not in speakers for term in left)
        if self.span is None or not self.dated.is_past or is_other:
            return self
        return replace(self, terms=left, asks_what_was_said=True)

    def meant(self) -> tuple[float, float] | None:
        """From when to when something may have been said that is from the time named."""
        if self.span is None:
            return None
        return self.span.start, self.span.end + (_TOLD_WITHIN if self._is_date(self.span) else 0.0)

    def times(self) -> list[tuple[float, float]]:
        """The time named, and where it is narrower what is meant by it."""
        meant = self.meant()
        if self.span is None or meant is None:
            return []
        named = self.span.start, self.span.end
        return [meant] if named == meant else [named, meant]

    def nearness(self, at: float) -> float:
        """How near a time is to the one named: 1 within it, less with each day after it.

        So where something is told of every day, that of the day itself comes first.
        """
        if self.span is None or at < self.span.start:
            return 0.0
        if at < self.span.end:
            return 1.0
        late = (at - self.span.end) // _DAY * _DAY / _TOLD_WITHIN
        return _THE_DAY_AFTER * (1 - late) if late < 1 and self._is_date(self.span) else 0.0

    @staticmethod
    def _is_date(span: Span) -> bool:
        return span.end - span.start <= _LONGEST_DAY and is_by_calendar(span.words)
