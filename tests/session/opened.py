"""Sessions for tests: on a store in memory, alone or with another that does not share its memory."""

from typing import Any

from quire.items import Item, Message
from quire.session import Session
from quire.session.ledger import Ledger
from quire.session.workspace import Workspace
from quire.stores import Entry, MemoryStore, Place, Store

PLACE = Place("ana", "q3")


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
