"""Every text that a pattern of times takes is read without a fault: all its words, each with each other."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice, product
from random import Random
from typing import Any

import pytest

from quire.memory.times import shown_at, spans_of
from quire.memory.times.calendar_dates import DATES, Asked, Reader, readable
from quire.memory.times.relative import RELATIVE
from quire.memory.times.span import day_of
from quire.memory.times.stretches import STRETCHES
from quire.memory.times.weekdays import DAYS_IN_WORDS, WEEKDAYS

PATTERNS = (*STRETCHES, *DAYS_IN_WORDS, *DATES, *WEEKDAYS, *RELATIVE)
NOW = shown_at(datetime(2024, 2, 29, 15, 30, tzinfo=UTC).timestamp(), UTC)
_MOST = 800
_REPEATED = 2


def texts(pattern: str) -> list[str]:
    """What a pattern takes: all of it where that is not much, and else many mixtures of its parts."""
    return _rows(list(re._parser.parse(pattern)), {})  # type: ignore[attr-defined]  # pyright: ignore


def _rows(parts: Sequence[Any], groups: dict[int, list[str]]) -> list[str]:
    ways = [_ways(str(kind), value, groups) for kind, value in parts]
    count = 1
    for one in ways:
        count *= len(one)
    if count <= _MOST:
        return ["".join(row) for row in product(*ways)]
    drawn = [Random(nth).choices(one, k=_MOST) for nth, one in enumerate(ways)]
    return ["".join(row) for row in zip(*drawn, strict=True)]


def _ways(kind: str, value: Any, groups: dict[int, list[str]]) -> list[str]:
    match kind:
        case "LITERAL":
            return [chr(value)]
        case "NOT_LITERAL" | "ANY":
            return ["x"]
        case "IN":
            return list(islice(_letters(value), 10))
        case "BRANCH":
            return [text for one in value[1] for text in _rows(one, groups)]
        case "SUBPATTERN":
            groups[value[0]] = _rows(value[3], groups)
            return groups[value[0]]
        case "MAX_REPEAT":
            least, most, inner = value
            once = _rows(inner, groups)
            counts = sorted({least, min(most, max(least, _REPEATED))})
            return [one * many for many in counts for one in (once if many else [""])]
        case "GROUPREF":
            return groups[value][:1]
        case _:  # what only looks around
            return [""]


def _letters(value: Sequence[Any]) -> Iterator[str]:
    for kind, what in value:
        match str(kind):
            case "LITERAL":
                yield chr(what)
            case "RANGE":
                yield from map(chr, range(what[0], what[1] + 1))
            case _:
                yield " "


@pytest.mark.parametrize(("pattern", "reader"), PATTERNS, ids=[reader.__name__ for _, reader in PATTERNS])
@pytest.mark.parametrize("led", ["", "in the ", "Since "])
def test_all_that_a_pattern_takes_is_read(led: str, pattern: str, reader: Reader) -> None:
    drawn = texts(pattern)
    assert sum(re.search(pattern, text) is not None for text in drawn) > len(drawn) / 10
    for text in drawn:
        asked = Asked(led.lower() + text, led + text, NOW, day_of(NOW))
        for _, period in readable(asked, ((pattern, reader),)):
            assert 0 < period.sure <= 1 and period.start <= period.end


@pytest.mark.parametrize("which", ["last", "past", "previous", "this"])
@pytest.mark.parametrize(
    "unit", ["minute", "hour", "day", "week", "fortnight", "month", "quarter", "year", "decade"]
)
def test_each_unit_back_is_a_time_or_none(which: str, unit: str) -> None:
    (span,) = spans_of(f"What did we do during the {which} {unit}?", NOW)
    assert span.start < span.end and span.start < NOW and span.words == f"{which} {unit}"
