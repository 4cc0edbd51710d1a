"""Postings: which leaves hold a term, how often, and the lengths that BM25 needs.

A leaf carries its own terms and, at a lower weight, the terms of its neighbours. Postings hold own terms
only; lending is computed when a question is scored, so a leaf that comes or goes touches the lengths of its
neighbours and nothing else. The number of a leaf is `row * ROW + order`. Leaves of one row may be about the
same thing, so the neighbour two places on is `number + 2`, if there is one.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

OFFSETS = (1, 2, 4, -1, -2)
"""A leaf lends its terms to the leaves this many places after it."""

ROW = 1 << 32
"""Numbers of one row: more than any transcript has leaves."""

REACH = 60
"""A leaf with more terms lends each at less weight, so that a long tool result does not drown turns."""

LONGEST = 500
"""Terms above which a leaf counts as no longer, so that a term of a long result can still find it."""

GRAIN = 256
"""Weights and shares are multiples of 1/256, so that sums are exact in whatever order they are made."""

_MOST = 255
"""Occurrences of a term in a leaf that are counted; BM25 has long saturated by then."""

_BASE = 1_000
"""Sizes are kept as one number: terms in questions times this, and terms in statements."""

_NAME = "\0"

Times = tuple[int, int]
"""How often a term stands in statements, and in questions."""

Lent = tuple[tuple[float, float], ...]
"""Shares of terms in statements and in questions: the leaf's own, then those it lends by `OFFSETS`."""

_TOLD: list[Times] = [(count, 0) for count in range(_MOST + 1)]


def name_term(term: str) -> str:
    """The term under which a word of a document's name, or of a heading above a chunk, is listed.

    All chunks of a document share these words: they count little and are no part of a chunk's length.
    """
    return _NAME + term


def is_name_term(term: str) -> bool:
    """Whether a term is listed as a word of a name."""
    return term.startswith(_NAME)


def in_grains(share: float) -> float:
    """The nearest multiple of 1/`GRAIN`."""
    return round(share * GRAIN) / GRAIN


class Postings:
    """The terms of numbered leaves. Lists that came from a snapshot stay packed until they are needed."""

    def __init__(self, lent: Lent) -> None:
        self.lent = lent
        self.length: dict[int, float] = {}
        """By leaf, what it carries: its own terms and those lent to it, weighted."""
        self.share: dict[int, float] = {}
        """By leaf, at which share it lends its terms."""
        self.total = 0.0
        self._sizes: dict[int, int] = {}
        self._leaves: dict[str, dict[int, Times]] = {}
        self._packed: dict[str, bytes] = {}

    def __len__(self) -> int:
        return len(self.length)

    def __contains__(self, term: str) -> bool:
        return term in self._leaves or term in self._packed

    def __getitem__(self, term: str) -> dict[int, Times]:
        """The leaves that hold a term themselves, with how often."""
        leaves = self._leaves.get(term)
        return self._opened(term) if leaves is None else leaves

    def _opened(self, term: str) -> dict[int, Times]:
        packed = self._packed.pop(term, b"")
        self._leaves[term] = leaves = _unpacked(packed)
        return leaves

    def reach(self, term: str, spread: float) -> float:
        """About how many leaves carry a term, their own or lent: each occurrence reaches `spread` leaves."""
        count, holders = len(self), len(self[term])
        missed: float = (1 - holders / count) ** spread
        return count * (1 - missed)

    def add(self, leaf: int, named: Sequence[str], told: Sequence[str], asked: Sequence[str]) -> None:
        """Add a leaf with the terms of its name, its statements and its questions."""
        self._sizes[leaf] = _BASE * min(len(asked), LONGEST) + min(len(told), LONGEST)
        self.share[leaf] = in_grains(min(1.0, REACH / max(1, len(told) + len(asked))))
        known, opened = self._leaves.get, self._opened
        for term, times in _bag(named, told, asked):
            leaves = known(term)
            if leaves is None:
                leaves = opened(term)
            leaves[leaf] = times
        own = self._size(0, leaf)
        for slot, offset in enumerate(OFFSETS, 1):
            if leaf - offset in self.length:
                own += self._size(slot, leaf - offset)
        self.length[leaf] = own
        self.total += own
        self._lend_length(leaf, 1)

    def remove(self, leaf: int, terms: Iterable[str]) -> None:
        """Remove a leaf that holds these terms, as if it had never been."""
        for term in set(terms):
            leaves = self[term]
            del leaves[leaf]
            if not leaves:
                del self._leaves[term]
        self._lend_length(leaf, -1)
        self.total -= self.length.pop(leaf)
        del self.share[leaf], self._sizes[leaf]

    def _lend_length(self, leaf: int, step: int) -> None:
        for slot, offset in enumerate(OFFSETS, 1):
            if leaf + offset in self.length:
                more = step * self._size(slot, leaf)
                self.length[leaf + offset] += more
                self.total += more

    def _size(self, slot: int, leaf: int) -> float:
        (by_told, by_asked), (asked, told) = self.lent[slot], divmod(self._sizes[leaf], _BASE)
        return (self.share[leaf] if slot else 1.0) * (by_told * told + by_asked * asked)

    def packed(self) -> "Packed":
        """All of it as bytes."""
        leaves = self.length
        columns = (
            array("q", leaves).tobytes(),
            array("d", leaves.values()).tobytes(),
            array("d", map(self.share.__getitem__, leaves)).tobytes(),
            array("q", map(self._sizes.__getitem__, leaves)).tobytes(),
        )
        return columns, self._packed | {term: _packed(held) for term, held in self._leaves.items() if held}

    def unpack(self, packed: "Packed") -> None:
        """Take what was packed; nothing else may be there."""
        columns, terms = packed
        numbers, lengths, shares, sizes = columns
        leaves = list(array("q", numbers))  # the same objects in all
        self.length = dict(zip(leaves, array("d", lengths), strict=True))
        self.share = dict(zip(leaves, array("d", shares), strict=True))
        self._sizes = dict(zip(leaves, array("q", sizes), strict=True))
        self.total = sum(self.length.values())
        self._packed = dict(terms)


Packed = tuple[tuple[bytes, bytes, bytes, bytes], dict[str, bytes]]
"""Columns by leaf (number, length, share, size), and the packed leaves of each term."""


def _bag(named: Sequence[str], told: Sequence[str], asked: Sequence[str]) -> Iterator[tuple[str, Times]]:
    in_told = Counter(told)
    if named:
        in_told.update(map(name_term, named))
    if not asked:
        for term, count in in_told.items():
            yield term, _TOLD[count if count < _MOST else _MOST]
        return
    in_asked = Counter(asked)
    for term in {**in_told, **in_asked}:
        yield term, (min(in_told[term], _MOST), min(in_asked[term], _MOST))


def _packed(leaves: dict[int, Times]) -> bytes:
    told, asked = zip(*leaves.values(), strict=True)
    return array("q", leaves).tobytes() + bytes(told) + bytes(asked)


def _unpacked(packed: bytes) -> dict[int, Times]:
    count = len(packed) // 10
    times = zip(packed[8 * count : 9 * count], packed[9 * count :], strict=True)
    return dict(zip(array("q", packed[: 8 * count]), times, strict=True))
