"""What a change of some leaves does to those beside them and to the sums over all, worked out from few."""

from collections import Counter
from collections.abc import Collection, Mapping
from itertools import chain, repeat
from typing import NamedTuple

from quire.memory.index.lasting.known import Words
from quire.memory.index.lasting.tables import MOST_ORDER, ORDER_BITS
from quire.memory.ranking import Weights
from quire.memory.ranking.postings import Postings, Row


class Standing(NamedTuple):
    """A leaf as far as it concerns others."""

    stretch: int
    words: Words
    has_vector: bool


class Effects(NamedTuple):
    """What is to be added, by word, by leaf and in all; and how long the leaves are that come."""

    words: Collection[str]
    leaves: Counter[str]
    carriers: Counter[str]
    longer: dict[int, float]
    lengths: dict[int, float]
    more_leaves: int
    more_vectors: int
    more_total: float


def effects(
    near: Mapping[int, Standing], gone: Collection[int], come: Mapping[int, Standing], weights: Weights
) -> Effects:
    """What changes if some leaves go and then others come; `near` are those that go and all around them.

    The same sums as in a process, over these alone: whoever is too far away to be here changes nothing in
    the difference.
    """
    rows: dict[tuple[int, int], Row] = {}
    some = Postings(weights)
    for number, one in near.items():
        _add(some, rows, number, one)
    carriers, lengths, total = some.carriers.copy(), dict(some.length), some.total
    for number in gone:
        some.remove(number, rows[_row(number, near[number])], number % MOST_ORDER)
    for number, one in come.items():
        _add(some, rows, number, one)
    more = {word: count - carriers[word] for word, count in some.carriers.items() if count != carriers[word]}
    more |= {word: -count for word, count in carriers.items() if word not in some.carriers}
    stayed = near.keys() - gone
    gone_words = Counter(word for number in gone for word in near[number].words)
    come_words = Counter(word for one in come.values() for word in one.words)
    return Effects(
        words=more.keys() | gone_words.keys() | come_words.keys(),
        leaves=_difference(come_words, gone_words),
        carriers=Counter(more),
        longer={at: some.length[at] - lengths[at] for at in stayed if some.length[at] != lengths[at]},
        lengths={number: some.length[number] for number in come},
        more_leaves=len(come) - len(gone),
        more_vectors=sum(one.has_vector for one in come.values()) - sum(near[at].has_vector for at in gone),
        more_total=some.total - total,
    )


def _difference(more: Counter[str], less: Counter[str]) -> Counter[str]:
    found = more.copy()
    found.subtract(less)
    return found


def _row(number: int, one: Standing) -> tuple[int, int]:
    return number >> ORDER_BITS, one.stretch


def _add(some: Postings, rows: dict[tuple[int, int], Row], number: int, one: Standing) -> None:
    told = chain.from_iterable(repeat(word, times[0]) for word, times in one.words.items())
    asked = chain.from_iterable(repeat(word, times[1]) for word, times in one.words.items())
    row = rows.setdefault(_row(number, one), {})
    some.add(number, row, number % MOST_ORDER, list(told), list(asked))
