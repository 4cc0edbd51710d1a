"""Postings: the leaves that have a term, how often, and the lengths that BM25 needs.

Exchanges are ranked: a user message and the replies to it, under the number of the message. An exchange
carries the terms of the message, at a lower weight those of the replies and, if it is short, those of
neighbouring messages. Postings store only the terms of each leaf; the rest is computed when a question is
scored. So adding or removing a leaf changes the lengths of its exchange and of the neighbours, and nothing
else. The number of a leaf is `row * ROW + order`. Leaves of one row are likely about the same topic, so the
neighbour two places later is `number + 2`, if there is one.

A leaf is also listed under marks, which do not count for its length: the words of its document's name, its
speaker, its kind.
"""

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from operator import itemgetter
from typing import Any, Literal, TypeVar

OFFSETS = (1, 2, -1)
"""The distances to the exchanges to which a message lends its terms."""

ROW = 1 << 32
"""Numbers per row, more than the leaves of any transcript."""

REACH = 60
"""A leaf with more terms lends each at a lower weight, so that a long text does not drown short ones."""

NEEDY = 40
"""An exchange with more terms borrows each at a lower weight: its own terms say enough."""

LONGEST = 500
"""The greatest length of a leaf in terms, so that a term can still find a very long result."""

_GRAIN = 256
"""Weights and shares are multiples of 1/256, so that sums are exact in any order."""

_MAX_COUNT = 255
"""The most occurrences of a term in a leaf that count; BM25 is long saturated by then."""

ABSENT = -1.0
"""Stands for the length where there is no exchange."""

NONE = -1
"""Stands for the number where there is no leaf."""

_PACKING = 1 << 16  # two lengths are packed as one number: of statements times this, plus of questions
_MAX_FETCHED = 50_000
"""Postings fetched from a snapshot, after which its lists are dropped from memory: some 4 MB."""

_POSTING_BYTES = 10
"""The bytes of a leaf in a packed list: its number, and the two counts of the term."""

WISHES = "\0wishes"
"""The mark of a user message with a standing instruction or a preference."""

CHANGES = "\0changes"
"""The mark of a leaf that says that something has changed."""

NAME, SPEAKER, KIND, SOURCE, ORIGIN = "\0name ", "\0by ", "\0kind ", "\0in ", "\0of "
"""How marks begin: for words of a document's name or headings, for words of a speaker's name, and for the
kind, the source and the origin of a leaf."""

Counts = tuple[int, int]
"""The occurrences of a term in statements and in questions."""

Lent = tuple[tuple[float, float], ...]
"""Pairs of weights, for statements and for questions: those of own terms, then of terms lent by `OFFSETS`."""

Load = Callable[[Iterable[str]], Mapping[str, bytes]]
"""Loads parts of a snapshot by name; an error if one is missing."""

Parts = dict[str, bytes | None]
"""Parts of a snapshot to write, by name; None for those to delete."""


def in_grains(share: float) -> float:
    """The nearest multiple of 1/256."""
    return round(share * _GRAIN) / _GRAIN


def digest_of(*names: str) -> int:
    """A 64-bit digest of some names."""
    text = "\0".join(names).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big", signed=True)


def part_name(kind: str, name: str) -> str:
    """The name of a part of a snapshot: a digest of fixed length, without words."""
    return kind + blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


_Value = TypeVar("_Value", int, float)


class Column(dict[int, _Value]):
    """Values by number, with a default.

    Values of a snapshot stay in two parts of it, the sorted numbers and the values, which are loaded at the
    first look-up. A look-up copies the value into the dict.
    """

    def __init__(
        self, default: _Value, name: str, kind: Literal["q", "I", "d"] = "d", *, of: str = "numbers"
    ) -> None:
        """`name` and `of` are the names of the two parts, values and numbers."""
        self._default: _Value = default
        self._name, self._of = name, of
        self._kind: Literal["q", "I", "d"] = kind
        self.part: Callable[[str], bytes] | None = None
        """Loads a part of a snapshot by its name."""

    @cached_property
    def _rows(self) -> tuple[Sequence[int], Sequence[Any]]:
        if self.part is None:
            return (), ()
        return memoryview(self.part(self._of)).cast("q"), memoryview(self.part(self._name)).cast(self._kind)

    def __missing__(self, number: int) -> _Value:
        if self.part is not None:
            numbers, values = self._rows
            place = bisect_left(numbers, number)
            if place < len(numbers) and numbers[place] == number:
                return self.setdefault(number, values[place])
        return self.setdefault(number, self._default)

    def parts(self, numbers: "array[int] | None" = None) -> Parts:
        """The values of sorted numbers, or all values, as parts of a snapshot."""
        values = dict(zip(*self._rows, strict=True)) | self
        if numbers is None:
            numbers = array("q", sorted(n for n, value in values.items() if value != self._default))
        packed = array(self._kind, (values.get(number, self._default) for number in numbers))
        return {self._of: numbers.tobytes(), self._name: packed.tobytes()}


class Postings:
    """The terms of numbered leaves. Lists of a snapshot are loaded on demand."""

    def __init__(self, lent: Lent, replied: float) -> None:
        """`lent` are the weights of terms of messages, `replied` is that of the terms of replies."""
        self.lent, self.replied = lent, in_grains(replied)
        self.exchange_of: Column[int] = Column(NONE, "exchange_of", "q")
        """By leaf, the number of its exchange; `NONE` without a leaf."""
        self.last: Column[int] = Column(NONE, "last", "q")
        """By exchange, the highest number that a leaf of it ever had."""
        self.length: Column[float] = Column(ABSENT, "length")
        """By exchange, the weighted number of terms that it carries; `ABSENT` without an exchange."""
        self.receives: Column[float] = Column(1.0, "receives")
        """By exchange, the weight at which it borrows terms."""
        self.share: Column[float] = Column(0.0, "share")
        """By leaf, the weight at which a message lends its terms, or a reply adds them to its exchange."""
        self.total = 0.0
        self.exchanges = 0
        self._count = 0
        self._sizes: Column[int] = Column(0, "sizes", "I")  # by leaf
        # By exchange: the length of its own terms, that lent to it, and the number of its terms and leaves.
        self._own: Column[float] = Column(0.0, "own")
        self._lent: Column[float] = Column(0.0, "lent")
        self._extent: Column[int] = Column(0, "extent", "q")
        self._lists: dict[str, dict[int, Counts]] = {}
        self._added: dict[str, dict[int, Counts]] = {}  # additions to lists that are not loaded
        self._changed: set[str] = set()  # terms whose lists differ from the snapshot
        # By the digest of a term: the digest itself, if the snapshot has the term.
        self._known: Column[int] = Column(0, "terms", "q", of="terms")
        self._load: Load | None = None
        self._fetched = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, term: str) -> bool:
        leaves = self._lists.get(term)
        return bool(self[term] if leaves is None else leaves)

    def __getitem__(self, term: str) -> dict[int, Counts]:
        """The leaves that have a term, each with its counts."""
        if term not in self._lists:
            self.fetch((term,))
        return self._lists.get(term, {})

    def fetch(self, terms: Iterable[str]) -> None:
        """Load the lists of several terms at once."""
        if self._load is None:
            return
        if self._fetched > _MAX_FETCHED:
            self._lists = {term: held for term, held in self._lists.items() if term in self._changed}
            self._fetched = 0
        missing = {term for term in terms if term not in self._lists}
        saved = self._saved(missing)
        for term in missing:
            self._lists[term] = _unpacked(saved.get(term, b"")) | self._added.pop(term, {})
            self._fetched += len(self._lists[term])

    def _saved(self, terms: Iterable[str]) -> dict[str, bytes]:
        """The packed lists that the snapshot has of some terms."""
        names = {part_name("t", term): term for term in terms if self._known[digest_of(term)]}
        if self._load is None or not names:
            return {}
        return {names[name]: held for name, held in self._load(names).items()}

    def add(
        self, leaf: int, exchange: int, stated: Sequence[str], asked: Sequence[str], marks: Iterable[str]
    ) -> None:
        """Add a leaf of an exchange with its marks and the terms of its statements and of its questions."""
        self._sizes[leaf] = min(len(stated), LONGEST) * _PACKING + min(len(asked), LONGEST)
        self.share[leaf] = in_grains(min(1.0, REACH / max(1, len(stated) + len(asked))))
        in_statements, in_questions = Counter((*stated, *marks)), Counter(asked)
        counts = {term: (count, in_questions.pop(term, 0)) for term, count in in_statements.items()}
        counts |= {term: (0, count) for term, count in in_questions.items()}
        if len(stated) + len(asked) > _MAX_COUNT:
            counts = {term: (min(s, _MAX_COUNT), min(a, _MAX_COUNT)) for term, (s, a) in counts.items()}
        lists, has_snapshot = self._lists, self._load is not None
        new_lists = self._added if has_snapshot else lists
        if has_snapshot:
            self._changed.update(counts)
        for term, pair in counts.items():
            leaves = lists.get(term)
            if leaves is None:
                leaves = new_lists.setdefault(term, {})
            leaves[leaf] = _shared(pair)
        self.exchange_of[leaf] = exchange
        self.last[exchange] = max(self.last[exchange], leaf)
        self._count += 1
        self._weigh(leaf, exchange, 1)

    def remove(self, leaf: int, terms: Iterable[str]) -> None:
        """Remove a leaf that has these terms and marks, without a trace."""
        held = set(terms)
        self.fetch(held)
        self._changed |= held
        for term in held:
            leaves = self._lists[term]
            del leaves[leaf]
            if not leaves and self._load is None:
                del self._lists[term]
        self._weigh(leaf, self.exchange_of[leaf], -1)
        self.exchange_of[leaf] = NONE
        self._count -= 1

    def members(self, exchange: int) -> list[int]:
        """The leaves of an exchange, in order."""
        exchange_of = self.exchange_of
        return [leaf for leaf in range(exchange, self.last[exchange] + 1) if exchange_of[leaf] == exchange]

    def _weigh(self, leaf: int, exchange: int, step: int) -> None:
        """Add the length of a leaf to its exchange and to those that borrow from it, or subtract it."""
        stated, asked = divmod(self._sizes[leaf], _PACKING)
        if self.length[exchange] < 0.0:
            self._lent[exchange] = sum(
                (self._loan(exchange - offset, nth) for nth, offset in enumerate(OFFSETS, 1)), 0.0
            )
        if leaf == exchange:
            for nth, offset in enumerate(OFFSETS, 1):
                if self.length[leaf + offset] >= 0.0:
                    self._resize(leaf + offset, lent=step * self._loan(leaf, nth))
            by_stated, by_asked = self.lent[0]
            own = by_stated * stated + by_asked * asked
        else:
            own = self.replied * self.share[leaf] * (stated + asked)
        self._resize(exchange, own=step * own, extent=step * (stated + asked + 1))

    def _loan(self, leaf: int, nth: int) -> float:
        """The length that a message lends to the exchange at its nth offset."""
        if self.exchange_of[leaf] != leaf:
            return 0.0
        stated, asked = divmod(self._sizes[leaf], _PACKING)
        by_stated, by_asked = self.lent[nth]
        return self.share[leaf] * (by_stated * stated + by_asked * asked)

    def _resize(self, exchange: int, *, own: float = 0.0, lent: float = 0.0, extent: int = 0) -> None:
        before = max(self.length[exchange], 0.0)
        is_new, size = self.length[exchange] < 0.0, self._extent[exchange] + extent
        self._own[exchange] += own
        self._lent[exchange] += lent
        self._extent[exchange] = size
        self.receives[exchange] = receives = in_grains(min(1.0, NEEDY / max(1, size)))
        after = self._own[exchange] + receives * self._lent[exchange] if size else ABSENT
        self.length[exchange] = after
        self.exchanges += is_new - (not size)
        self.total += max(after, 0.0) - before

    # Snapshots

    def parts(self, numbers: "array[int]") -> Parts:
        """The changed lists, and the columns of the leaves with these sorted numbers."""
        changed = self._lists if self._load is None else self._changed
        lists = {term: _packed(self._lists.get(term, {})) for term in changed}
        bases = self._saved(self._added)
        for term, added in self._added.items():
            lists[term] = _joined(bases.get(term, b""), _packed(added))
        for term, held in lists.items():
            digest = digest_of(term)
            self._known[digest] = digest if held else 0
        parts = self._known.parts()
        for column in self._columns:
            parts |= column.parts(numbers)
        return parts | {part_name("t", term): held or None for term, held in lists.items()}

    def on_saved(self, load: Load) -> None:
        """Load from the snapshot that was just written."""
        self._load = load
        self._changed, self._added = set(), {}

    def open(
        self, load: Load, part: Callable[[str], bytes], count: int, exchanges: int, total: float
    ) -> None:
        """Load from a snapshot; the postings must be empty."""
        self._load, self._count, self.exchanges, self.total = load, count, exchanges, total
        for column in (*self._columns, self._known):
            column.part = part

    @property
    def _columns(self) -> tuple[Column[Any], ...]:
        by_exchange = (self.length, self.receives, self.last, self._own, self._lent, self._extent)
        return self.exchange_of, self.share, self._sizes, *by_exchange


def _packed(leaves: dict[int, Counts]) -> bytes:
    stated, asked = (bytes(map(itemgetter(nth), leaves.values())) for nth in (0, 1))
    return array("q", leaves).tobytes() + stated + asked


def _unpacked(packed: bytes) -> dict[int, Counts]:
    count = len(packed) // _POSTING_BYTES
    counts = zip(packed[8 * count : 9 * count], packed[9 * count :], strict=True)
    return dict(zip(array("q", packed[: 8 * count]), map(_shared, counts), strict=True))


_counts_memo: dict[Counts, Counts] = {}


def _shared(counts: Counts) -> Counts:
    """One shared object for equal counts: most of them are in thousands of postings."""
    return _counts_memo.setdefault(counts, counts)


def _joined(first: bytes, second: bytes) -> bytes:
    """Join two packed lists of different leaves."""
    n, m = len(first) // _POSTING_BYTES, len(second) // _POSTING_BYTES
    numbers, stated = first[: 8 * n] + second[: 8 * m], first[8 * n : 9 * n] + second[8 * m : 9 * m]
    return numbers + stated + first[9 * n :] + second[9 * m :]
