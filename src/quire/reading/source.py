"""Where reading reads from: a store, or one scope of it, or files. The only place that checks scopes."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from quire.context import DEFAULT_MODEL
from quire.errors import UnknownId, cut
from quire.integrations.logs.histories import History
from quire.memory import is_reserved
from quire.session import Session
from quire.stores import Place, Recent, Store, named_scope, place_at
from quire.tokens import Counter, counter_for

_MOST_NAMED = 10

Count = Annotated[int, Meta(ge=0, le=10**15)]
"""A number of rows, or a version."""

MOST_ROWS = 200
Limit = Annotated[int, Meta(ge=1, le=MOST_ROWS)]
"""The rows of a page."""

Fields = Mapping[str, Any]
"""The fields of a tuple with names, such as `quire.context.Entry`."""


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """What reading returns: values that encode as JSON."""


class Source:
    """A store to read from. With a scope, nothing outside of it can be named or seen.

    A file that was opened is a source too: a store in memory that nobody writes to, with `histories`, the
    payloads that were read from it, by the address of their conversation, and `notes` on what was read.
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
        """Conversations without open calls, as of a version: they are not opened again to look for some."""

    @property
    def is_file(self) -> bool:
        """Whether it was opened from files."""
        return self.histories is not None

    def place(self, address: str | Place) -> Place:
        """The place of a conversation that exists and may be seen; `UnknownId` for any other."""
        place = address if isinstance(address, Place) else place_at(address)
        if self.scope not in (None, place.scope) or not self.store.version(place):
            raise UnknownId(f"there is no conversation {cut(str(place))} here")
        return place

    def session(self, address: str | Place) -> Session:
        """The session of a conversation that exists and may be seen, with all that others wrote."""
        session = Session.open(str(self.place(address)), store=self.store)
        session.refresh()
        return session

    def recent(self) -> list[Recent]:
        """The conversations that may be seen, the latest first, without those kept for documents."""
        return [one for one in self.store.recent(self.scope) if not is_reserved(one.place.conversation)]

    def scopes(self, name: str | None) -> list[str]:
        """The scopes of a name, or all, the latest first: a conversation without a scope is one of its own.

        `UnknownId` if there is none that may be seen.
        """
        places = [one.place for one in self.store.recent(self.scope)]
        found = list(dict.fromkeys(one.scope for one in places if name in (None, one.named, one.scope)))
        if not found:
            names = list(dict.fromkeys(one.named for one in places if one.named))[:_MOST_NAMED]
            known = ", ".join(repr(cut(one)) for one in sorted(names)) or "none"
            if not name:
                raise UnknownId(f"there is no conversation without a scope here; name a scope: {known}")
            raise UnknownId(f"there is nothing in the scope {cut(name)!r} here; there are {known}")
        return found


def counter_of(session: Session) -> Counter:
    """What all items of a conversation are counted by: the tokenizer of the model that was asked last."""
    models = [kept.model for kept in session.receipts[-1:] if kept.model]
    return counter_for(models[0] if models else DEFAULT_MODEL)
