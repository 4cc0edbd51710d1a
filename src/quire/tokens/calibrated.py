"""A counter that learns from the usage a provider reports. It corrects sums and never counts items again."""

from collections.abc import Iterable, Sequence

import msgspec

from quire.items import Item
from quire.tokens.counter import Counter, Definition
from quire.tokens.numbers import whole
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


class Calibrated:
    """Wraps a counter and multiplies its totals by the median of reported to expected tokens.

    The median does not heed a report that holds something unseen, and settles within three to five requests.
    A `state` that was learned with a counter of another key says nothing about this one, and is not used.
    """

    def __init__(self, counter: Counter, state: Calibration | None = None) -> None:
        self.counter = counter
        samples = state.samples if state is not None and state.key == counter.key else ()
        self._samples: tuple[Sample, ...] = ()
        self._factor = 1.0
        self._keep(samples)

    @property
    def key(self) -> str:
        """The wrapped counter's own: its counts stay good."""
        return self.counter.key

    @property
    def factor(self) -> float:
        """By what totals are multiplied; 1 until something was learned."""
        return self._factor

    @property
    def state(self) -> Calibration:
        """What was learned so far."""
        return Calibration(self.key, self._samples)

    @property
    def error_bound(self) -> float | None:
        """How far off the next total may be, as a part of it; None until enough predictions met their report.

        It is the largest error among the latest predictions, each made before its report was learned, one
        outlier in eight set aside, and widened by a quarter. It speaks of requests like the latest ones, and
        is no guarantee.
        """
        # The first prediction was made before anything was known.
        errors = sorted(abs(sample.predicted / sample.reported - 1) for sample in self._samples[1:])
        if len(errors) < ENOUGH:
            return None
        return _MARGIN * errors[-1 - len(errors) // 8]

    def count(self, item: Item) -> int:
        """Tokens of one item, as the wrapped counter has them."""
        return self.counter.count(item)

    def total(self, counted: int) -> int:
        """Tokens of a request, corrected by what was learned."""
        return round(self._factor * self.counter.total(counted))

    def count_tools(self, tools: Sequence[Definition]) -> int:
        """Tokens of tool definitions, as the wrapped counter has them."""
        return schema_tokens(tools, self.counter)

    def learn(self, counted: int, reported: int) -> None:
        """Take in what a provider reported for a request whose items added up to `counted`."""
        whole(counted, "counted", least=1)
        self._keep((*self._samples, Sample(counted, reported, max(1, self.total(counted)))))

    def _keep(self, samples: Sequence[Sample]) -> None:
        self._samples = tuple(samples[-WINDOW:])
        if self._samples:
            expected = self.counter.total
            self._factor = _median(
                sample.reported / max(1, expected(sample.counted)) for sample in self._samples
            )


def _median(numbers: Iterable[float]) -> float:
    # Not `statistics.median`: importing that module takes longer than importing all of this room.
    ordered = sorted(numbers)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
