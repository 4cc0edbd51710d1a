"""How time is asked for: the interval that a question means, and the words that a date goes by."""

from quire.memory.times.asking import date_words, span_of
from quire.memory.times.span import Span

__all__ = ["Span", "date_words", "span_of"]
