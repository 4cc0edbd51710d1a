"""Where most of a question comes together, in a history too long to look at every word of it.

A place is a handful of leaves in a row. Rare words find places; common words, and who is named, only choose
among those that were found. A place counts once for each word of the question, at the best that stands for
it there. Where a question names a time, places of that time are chosen first.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import NamedTuple, Protocol

from quire.memory.ranking.postings import Postings
from quire.memory.ranking.scoring import Wanted

FEW = 1_500
"""Up to so many postings each is scored, and no place is chosen."""

READ = 4_000
"""So many postings are read to find places."""

CHOSEN = 60
_LOOKED_AT = 10 * CHOSEN


class Places(Protocol):
    """Which place a leaf is in, which of some places are the newest, and what is in and around some."""

    @property
    def place_of(self) -> Mapping[int, int]: ...
    def newest(self, places: Sequence[int], count: int) -> list[int]: ...
    def widened(self, places: Iterable[int], more: int) -> set[int]: ...


class Then(Protocol):
    """The time that a question names: how many leaves are of it, and which of some are.

    To narrow some leaves takes as long as the fewer of both are many.
    """

    def __len__(self) -> int: ...
    def narrow(self, leaves: Set[int]) -> Set[int]: ...


class _Listed(NamedTuple):
    """What stands for the nth word of a question: how much it counts, and the leaves that have it."""

    worth: float
    nth: int
    member: str
    leaves: Set[int]


def is_short(words: Sequence[Wanted], postings: Postings) -> bool:
    """Whether a question may be scored in full."""
    there = postings.leaves_with
    return sum(len(there[member]) for word in words for member, _ in word.members) <= FEW


def window(
    words: Sequence[Wanted],
    postings: Postings,
    places: Places,
    named: tuple[float, Set[int]] | None,
    allowed: Set[int] | None,
    times: Sequence[Then],
) -> set[int]:
    """The leaves in and beside the best places; `named` is what someone said, and what that counts.

    Places of the first of some `times` are chosen before those of the next, and the rest last.
    """
    listed = _listed(words, postings, allowed)
    said = None
    if named is not None:
        whole = sum(max(worth for _, worth in word.members) for word in words)
        said = _Listed(named[0] * whole, len(words), "", named[1])
    chosen: set[int] = set()
    for time in (*times, None):
        if len(chosen) < CHOSEN:
            counts = _Counts(places, len(words) + 1)
            common = _find(listed, counts, time)
            counts.let_go(chosen)
            _choose([said, *common] if said else common, counts, places, CHOSEN - len(chosen))
            chosen.update(counts.weight)
    return places.widened(chosen, 1)


def _choose(common: Sequence[_Listed], counts: "_Counts", places: Places, count: int) -> None:
    """Keep the best of the places that were found, by what is common too."""
    counts.keep_best(_LOOKED_AT)
    among = places.widened(counts.weight, 0)
    for one in common:
        counts.add(one, one.leaves & among)
    counts.keep_best(count)


def _listed(words: Sequence[Wanted], postings: Postings, allowed: Set[int] | None) -> list[_Listed]:
    """All that stands for some word, what counts most first."""
    there = postings.leaves_with
    found = [
        _Listed(
            worth, nth, member, there[member].keys() if allowed is None else there[member].keys() & allowed
        )
        for nth, word in enumerate(words)
        for member, worth in word.members
    ]
    return sorted(found, key=lambda one: (-one.worth, one.nth, one.member))


def _find(listed: Sequence[_Listed], counts: "_Counts", then: Then | None) -> list[_Listed]:
    """Find places by what is rare, of a time where there is one; the rest is given back."""
    common: list[_Listed] = []
    left = READ
    for one in listed:
        size = len(one.leaves) if then is None else min(len(one.leaves), len(then))
        if size > left and counts.weight:
            common.append(one)
        else:
            left -= size
            counts.add(one, one.leaves if then is None else then.narrow(one.leaves))
    return common


class _Counts:
    """How much of a question is in each place."""

    def __init__(self, places: Places, words: int) -> None:
        self.weight: dict[int, float] = {}
        self._places = places
        self._counted: list[set[int]] = [set() for _ in range(words)]

    def add(self, one: _Listed, leaves: Set[int]) -> None:
        """Count the places of some leaves that have what stands for a word."""
        found = set(map(self._places.place_of.__getitem__, leaves))
        found -= self._counted[one.nth]
        self._counted[one.nth] |= found
        weight, worth = self.weight, one.worth
        for place in found:
            weight[place] = weight.get(place, 0.0) + worth

    def let_go(self, places: Set[int]) -> None:
        """Count some places no longer."""
        for place in places:
            self.weight.pop(place, None)

    def keep_best(self, count: int) -> None:
        """Keep the places with most of the question, the newest of equals."""
        if len(self.weight) <= count:
            return
        least = sorted(self.weight.values())[-count]
        best = {place: value for place, value in self.weight.items() if value > least}
        equals = [place for place, value in self.weight.items() if value == least]
        newest = self._places.newest(equals, count - len(best))
        self.weight = best | dict.fromkeys(newest, least)
