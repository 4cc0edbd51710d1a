"""How much counts may add up to: budgets are in tokens of a request, and a counter may correct its sums."""

from bisect import bisect_right

from quire.tokens import MOST, Counter, total_by

_PARTS, _FEWEST = 16, 11
"""Parts of a budget, and the fewest that a sum has: what a counter learns moves no cut up to one of these."""


class Capacity:
    """The largest sum of counts whose total is within so many tokens; below zero where nothing fits.

    `steady` is the same or a little less. A counter that learns from reports corrects its sums otherwise in
    each turn, and what is told from `steady` stays where it is all the same.
    """

    __slots__ = ("most", "steady")

    def __init__(self, tokens: int, counter: Counter) -> None:
        least = total_by(counter, 0)
        self.most = self.steady = tokens - least
        if least > tokens:
            self.most = self.steady = -1
        elif not self._is_one_for_one(tokens, counter):
            self.most = _most(tokens, counter)
            self.steady = _amid(self.most, tokens // _PARTS)

    def _is_one_for_one(self, tokens: int, counter: Counter) -> bool:
        return total_by(counter, self.most) == tokens < total_by(counter, self.most + 1)


def _most(tokens: int, counter: Counter) -> int:
    enough = max(tokens, 1)
    while enough < MOST and total_by(counter, enough) <= tokens:
        enough *= 2
    return bisect_right(range(min(enough, MOST) + 1), tokens, key=lambda sum_: total_by(counter, sum_)) - 1


def _amid(value: int, part: int) -> int:
    """The largest value in the middle of a part: a factor near to one, or any other, wavers around there."""
    while part * _FEWEST > value and part > 1:
        part //= 2
    half = part // 2
    return max((value - half) // max(part, 1) * part + half, 0)
