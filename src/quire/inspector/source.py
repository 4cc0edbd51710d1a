"""Where the inspector reads from: a store, or a file that was opened; and the parameters of a request."""

from collections.abc import Mapping
from typing import Any, TypeVar

from quire.errors import InvalidValue, UnknownId, cut
from quire.integrations.logs.histories import History
from quire.session import Session
from quire.stores import Place, Store, named_scope, place_at

T = TypeVar("T")
_MOST = 10**18


class Query:
    """The parameters of a request, checked: `InvalidValue` names one that is wrong."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = given

    def text(self, name: str, default: str = "") -> str:
        """A text; the default if it is not given."""
        return self._given.get(name, default)

    def number(self, name: str, default: T, *, least: int = 0, most: int = _MOST) -> int | T:
        """A whole number; the default if it is not given, `most` if it is above that."""
        given = self._given.get(name, "")
        if not given:
            return default
        if not given.removeprefix("-").isdecimal() or len(given) > 18 or int(given) < least:
            raise InvalidValue(f"{name} is a whole number of at least {least}")
        return min(int(given), most)

    def flag(self, name: str) -> bool:
        """Whether a parameter is given, and is not 0."""
        return self._given.get(name, "0") not in ("", "0", "false")


def text_in(body: Mapping[str, Any], name: str) -> str:
    """A text of the body of a request that is not empty."""
    found = body.get(name)
    if not isinstance(found, str) or not found:
        raise InvalidValue(f"{name} is a text that is not empty")
    return found


class Source:
    """A store as the inspector shows it. With a scope, nothing outside of it can be named or seen.

    A file that was opened is a source too: a store in memory that nobody writes to, with `histories`, the
    payloads that were read from it, by the address of their conversation, and `notes` on what was read.
    """

    def __init__(
        self,
        store: Store,
        *,
        label: str,
        scope: str | None = None,
        is_writable: bool = False,
        histories: dict[str, History] | None = None,
    ) -> None:
        self.store, self.label, self.is_writable = store, label, is_writable
        self.scope = None if scope is None else named_scope(scope)
        self.histories, self.notes = histories, list[str]()

    @property
    def is_file(self) -> bool:
        """Whether it was opened from files."""
        return self.histories is not None

    def place(self, address: str) -> Place:
        """The place of a conversation that exists and may be seen; `UnknownId` for any other."""
        place = place_at(address)
        if self.scope not in (None, place.scope) or not self.store.version(place):
            raise UnknownId(f"there is no conversation {cut(str(place))} here")
        return place

    def session(self, address: str) -> Session:
        """The session of a conversation that exists and may be seen, with all that others wrote."""
        place = self.place(address)
        session = Session.open(str(place), store=self.store)
        session.refresh()
        return session
