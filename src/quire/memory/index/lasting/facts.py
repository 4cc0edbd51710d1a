"""What a search needs to know of a leaf in tables; what it says is not among it."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol

from quire.memory.index.lasting.tables import ORDER_BITS
from quire.memory.index.orders import Rank
from quire.memory.leaf import Kind

COLUMNS = "leaves.number, leaves.source, stretch, at, kind, speaker, asks, timed, size, length"
"""What is read for a fact."""


class Fact(NamedTuple):
    """One row of `leaves`, as far as it matters to a search."""

    number: int
    source: int
    stretch: int
    at: float
    kind: Kind
    speaker: int
    asks: int
    timed: int
    size: int
    length: float

    @property
    def order(self) -> int:
        return self.number & ((1 << ORDER_BITS) - 1)


class Facts(Protocol):
    """Where facts are looked up, read in bulk."""

    @property
    def facts(self) -> Mapping[int, Fact]: ...
    def see(self, numbers: Iterable[int]) -> Mapping[int, Fact]: ...
    def rank(self, number: int) -> Rank: ...
