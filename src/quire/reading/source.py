"""The source that is read: a store, one scope of it, or files. Only this file checks scopes."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from quire.context import DEFAULT_MODEL
from quire.errors import UnknownId, cut
from quire.integrations.logs.histories import History
from quire.memory import is_reserved
from quire.session import Session, transcript_with
from quire.state import View
from quire.stores import Place, Recent, Store, named_scope, place_at
from quire.tokens import Counter, counter_for

_MAX_NAMED = 10

Count = Annotated[int, Meta(ge=0, le=10**15)]
"""A number of rows, or a version."""

MAX_ROWS = 200
Limit = Annotated[int, Meta(ge=1, le=MAX_ROWS)]
"""How many rows a page may have."""

Fields = Mapping[str, Any]
"""A row as a dict, such as the fields of a `quire.context.Entry`."""


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """The base of all results, which encode as JSON."""


class Source:
    """A store to read from. With a scope, nothing outside of it can be addressed or seen.

    Open files are a source too: a read-only store in memory, with `histories`, which are their payloads by
    the address of the conversation, and `notes` on faults.
    """

    def __init__(
        self,
        store: Store,
        *,
        label: str = "",
        scope: str | None = None,
        is_writable: bool = False,
        histories: dict[str, History] | None = None,
    ) -> None:
        self.store, self.label, self.is_writable = store, label, is_writable
        self.scope = None if scope is None else named_scope(scope)
        self.histories, self.notes = histories, list[str]()
        self.without_calls: dict[Place, int] = {}
        """Conversations that had no open calls at a version, and need not be opened again for them."""

    @property
    def is_file(self) -> bool:
        """Whether the source is files."""
        return self.histories is not None

    def place(self, address: str | Place) -> Place:
        """The place of an existing conversation within the scope; `UnknownId` for any other."""
        place = address if isinstance(address, Place) else place_at(address)
        if self.scope not in (None, place.scope) or not self.store.version(place):
            raise UnknownId(f"there is no conversation {cut(str(place))} here")
        return place

    def session(self, address: str | Place) -> Session:
        """The session of an existing conversation within the scope, with the latest writes."""
        session = Session.open(str(self.place(address)), store=self.store)
        session.refresh()
        return session

    def recent(self) -> list[Recent]:
        """The conversations within the scope, latest first, without reserved ones."""
        return [row for row in self.store.recent(self.scope) if not is_reserved(row.place.conversation)]

    def scopes(self, name: str | None) -> list[str]:
        """The scopes with a name, or all, latest first; a conversation without a scope is a scope of its own.

        `UnknownId` if there is none.
        """
        places = [recent.place for recent in self.store.recent(self.scope)]
        wanted = [place for place in places if name in (None, place.given_scope, place.scope)]
        scopes = list(dict.fromkeys(place.scope for place in wanted))
        if not scopes:
            names = list(dict.fromkeys(place.given_scope for place in places if place.given_scope))[
                :_MAX_NAMED
            ]
            choices = ", ".join(repr(cut(scope)) for scope in sorted(names)) or "none"
            if not name:
                raise UnknownId(f"there is no conversation without a scope here; name a scope: {choices}")
            raise UnknownId(f"there is nothing in the scope {cut(name)!r} here; there are {choices}")
        return scopes


def view_with(session: Session, item_id: str) -> View:
    """The view of the transcript that has an item; `UnknownId` if none has."""
    name = transcript_with(session, item_id)
    if name is None:
        raise UnknownId(f"there is no item {cut(item_id)!r} here")
    return session.view(name)


def counter_of(session: Session) -> Counter:
    """The counter for a conversation: that of the model of its last request."""
    models = [kept.model for kept in session.receipts[-1:] if kept.model]
    return counter_for(models[0] if models else DEFAULT_MODEL)
