"""Sessions for tests: on a store in memory, alone or with another that does not share its memory."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from quire.items import Item, Message
from quire.session import Session
from quire.session.ledger import Ledger
from quire.session.workspace import Workspace
from quire.stores import Entry, MemoryStore, Place, Store

PLACE = Place("ana", "q3")
FORK = PLACE._replace(conversation="q3/x")
SECRET = "the number is swordfish-0815-1234"


def session(store: Store | None = None, **options: Any) -> Session:
    return Session.open("ana/q3", store=store or MemoryStore(), **options)


def apart(store: Store, **options: Any) -> Session:
    """A session as another process would have it: it knows only what it has read from the store."""
    return Session(Ledger(store, PLACE, Workspace), **options)


def plans(one: Session) -> list[str]:
    """The compactions that were begun and not finished."""
    return list(one._ledger.workspace.plans)  # pyright: ignore[reportPrivateUsage]


class Twin(MemoryStore):
    """The same entries in another store, as another process would open it."""

    def __init__(self, other: MemoryStore) -> None:
        super().__init__()
        for scope in other.scopes():
            for name in other.conversations(scope):
                place = Place(scope, name)
                entries = [Entry(stored.stream, stored.body) for stored in other.read(place)]
                self.append(place, entries, expected=0)


def texts(items: Any) -> list[str]:
    return [item.text if isinstance(item, Message) else type(item).__name__ for item in items]


def ids(items: Any) -> list[str]:
    return [item.id for item in items]


def said(*words: str) -> list[Item]:
    return [Message("user" if index % 2 == 0 else "assistant", word) for index, word in enumerate(words)]


class Interrupted(MemoryStore):
    """A store where something happens just before or after entries are added to a place, or emptied in it."""

    def __init__(self) -> None:
        super().__init__()
        self.before: dict[Place, Callable[[], Any]] = {}
        self.after: dict[Place, Callable[[], Any]] = {}
        self.emptied: dict[Place, Callable[[], Any]] = {}

    def append(self, place: Place, entries: Sequence[Entry], *, expected: int) -> int:
        self.before.pop(place, lambda: None)()
        version = super().append(place, entries, expected=expected)
        self.after.pop(place, lambda: None)()
        return version

    def replace(self, place: Place, bodies: Mapping[int, bytes]) -> None:
        super().replace(place, bodies)
        self.emptied.pop(place, lambda: None)()

    def dies_after(self, place: Place) -> None:
        """Who adds entries to a place next dies then."""
        self.after[place] = _die

    def dies_when_emptied(self, place: Place) -> None:
        """Who empties entries of a place next dies then."""
        self.emptied[place] = _die


def _die() -> None:
    raise KeyboardInterrupt


class Family(NamedTuple):
    """A conversation with a fork that has a secret of its own."""

    store: Any
    one: Session
    child: Session
    secret: Message


def family(store: MemoryStore | None = None) -> "Family":
    """One that says `go`, and its fork `x`, whose assistant says the secret."""
    kept = store or MemoryStore()
    one = session(kept)
    one.user("go")
    child = one.fork("x")
    secret = child.assistant(SECRET)
    assert secret is not None
    return Family(kept, one, child, secret)
