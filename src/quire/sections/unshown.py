"""Quotes of which nothing is shown already, the worthiest first."""

from bisect import insort
from collections.abc import Callable, Iterable, Iterator

from quire.sections.quote import Quote

Shown = Callable[[Quote], bool]
"""Whether what a quote stands for is shown already."""


def unshown(quotes: Iterable[Quote], shown: Shown) -> Iterator[Quote]:
    """Those that are not shown; for one that is, the same words of another time, where that has its place.

    What is asked of each, is asked when it is its turn.
    """
    waiting: list[Quote] = []
    for quote in quotes:
        while waiting and 0 < quote.score <= waiting[0].score:
            yield from _one(waiting.pop(0), waiting, shown)
        yield from _one(quote, waiting, shown)
    while waiting:
        yield from _one(waiting.pop(0), waiting, shown)


def _one(quote: Quote, waiting: list[Quote], shown: Shown) -> Iterator[Quote]:
    if not shown(quote):
        yield quote
    elif quote.others:
        insort(waiting, quote.others[0]._replace(others=quote.others[1:]), key=lambda one: -one.score)
