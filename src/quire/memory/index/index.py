"""The protocol of an index: leaves go in, and those that answer a question come out, best first."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct

from quire.memory.index.found import Found
from quire.memory.leaf import Kind, Leaf
from quire.memory.ranking import Question

MOST_HITS = 200


class Only(Struct, frozen=True, kw_only=True):
    """What may come back at all. What is not said does not matter."""

    sources: frozenset[str] | None = None
    kinds: frozenset[Kind] | None = None
    span: tuple[float, float] | None = None
    """From a time up to another, in seconds since 1970."""

    def allows(self, leaf: Leaf) -> bool:
        """Whether a leaf may come back."""
        if self.sources is not None and leaf.source not in self.sources:
            return False
        if self.kinds is not None and leaf.kind not in self.kinds:
            return False
        return self.span is None or self.span[0] <= leaf.at < self.span[1]


class Gone(Struct, frozen=True, kw_only=True):
    """What is taken away of a source: some keys, or one transcript, or else all of it.

    Where it is not `is_forgotten`, the store has it still, and its bytes may stay until something is.
    """

    source: str
    keys: frozenset[str] | None = None
    transcript: str | None = None
    is_forgotten: bool = True

    @property
    def is_all(self) -> bool:
        """Whether nothing of the source stays."""
        return self.keys is None and self.transcript is None


class Index(ABC):
    """Leaves that can be found. One key, and one place in a transcript, has one leaf: the last that was put.

    What is found depends on the leaves alone, never on how they came there. Calls may come from any thread.
    """

    @abstractmethod
    def put(self, leaves: Sequence[Leaf], *, vectors: Sequence[Sequence[float]] | None = None) -> None:
        """Add leaves, or put them in place of those with the same keys."""

    @abstractmethod
    def set_vectors(self, leaves: Sequence[Leaf], vectors: Sequence[Sequence[float]]) -> None:
        """Keep vectors for leaves that are there just as they are given; they go when those go or change."""

    @abstractmethod
    def remove(self, source: str, keys: Collection[str]) -> None:
        """Take leaves of a source away, in whichever transcript; a key that is not there does no harm."""

    @abstractmethod
    def drop(self, source: str, transcript: str | None = None) -> None:
        """Take away all leaves of a source, or of one of its transcripts."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def search(self, question: Question, *, limit: int = MOST_HITS, only: Only | None = None) -> Found:
        """The leaves that answer best, best first; none where nothing does."""

    @abstractmethod
    def newest(self, limit: int, only: Only | None = None) -> list[Leaf]:
        """The newest leaves, oldest first."""

    @abstractmethod
    def weightiest(self, limit: int, only: Only | None = None) -> list[Leaf]:
        """The leaves that matter most, of equal ones the newest, the weightiest first."""

    @abstractmethod
    def around(self, leaf: Leaf, before: int, after: int) -> list[Leaf]:
        """The leaves beside one, in order, without it."""

    @abstractmethod
    def mark(self, place: str) -> bytes | None:
        """How far a place was read, as it was told."""

    @abstractmethod
    def move_mark(
        self,
        place: str,
        since: bytes | None,
        mark: bytes | None,
        *,
        gone: Iterable[Gone] = (),
        leaves: Sequence[Leaf] = (),
    ) -> bool:
        """Keep how far a place was read, or nothing of it; what is gone by that goes, and leaves are put.

        All of it is done at once, and nothing where the mark is not `since`: another was first. Where there
        was no mark, what is there of the place goes too, for nobody knows what it is. Whether it was done.
        """

    @abstractmethod
    def marked(self) -> list[str]:
        """The places of which it is kept how far they were read."""

    @abstractmethod
    def close(self) -> None:
        """Let go of files and connections; an index that is closed is not used again."""
