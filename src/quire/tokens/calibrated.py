"""A counter that learns from the usage a provider reports. It corrects sums and never counts items again."""

from collections.abc import Sequence
from typing import Any

import msgspec

from quire.errors import WrongType
from quire.items import Item
from quire.tokens.asking import checked_counter, count_by, total_by
from quire.tokens.counter import Counter, Definition
from quire.tokens.lines import Line, fitted, tells_overhead
from quire.tokens.numbers import count_of, named, number, whole
from quire.tokens.schemas import schema_tokens

WINDOW = 16
"""How many of the latest reports are looked at: enough to be steady, few enough to follow a change."""

ENOUGH = 4
"""How many predictions must have met their report before an error is stated."""

_MARGIN = 1.25
"""By how much the largest recent error is widened, since the next one may be larger."""


class Sample(msgspec.Struct, frozen=True, gc=False):
    """One request: what its items counted, what the provider reported, and what had been predicted."""

    counted: int
    reported: int
    predicted: int

    def __post_init__(self) -> None:
        for name in ("counted", "reported", "predicted"):
            whole(getattr(self, name), name, least=1)


class Calibration(msgspec.Struct, frozen=True):
    """What was learned, to be kept for a later `Calibrated`; `key` is of the counter it was learned with."""

    key: str
    samples: tuple[Sample, ...] = ()
    overhead: float = 0.0
    """The overhead that was known when the last sample came; the samples that told it may be gone."""

    def __post_init__(self) -> None:
        named(self.key, "Calibration.key")
        number(self.overhead, "Calibration.overhead", least=0)
        samples: Any = self.samples  # structs do not look at what they are given
        if not isinstance(samples, tuple) or not all(isinstance(s, Sample) for s in samples):  # pyright: ignore[reportUnknownVariableType]
            raise WrongType("Calibration.samples is a tuple of samples, not anything else")


class Calibrated:
    """Wraps a counter and corrects its totals by the overhead and the factor that reports follow.

    A request takes `overhead`, once, and `factor` times what the wrapped counter expects of it. The overhead
    is what nobody counts: framing of the provider, or tools that were left out of `counted`. It stays zero
    until reports of different sizes show it; one report that holds something unseen changes nothing.
    A `state` that was learned with a counter of another key says nothing about this one, and is not used.
    """

    def __init__(self, counter: Counter, state: Calibration | None = None) -> None:
        if not isinstance(state, Calibration | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"what was learned is a Calibration, not {type(state).__name__}")
        self.counter = checked_counter(counter)
        self._samples: tuple[Sample, ...] = ()
        self._line = Line(0.0, 1.0)
        self._told_overhead = self._held_overhead = (
            0.0  # by the samples at hand, and by those before the last
        )
        if state is not None and state.key == counter.key:
            self._told_overhead = state.overhead
            self._keep(state.samples)

    @property
    def key(self) -> str:
        """The wrapped counter's own: its counts stay good."""
        return self.counter.key

    @property
    def factor(self) -> float:
        """By what counts are multiplied, of items and tools alike; 1 until something was learned."""
        return self._line.factor

    @property
    def overhead(self) -> float:
        """Tokens that a request takes beyond its counts, in `total` alone; 0 until reports show it."""
        return self._line.overhead

    @property
    def state(self) -> Calibration:
        """What was learned so far: enough to come to the same line again, and to go on from there."""
        return Calibration(self.key, self._samples, self._held_overhead)

    @property
    def error_bound(self) -> float | None:
        """How far off the next total may be, as a part of it; None until enough predictions met their report.

        It is the largest error among the latest predictions, each made before its report was learned, one
        outlier in eight set aside, and widened by a quarter. Of requests like the latest ones more than
        nine in ten keep within it; it is no guarantee.
        """
        # The first prediction was made before anything was known.
        errors = sorted(abs(sample.predicted / sample.reported - 1) for sample in self._samples[1:])
        if len(errors) < ENOUGH:
            return None
        return _MARGIN * errors[-1 - len(errors) // 8]

    def count(self, item: Item) -> int:
        """Tokens of one item, as the wrapped counter has them: counts that were kept stay good."""
        return count_by(self.counter, item)

    def corrected(self, counted: int) -> int:
        """What items, or tools, that count so much take of a request: times the factor, no overhead."""
        return round(self._line.factor * count_of(counted, "counted"))

    def total(self, counted: int) -> int:
        """Tokens of a request: the overhead, and its counts with what the wrapped counter adds, corrected."""
        return round(self._line.at(self._expected(counted)))

    def count_tools(self, tools: Sequence[Definition]) -> int:
        """What tool definitions take of a request: as the wrapped counter has them, times the factor."""
        return self.corrected(schema_tokens(tools, self.counter))

    def learn(self, counted: int, reported: int) -> None:
        """Take in what a provider reported for a request whose items added up to `counted`.

        `counted` is not corrected: it is `view.counted(calibrated)` of what was sent and, where tools change
        from request to request, `schema_tokens(tools, calibrated.counter)` with it. `reported` is all input.
        """
        whole(counted, "counted", least=1)
        self._keep((*self._samples, Sample(counted, reported, max(1, self.total(counted)))))

    def _expected(self, counted: int) -> int:
        return total_by(self.counter, count_of(counted, "counted"))

    def _keep(self, samples: Sequence[Sample]) -> None:
        self._samples = tuple(samples[-WINDOW:])
        self._held_overhead = self._told_overhead
        points = [(max(1, self._expected(sample.counted)), sample.reported) for sample in self._samples]
        if points:
            self._line = fitted(points, self._told_overhead)
            if tells_overhead(points):
                self._told_overhead = self._line.overhead
