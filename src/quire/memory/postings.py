"""Postings: which leaves hold a term, how often, and the lengths that BM25 needs.

A leaf carries its own terms and, at a lower weight, the terms of its neighbours. Postings hold own terms
only; lending is computed when a question is scored, so a leaf that comes or goes touches the lengths of its
neighbours and nothing else. The number of a leaf is `row * ROW + order`. Leaves of one row may be about the
same thing, so the neighbour two places on is `number + 2`, if there is one.

A leaf is also listed under marks: the words of its document's name, its speaker, its kind. They are no part
of its length.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from operator import itemgetter

OFFSETS = (1, 2, 4, -1, -2)
"""A leaf lends its terms to the leaves this many places after it."""

ROW = 1 << 32
"""Numbers of one row: more than any transcript has leaves."""

REACH = 60
"""A leaf with more terms lends each at less weight, so that a long tool result does not drown turns."""

LONGEST = 500
"""Terms above which a leaf counts as no longer, so that a term of a long result can still find it."""

_GRAIN = 256
"""Weights and shares are multiples of 1/256, so that sums are exact in whatever order they are made."""

_MOST = 255
"""Occurrences of a term in a leaf that are counted; BM25 has long saturated by then."""

ASKS, SAYS_TIME = "\0asks", "\0says time"
_NAME, _SPEAKER, _KIND = "\0name ", "\0by ", "\0kind "

Times = tuple[int, int]
"""How often a term stands in statements, and in questions."""

Lent = tuple[tuple[float, float], ...]
"""Shares of terms in statements and in questions: the leaf's own, then those it lends by `OFFSETS`."""

Packed = tuple[tuple[bytes, bytes, bytes, bytes], dict[str, bytes]]
"""Columns by leaf (number, length, share, size), and the packed leaves of each term."""


def name_mark(term: str) -> str:
    """The mark of a word of a document's name, or of a heading above a chunk."""
    return _NAME + term


def speaker_mark(term: str) -> str:
    """The mark of a word of a speaker's name."""
    return _SPEAKER + term


def kind_mark(kind: str) -> str:
    """The mark of a kind of leaf."""
    return _KIND + kind


def is_name(mark: str) -> bool:
    """Whether a term is the mark of a word of a name."""
    return mark.startswith(_NAME)


def in_grains(share: float) -> float:
    """The nearest multiple of 1/256."""
    return round(share * _GRAIN) / _GRAIN


class Postings:
    """The terms of numbered leaves. Lists that came from a snapshot stay packed until they are needed."""

    def __init__(self, lent: Lent) -> None:
        self.lent = lent
        self.length: dict[int, float] = {}
        """By leaf, what it carries: its own terms and those lent to it, weighted."""
        self.share: dict[int, float] = {}
        """By leaf, at which share it lends its terms."""
        self.total = 0.0
        self._sizes: dict[int, Times] = {}
        self._leaves: dict[str, dict[int, Times]] = {}
        self._packed: dict[str, bytes] = {}

    def __len__(self) -> int:
        return len(self.length)

    def __contains__(self, term: str) -> bool:
        return term in self._leaves or term in self._packed

    def __getitem__(self, term: str) -> dict[int, Times]:
        """The leaves that hold a term themselves, with how often."""
        leaves = self._leaves.get(term)
        if leaves is not None:
            return leaves
        return (
            self._leaves.setdefault(term, _unpacked(self._packed.pop(term))) if term in self._packed else {}
        )

    def add(self, leaf: int, stated: Sequence[str], asked: Sequence[str], marks: Iterable[str]) -> None:
        """Add a leaf with the terms of its statements and of its questions, and its marks."""
        self._sizes[leaf] = min(len(stated), LONGEST), min(len(asked), LONGEST)
        self.share[leaf] = in_grains(min(1.0, REACH / max(1, len(stated) + len(asked))))
        in_statements, in_questions = Counter(stated), Counter(asked)
        in_statements.update(marks)
        for term, count in in_statements.items():
            self._list(term)[leaf] = min(count, _MOST), min(in_questions.pop(term, 0), _MOST)
        for term, count in in_questions.items():
            self._list(term)[leaf] = 0, min(count, _MOST)
        own = self._size(0, leaf)
        for slot, offset in enumerate(OFFSETS, 1):
            if leaf - offset in self.length:
                own += self._size(slot, leaf - offset)
        self.length[leaf] = own
        self.total += own
        self._lend_length(leaf, 1)

    def _list(self, term: str) -> dict[int, Times]:
        leaves = self._leaves.get(term)
        if leaves is None:
            leaves = self._leaves[term] = self[term]
        return leaves

    def remove(self, leaf: int, terms: Iterable[str]) -> None:
        """Remove a leaf that has these terms and marks, as if it had never been."""
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
        (by_stated, by_asked), (stated, asked) = self.lent[slot], self._sizes[leaf]
        return (self.share[leaf] if slot else 1.0) * (by_stated * stated + by_asked * asked)

    def packed(self) -> Packed:
        """All of it as bytes."""
        leaves = self.length
        sizes = (size for leaf in leaves for size in self._sizes[leaf])
        columns = (
            array("q", leaves).tobytes(),
            array("d", leaves.values()).tobytes(),
            array("d", map(self.share.__getitem__, leaves)).tobytes(),
            array("H", sizes).tobytes(),
        )
        return columns, self._packed | {term: _packed(held) for term, held in self._leaves.items()}

    def unpack(self, packed: Packed) -> None:
        """Take what was packed; nothing else may be there."""
        (numbers, lengths, shares, sizes), terms = packed
        leaves, own = list(array("q", numbers)), array("H", sizes)
        self.length = dict(zip(leaves, array("d", lengths), strict=True))
        self.share = dict(zip(leaves, array("d", shares), strict=True))
        self._sizes = dict(zip(leaves, zip(own[::2], own[1::2], strict=True), strict=True))
        self.total = sum(self.length.values())
        self._packed = dict(terms)


def _packed(leaves: dict[int, Times]) -> bytes:
    stated, asked = (bytes(map(itemgetter(nth), leaves.values())) for nth in (0, 1))
    return array("q", leaves).tobytes() + stated + asked


def _unpacked(packed: bytes) -> dict[int, Times]:
    count = len(packed) // 10
    times = zip(packed[8 * count : 9 * count], packed[9 * count :], strict=True)
    return dict(zip(array("q", packed[: 8 * count]), times, strict=True))
