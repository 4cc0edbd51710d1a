"""The leaves that have a word, packed: in blocks in a table, and a few bytes for each in memory.

There are very many, and a search looks at thousands: a row for each would take most of its time to read.
"""

from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Set

from quire.memory.index.lasting.sums import summed, unsummed
from quire.memory.index.lasting.tables import Asked
from quire.memory.ranking.postings import Times

BLOCK_BITS = 9
"""So many numbers of leaves make one block: few are read for a common word, and one is soon written again."""

_A_LEAF_TAKES = 20
_FEW = 16

Block = tuple[int, int]
"""The number of a word, and which of the blocks of leaves."""

Stands = tuple[int, int, int]
"""The stretch of a leaf, and how often it has a word in statements and in questions."""

Changes = dict[Block, dict[int, Stands | None]]
"""By block: what is to be put for leaves, or nothing where they have the word no more."""

_PUT = (
    "INSERT INTO postings VALUES (?, ?, ?) ON CONFLICT (term, block) DO UPDATE SET leaves = excluded.leaves"
)


class Bearers(Mapping[int, Times]):
    """The leaves that have one word, each with how often, in the order of their numbers."""

    def __init__(self, blocks: Iterable[bytes] = ()) -> None:
        self.leaves, self.stretches = array("q"), array("q")
        self._told, self._asked = array("H"), array("H")
        self.is_placed = False
        """Whether all of them were told where they stand."""
        for block in blocks:
            self._unpack(unsummed(block))

    def _unpack(self, block: memoryview) -> None:
        count, at = len(block) // _A_LEAF_TAKES, 0
        for column in (self.leaves, self.stretches, self._told, self._asked):
            size = count * column.itemsize
            column.frombytes(block[at : at + size])
            at += size

    def packed(self) -> bytes:
        """All of them as one block."""
        return summed(b"".join(map(bytes, (self.leaves, self.stretches, self._told, self._asked))))

    def __len__(self) -> int:
        return len(self.leaves)

    def __iter__(self) -> Iterator[int]:
        return iter(self.leaves)

    def __getitem__(self, leaf: int) -> Times:
        at = bisect_left(self.leaves, leaf)
        if at == len(self.leaves) or self.leaves[at] != leaf:
            raise KeyError(leaf)
        return self._told[at], self._asked[at]

    def among(self, others: Set[int]) -> set[int]:
        """Those of some leaves that have the word."""
        if _FEW * len(others) > len(self.leaves):
            return others.intersection(self.leaves) if isinstance(others, set) else set(self.leaves) & others
        leaves, end = self.leaves, len(self.leaves)
        return {other for other in others if (at := bisect_left(leaves, other)) < end and leaves[at] == other}

    def put(self, leaf: int, stands: Stands | None) -> None:
        """Note how a leaf has the word now, or that it has it no more."""
        at = bisect_left(self.leaves, leaf)
        columns = (self.leaves, self.stretches, self._told, self._asked)
        if at < len(self.leaves) and self.leaves[at] == leaf:
            for column in columns:
                del column[at]
        if stands is not None:
            for column, value in zip(columns, (leaf, *stands), strict=True):
                column.insert(at, value)


def read_bearers(asked: Asked, term: int) -> Bearers:
    """All that have a word."""
    rows = asked.rows("SELECT leaves FROM postings WHERE term = ? ORDER BY block", term)
    return Bearers(row[0] for row in rows)


def change(asked: Asked, changes: Changes) -> None:
    """Write the blocks that change again."""
    terms, blocks = (sorted(set(of)) for of in zip(*changes, strict=True)) if changes else ([], [])
    query = "SELECT term, block, leaves FROM postings WHERE term IN (??) AND block IN (??)"
    known = {(term, block): body for term, block, body in asked.rows(query, terms, blocks)}
    full: list[tuple[int, int, bytes]] = []
    empty: list[Block] = []
    for at, leaves in changes.items():
        bearers = Bearers((known[at],) if at in known else ())
        for leaf, stands in leaves.items():
            bearers.put(leaf, stands)
        if bearers:
            full.append((*at, bearers.packed()))
        else:
            empty.append(at)
    asked.many("DELETE FROM postings WHERE term = ? AND block = ?", empty)
    asked.many(_PUT, full)


def changes_of(
    gone: Mapping[int, Collection[str]],
    come: Mapping[int, tuple[int, Mapping[str, Times]]],
    terms: Mapping[str, int],
) -> Changes:
    """What changes by block if leaves go with their words, and then others come with stretches and words."""
    found: Changes = {}
    for leaf, words in gone.items():
        for word in words:
            found.setdefault((terms[word], leaf >> BLOCK_BITS), {})[leaf] = None
    for leaf, (stretch, times) in come.items():
        for word, (told, asked) in times.items():
            found.setdefault((terms[word], leaf >> BLOCK_BITS), {})[leaf] = (stretch, told, asked)
    return found
