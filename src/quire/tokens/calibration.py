"""A counter that learns from the usage that a provider reports. It corrects totals and never counts again."""

from collections.abc import Sequence

from quire.items import Item
from quire.tokens.counter import Counter, Definition, checked_counter, count_by, total_by, whole
from quire.tokens.measured import schema_tokens

WINDOW = 16
"""How many of the latest reports are used: enough to be steady, few enough to follow a change."""

LEAST_FACTOR, MOST_FACTOR = 0.25, 4.0
"""A report beyond these is of a request with parts that nobody counted; nothing is learned from it."""

_FIRST_GUESS = 500  # tokens: with fewer reported, the counter is believed as it is


class Calibrated:
    """Wraps a counter and multiplies its totals by a factor, learned from what a provider reports.

    The factor is the median of what was reported over what was expected, where a large request weighs more
    than a small one: one odd report changes nothing, and what a provider adds to every request matters less
    the longer requests are.
    """

    def __init__(self, counter: Counter) -> None:
        self.counter = checked_counter(counter)
        self.factor = 1.0
        self._reports: list[tuple[float, int]] = []

    @property
    def key(self) -> str:
        """That of the wrapped counter: its counts stay valid."""
        return self.counter.key

    def count(self, item: Item) -> int:
        """Tokens of one item, as the wrapped counter counts them: cached counts stay valid."""
        return count_by(self.counter, item)

    def total(self, counted: int) -> int:
        """Tokens of a request: the total of the wrapped counter times the factor."""
        return round(self.factor * total_by(self.counter, counted))

    def count_tools(self, tools: Sequence[Definition]) -> int:
        """Tokens that tool definitions add to a request: the wrapped counter's count times the factor."""
        return round(self.factor * schema_tokens(tools, self.counter))

    def learn(self, counted: int, reported: int) -> None:
        """Learn what a provider reported, all input, for a request whose parts added up to `counted`."""
        expected = total_by(self.counter, whole(counted, "counted", least=1))
        factor = whole(reported, "reported", least=0) / max(1, expected)
        if LEAST_FACTOR <= factor <= MOST_FACTOR:
            self._reports = [*self._reports, (factor, expected)][-WINDOW:]
            self.factor = _weighted_median([(1.0, _FIRST_GUESS), *self._reports])


def _weighted_median(rows: Sequence[tuple[float, int]]) -> float:
    half, so_far = sum(weight for _, weight in rows) / 2, 0
    for value, weight in sorted(rows):
        so_far += weight
        if so_far >= half:
            return value
    return 1.0
