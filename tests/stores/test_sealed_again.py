"""What a sealed store could not write is tried again in the same bytes: so it is known if it arrived."""

from collections.abc import Sequence
from typing import Any

import psycopg
import pytest

from quire.errors import StoreFailed
from quire.items import JSON, Message
from quire.session import Session
from quire.stores import Entry, MemoryStore, Place
from quire.stores.postgres import PostgresStore
from quire.stores.sealing import Sealed

KEY = bytes(range(32))
HERE = Place("ana", "q3")
BODY = JSON.encode_item(Message("user", "the margin is 12 %"))


class Doubtful(MemoryStore):
    """A store that keeps what it is given, and says that it could not, as often as it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.failures = 0
        self.given: list[Sequence[Entry]] = []

    def append(self, place: Place, entries: Sequence[Entry], *, expected: int) -> int:
        self.given.append(tuple(entries))
        if self.failures:
            self.failures -= 1
            raise StoreFailed("the connection was lost")
        return super().append(place, entries, expected=expected)


def test_what_failed_is_tried_again_in_the_same_bytes() -> None:
    inside = Doubtful()
    store = Sealed(inside, KEY)
    inside.failures = 2
    for _ in range(2):
        with pytest.raises(StoreFailed):
            store.append(HERE, [Entry("main", BODY), Entry("side", BODY)], expected=0)
    assert store.append(HERE, [Entry("main", BODY), Entry("side", BODY)], expected=0) == 2
    assert inside.given[0] == inside.given[1] == inside.given[2]
    assert [stored.body for stored in store.read(HERE)] == [BODY, BODY]


@pytest.mark.parametrize(
    ("place", "entry", "expected"),
    [
        (HERE, Entry("main", b"{}"), 0),
        (HERE, Entry("side", BODY), 0),
        (Place("ana", "q4"), Entry("main", BODY), 0),
        (HERE, Entry("main", BODY), 1),
    ],
)
def test_what_is_another_is_sealed_anew(place: Place, entry: Entry, expected: int) -> None:
    inside = Doubtful()
    store = Sealed(inside, KEY)
    inside.failures = 2
    for where, what, after in ((HERE, Entry("main", BODY), 0), (place, entry, expected)):
        with pytest.raises(StoreFailed):
            store.append(where, [what], expected=after)
    assert inside.given[0] != inside.given[1]


def test_what_was_kept_is_not_sealed_alike_again() -> None:
    inside = Doubtful()
    store = Sealed(inside, KEY)
    inside.failures = 1
    with pytest.raises(StoreFailed):
        store.append(HERE, [Entry("main", BODY)], expected=0)
    store.append(HERE, [Entry("main", BODY)], expected=0)
    store.forget(HERE)
    store.append(HERE, [Entry("main", BODY)], expected=0)
    assert inside.given[0] == inside.given[1] != inside.given[2]


def test_what_failed_and_was_forgotten_is_sealed_anew() -> None:
    inside = Doubtful()
    store = Sealed(inside, KEY)
    inside.failures = 1
    with pytest.raises(StoreFailed):
        store.append(HERE, [Entry("main", BODY)], expected=0)
    store.forget(HERE)
    store.append(HERE, [Entry("main", BODY)], expected=0)
    assert inside.given[0] != inside.given[1]


@pytest.fixture
def losing(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """While it says why, what is added to PostgreSQL is added, and never answered."""
    real = PostgresStore._append  # pyright: ignore[reportPrivateUsage]
    why: list[str] = []

    def lossy(self: PostgresStore, *given: Any) -> int:
        try:
            return real(self, *given)
        finally:
            if why:
                raise psycopg.OperationalError(why[0])

    monkeypatch.setattr(PostgresStore, "_append", lossy)
    return why


def test_an_item_that_arrived_unanswered_is_recorded_by_saying_it_again(url: str, losing: list[str]) -> None:
    with Sealed(PostgresStore(url), KEY) as store:
        one = Session.open("ana/q3", store=store)
        one.user("first")
        said = Message("user", "second")
        losing.append("the connection was lost")
        with pytest.raises(StoreFailed):
            one.append(said)
        losing.clear()
        assert one.append(said) == (said,)
        assert [item.id for item in one.view()][1:] == [said.id]
        assert store.version(HERE) == 2
