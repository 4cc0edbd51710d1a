"""How time is asked for: the interval that a question means, and the words that a date goes by."""

from quire.memory.times.asking import date_words, readings, span_of, spans_of, surest
from quire.memory.times.dated import Dated, dated, is_by_calendar
from quire.memory.times.span import Span
from quire.memory.times.zone import shown_at, time_of_clock, zone_of

__all__ = [
    "Dated",
    "Span",
    "date_words",
    "dated",
    "is_by_calendar",
    "readings",
    "shown_at",
    "span_of",
    "spans_of",
    "surest",
    "time_of_clock",
    "zone_of",
]
