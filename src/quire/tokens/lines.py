"""The line that reported usage follows: what every request adds, and by what counts are multiplied."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import combinations
from math import log
from typing import NamedTuple

LEAST_SCALE, MOST_SCALE = 0.25, 4.0
"""Factors beyond these are not believed: what they would explain is taken for overhead."""

_FEWEST = 4
"""Reports that a line with an overhead needs; with fewer, nearly any would fit."""

_SPREAD = 2.0
"""The largest request is at least so many times the smallest, or else nothing tells overhead from factor."""

_EVIDENCE = 8.0
"""How much likelier, as a logarithm, the reports must be with an overhead than without one."""

_FINE = 0.001
"""Mean errors below this are as good as none: counts are whole numbers."""

Point = tuple[int, int]
"""What was expected of a request, and what was reported."""


class Line(NamedTuple):
    """A request takes `overhead`, whatever is in it, and `factor` for each token that is expected."""

    overhead: float
    factor: float

    def at(self, expected: float) -> float:
        """Tokens of a request."""
        return self.overhead + self.factor * expected


def tells_overhead(points: Sequence[Point]) -> bool:
    """Whether requests are many enough, and differ enough, to tell an overhead from a factor."""
    expected = [point[0] for point in points]
    return len(points) >= _FEWEST and max(expected) >= _SPREAD * min(expected)


def fitted(points: Sequence[Point], held: float = 0.0) -> Line:
    """The line nearest to the points; `held` is the overhead that earlier points told.

    Near is the sum of the relative errors, not of their squares, so one odd report among many moves nothing.
    Where the points do not tell an overhead, the one that is held stands and the factor alone is fitted.
    """
    if not tells_overhead(points):
        return _factor_alone(points, held)
    relative = [(1 / reported, expected / reported) for expected, reported in points]
    plain = min((_factor_alone(points, overhead) for overhead in (0.0, held)), key=partial(_error, relative))
    # The line with the least sum of errors goes through two of the points, so there is nothing to search.
    sloped = min(_through_pairs(points), key=partial(_error, relative), default=plain)
    gain = log(max(_FINE, _error(relative, plain)) / max(_FINE, _error(relative, sloped)))
    # A line goes through two of the points whatever they are, so these two say nothing for it. The factor is
    # fitted once more, by all of the points.
    return _factor_alone(points, sloped.overhead) if (len(points) - 2) * gain > _EVIDENCE else plain


def _factor_alone(points: Sequence[Point], overhead: float) -> Line:
    factor = _median((reported - overhead) / expected for expected, reported in points)
    if LEAST_SCALE <= factor <= MOST_SCALE:
        return Line(overhead, factor)
    factor = MOST_SCALE if factor > MOST_SCALE else LEAST_SCALE
    return Line(max(0.0, _median(reported - factor * expected for expected, reported in points)), factor)


def _through_pairs(points: Sequence[Point]) -> Iterator[Line]:
    for (one, first), (other, second) in combinations(points, 2):
        factor = (second - first) / (other - one) if other != one else 0.0
        line = Line(first - factor * one, factor)
        if LEAST_SCALE <= factor <= MOST_SCALE and line.overhead >= 0:
            yield line


def _error(relative: Sequence[tuple[float, float]], line: Line) -> float:
    overhead, factor = line
    return sum([abs(overhead * one + factor * expected - 1) for one, expected in relative]) / len(relative)


def _median(numbers: Iterable[float]) -> float:
    # Not `statistics.median`: importing that module takes longer than importing all of this room.
    ordered = sorted(numbers)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
