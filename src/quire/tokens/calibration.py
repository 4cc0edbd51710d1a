"""A counter that learns from the usage that a provider reports. It corrects totals and never counts again.

Reports follow a line: a request takes an overhead, once, and a factor times what the wrapped counter expects.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import combinations
from math import log
from typing import NamedTuple

import msgspec

from quire.errors import WrongType
from quire.items import Item
from quire.tokens.counter import Counter, Definition, checked_counter, count_by, count_of, total_by, whole
from quire.tokens.measured import schema_tokens

WINDOW = 16
"""How many of the latest reports are used: enough to be steady, few enough to follow a change."""

ENOUGH = 4
"""How many predictions must have met their report before an error bound is given."""

LEAST_SCALE, MOST_SCALE = 0.25, 4.0
"""Factors beyond these are not believed: what they would explain is taken for overhead."""

_MARGIN = 1.25  # the next error may be larger than the largest recent one
_FEWEST = 4  # reports that a line with an overhead needs; with fewer, nearly any line would fit
_SPREAD = 2.0  # the largest request over the smallest; below it nothing tells overhead from factor
_EVIDENCE = 8.0  # how much likelier, as a logarithm, the reports must be with an overhead than without
_FINE = 0.001  # smaller mean errors are as good as none: counts are whole numbers


class Sample(msgspec.Struct, frozen=True, gc=False):
    """One request: what its items counted, what the provider reported, and what had been predicted."""

    counted: int
    reported: int
    predicted: int

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            whole(getattr(self, name), f"Sample.{name}", least=1)


class Calibration(msgspec.Struct, frozen=True):
    """What was learned, for a later `Calibrated`; `key` is that of the counter it was learned with.

    `overhead` is the overhead that was known before the last sample; the samples that told it may be gone.
    """

    key: str
    samples: tuple[Sample, ...] = ()
    overhead: float = 0.0


class Calibrated:
    """Wraps a counter and corrects its totals by the overhead and the factor that reports follow.

    The overhead is what nobody counts: the provider's framing, or tools that are left out of `counted`. It
    stays zero until reports of different sizes show it; one odd report changes nothing. A `state` that was
    learned with a counter of another key is not used.
    """

    def __init__(self, counter: Counter, state: Calibration | None = None) -> None:
        if not isinstance(state, Calibration | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"the state is a Calibration, not {type(state).__name__}")
        self.counter = checked_counter(counter)
        self._samples: tuple[Sample, ...] = ()
        self._line = _Line(0.0, 1.0)
        self._overhead = self._earlier_overhead = 0.0  # told by the samples, and by those before the last
        if state is not None and state.key == counter.key:
            self._overhead = state.overhead
            self._learn(state.samples)

    @property
    def key(self) -> str:
        """That of the wrapped counter: its counts stay valid."""
        return self.counter.key

    @property
    def factor(self) -> float:
        """What counts of items and tools are multiplied by; 1 until something was learned."""
        return self._line.factor

    @property
    def overhead(self) -> float:
        """Tokens that a request takes beyond its counts, in `total` alone; 0 until reports show it."""
        return self._line.overhead

    @property
    def state(self) -> Calibration:
        """What was learned so far: enough to continue from here."""
        return Calibration(self.key, self._samples, self._earlier_overhead)

    @property
    def error_bound(self) -> float | None:
        """How far off the next total may be, as a part of it; None until enough predictions met their report.

        It is the largest error among the latest predictions, each made before its report was learned, without
        one outlier in eight, and widened by a quarter. More than nine in ten of requests like the latest ones
        keep within it; it is not a guarantee.
        """
        # The first prediction was made before anything was known.
        errors = sorted(abs(sample.predicted / sample.reported - 1) for sample in self._samples[1:])
        if len(errors) < ENOUGH:
            return None
        return _MARGIN * errors[-1 - len(errors) // 8]

    def count(self, item: Item) -> int:
        """Tokens of one item, as the wrapped counter counts them: cached counts stay valid."""
        return count_by(self.counter, item)

    def corrected(self, counted: int) -> int:
        """What items that add up to `counted` take of a request: `counted` times the factor."""
        return round(self._line.factor * count_of(counted, "counted"))

    def total(self, counted: int) -> int:
        """Tokens of a request: the overhead, and the total of the wrapped counter times the factor."""
        return round(self._line.at(self._expected(counted)))

    def count_tools(self, tools: Sequence[Definition]) -> int:
        """Tokens that tool definitions add to a request: the wrapped counter's count, times the factor."""
        return self.corrected(schema_tokens(tools, self.counter))

    def learn(self, counted: int, reported: int) -> None:
        """Learn what a provider reported for a request whose items added up to `counted`.

        `counted` is not corrected: it is `view.counted(calibrated)` of what was sent and, where tools change
        from request to request, `schema_tokens(tools, calibrated.counter)` with it. `reported` is all input.
        """
        whole(counted, "counted", least=1)
        self._learn((*self._samples, Sample(counted, reported, max(1, self.total(counted)))))

    def _expected(self, counted: int) -> int:
        return total_by(self.counter, count_of(counted, "counted"))

    def _learn(self, samples: Sequence[Sample]) -> None:
        self._samples = tuple(samples[-WINDOW:])
        self._earlier_overhead = self._overhead
        points = [(max(1, self._expected(sample.counted)), sample.reported) for sample in self._samples]
        if points:
            self._line = _fitted(points, self._overhead)
            if _tells_overhead(points):
                self._overhead = self._line.overhead


# Fitting

_Point = tuple[int, int]  # what was expected of a request, and what was reported


class _Line(NamedTuple):
    overhead: float
    factor: float

    def at(self, expected: float) -> float:
        return self.overhead + self.factor * expected


def _tells_overhead(points: Sequence[_Point]) -> bool:
    """Whether there are enough requests, of sizes different enough, to tell an overhead from a factor."""
    expected = [point[0] for point in points]
    return len(points) >= _FEWEST and max(expected) >= _SPREAD * min(expected)


def _fitted(points: Sequence[_Point], earlier: float) -> _Line:
    """The line nearest to the points; `earlier` is the overhead that earlier points told.

    The distance is the sum of relative errors, not of their squares, so that one odd report moves nothing.
    Where the points do not tell an overhead, the earlier one stays and only the factor is fitted.
    """
    if not _tells_overhead(points):
        return _with_overhead(points, earlier)
    relative = [(1 / reported, expected / reported) for expected, reported in points]
    error = partial(_mean_error, relative)
    plain = min((_with_overhead(points, overhead) for overhead in (0.0, earlier)), key=error)
    # The line with the least sum of errors goes through two of the points: there is nothing to search.
    sloped = min(_through_pairs(points), key=error, default=plain)
    gain = log(max(_FINE, error(plain)) / max(_FINE, error(sloped)))
    # A line goes through two points whatever they are, so these two are no evidence.
    return _with_overhead(points, sloped.overhead) if (len(points) - 2) * gain > _EVIDENCE else plain


def _with_overhead(points: Sequence[_Point], overhead: float) -> _Line:
    factor = _median((reported - overhead) / expected for expected, reported in points)
    if LEAST_SCALE <= factor <= MOST_SCALE:
        return _Line(overhead, factor)
    factor = MOST_SCALE if factor > MOST_SCALE else LEAST_SCALE
    return _Line(max(0.0, _median(reported - factor * expected for expected, reported in points)), factor)


def _through_pairs(points: Sequence[_Point]) -> Iterator[_Line]:
    for (one, first), (other, second) in combinations(points, 2):
        factor = (second - first) / (other - one) if other != one else 0.0
        line = _Line(first - factor * one, factor)
        if LEAST_SCALE <= factor <= MOST_SCALE and line.overhead >= 0:
            yield line


def _mean_error(relative: Sequence[tuple[float, float]], line: _Line) -> float:
    overhead, factor = line
    return sum([abs(overhead * one + factor * expected - 1) for one, expected in relative]) / len(relative)


def _median(numbers: Iterable[float]) -> float:
    # Not `statistics.median`: importing that module takes longer than importing this package.
    ordered = sorted(numbers)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
