"""The tables of an index that lasts, and how they are asked, whichever database has them.

A statement has `?` for a value, and `IN (??)` for a list of whole numbers or of addresses. A leaf's number is
that of its transcript and its order in it, so that its neighbours are the numbers beside its own.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from typing import Any, TypeVar

VERSION = 4
"""Tables of another version are dropped: what was in them is read again."""

APPLICATION = 0x51756978
"""What SQLite calls an application id: it tells an index from a store, and from what others keep."""

ORDER_BITS = 32
MOST_ORDER = 1 << 31
"""Beyond it numbers are left free, so that no leaf stands beside one of another transcript."""

TABLES = (
    "scopes",
    "sources",
    "transcripts",
    "leaves",
    "bodies",
    "terms",
    "postings",
    "speakers",
    "names",
    "marks",
    "about",
)

SCHEMA = (
    "CREATE TABLE about (version INTEGER NOT NULL, unclean INTEGER NOT NULL, forgotten INTEGER NOT NULL)",
    """CREATE TABLE scopes (
        number SERIAL PRIMARY KEY, address TEXT NOT NULL, dialect TEXT NOT NULL,
        leaves INTEGER NOT NULL, vectors INTEGER NOT NULL, total REAL NOT NULL,
        changes INTEGER NOT NULL, shrunk INTEGER NOT NULL,
        UNIQUE (address, dialect))""",
    """CREATE TABLE sources (
        number SERIAL PRIMARY KEY, scope INTEGER NOT NULL, address TEXT NOT NULL, name BLOB NOT NULL,
        UNIQUE (scope, address))""",
    """CREATE TABLE transcripts (
        number SERIAL PRIMARY KEY, source INTEGER NOT NULL, address TEXT NOT NULL, name BLOB NOT NULL,
        UNIQUE (source, address))""",
    # Small, for very many are looked at in one search; what they say is in `bodies`.
    """CREATE TABLE leaves (
        number INTEGER PRIMARY KEY, scope INTEGER NOT NULL, source INTEGER NOT NULL, address TEXT NOT NULL,
        stretch INTEGER NOT NULL, at REAL NOT NULL, importance REAL NOT NULL, kind TEXT NOT NULL,
        speaker INTEGER NOT NULL, asks INTEGER NOT NULL, timed INTEGER NOT NULL,
        size INTEGER NOT NULL, length REAL NOT NULL, changed INTEGER NOT NULL)""",
    "CREATE INDEX leaves_by_address ON leaves (source, address)",
    "CREATE INDEX leaves_by_time ON leaves (scope, at)",
    "CREATE INDEX leaves_by_time_of_source ON leaves (source, at)",
    "CREATE INDEX leaves_by_importance ON leaves (scope, importance, at)",
    "CREATE INDEX leaves_by_importance_of_source ON leaves (source, importance, at)",
    "CREATE INDEX leaves_by_change ON leaves (scope, changed)",
    "CREATE INDEX leaves_by_speaker ON leaves (speaker)",
    "CREATE TABLE bodies (number INTEGER PRIMARY KEY, words BLOB NOT NULL, body BLOB NOT NULL, vector BLOB)",
    """CREATE TABLE terms (
        number SERIAL PRIMARY KEY, scope INTEGER NOT NULL, address TEXT NOT NULL,
        leaves INTEGER NOT NULL, carriers INTEGER NOT NULL, UNIQUE (scope, address))""",
    """CREATE TABLE postings (
        term INTEGER NOT NULL, block INTEGER NOT NULL, leaves BLOB NOT NULL,
        PRIMARY KEY (term, block)) CLUSTERED""",
    """CREATE TABLE speakers (
        number SERIAL PRIMARY KEY, scope INTEGER NOT NULL, address TEXT NOT NULL, leaves INTEGER NOT NULL,
        UNIQUE (scope, address))""",
    """CREATE TABLE names (
        scope INTEGER NOT NULL, address TEXT NOT NULL, speaker INTEGER NOT NULL,
        PRIMARY KEY (scope, address, speaker)) CLUSTERED""",
    """CREATE TABLE marks (
        scope INTEGER NOT NULL, address TEXT NOT NULL, place BLOB NOT NULL, mark BLOB NOT NULL,
        PRIMARY KEY (scope, address)) CLUSTERED""",
)
"""`SERIAL` is a number that the database gives, `CLUSTERED` a table kept in the order of its key."""

Row = tuple[Any, ...]
_Result = TypeVar("_Result")


class Asked(ABC):
    """A database within one transaction."""

    @abstractmethod
    def rows(self, statement: str, *values: object) -> list[Row]:
        """What a statement gives."""

    @abstractmethod
    def many(self, statement: str, values: Iterable[Sequence[object]]) -> None:
        """Run a statement once for each row of values."""


class Tables(ABC):
    """Where the tables are. Verbs may be called from any thread."""

    @abstractmethod
    def read(self, work: Callable[[Asked], _Result]) -> _Result:
        """Do some work that sees one moment."""

    @abstractmethod
    def write(self, work: Callable[[Asked], _Result]) -> _Result:
        """Do some work that changes something, all of it or nothing, while nobody else does."""

    @abstractmethod
    def wipe(self) -> None:
        """Leave nothing behind of what was deleted."""

    @abstractmethod
    def close(self) -> None:
        """Let go of files and connections."""


def address(name: str) -> str:
    """What a name is found by: short, whatever it is, and it tells nothing of it."""
    return blake2b(_bytes(name), digest_size=12).hexdigest()


def stored(name: str) -> bytes:
    """A name as it is kept: its bytes are in the order of its letters, in every database."""
    return _bytes(name)


def told(name: bytes) -> str:
    """A name as it was."""
    return bytes(name).decode("utf-8", "surrogatepass")


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass")
