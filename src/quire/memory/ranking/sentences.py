"""What of a text tells and what asks, and whether it says a time."""

import re
from collections.abc import Iterable

from quire.memory.words import terms

# Not every dot is an end: 3.5 and config.py have one inside.
_BETWEEN_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+|(?<=[\u3002\uff1f\u061f])")
_ASKING = ("?", "\uff1f", "\u061f")
_TIMES = """
yesterday today tonight tomorrow last ago next week weekend month year recently morning monday tuesday
wednesday thursday friday saturday sunday
january february march april june july august september october november
december birthday anniversary summer winter autumn spring
"""
_TIME_TERMS = frozenset(terms(_TIMES))
_YEAR_DIGITS = 4


def told_and_asked(text: str) -> tuple[str, str]:
    """The statements of a text, and its questions."""
    if not any(mark in text for mark in _ASKING):
        return text, ""
    told: list[str] = []
    asked: list[str] = []
    for sentence in filter(None, _BETWEEN_SENTENCES.split(text)):
        (asked if sentence.rstrip().endswith(_ASKING) else told).append(sentence)
    return " ".join(told), " ".join(asked)


def says_time(words: Iterable[str]) -> bool:
    """Whether the words of a text tell when something was."""
    return any(word in _TIME_TERMS or (len(word) == _YEAR_DIGITS and word.isdigit()) for word in words)
