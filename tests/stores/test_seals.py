"""Who has no key writes nothing among what is sealed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from quire.errors import Conflict, InvalidValue, StoreDamaged
from quire.stores import Entry, MemoryStore, Place, Store
from quire.stores.sealing import Sealed
from tests.stores.every import SHELVES, Shelf

KEY = bytes(range(32))
HERE, THERE = Place("ana", "q3"), Place("ana", "q4")
NOTE = Entry("main", b'{"kind":"note"}')


@pytest.fixture(params=["json", "json lines", "sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    with SHELVES[request.param](tmp_path) as shelf:
        yield shelf.url


@pytest.fixture
def bare(url: str) -> Iterator[Store]:
    """A store without a key where one conversation is sealed."""
    with Shelf(url, KEY).open() as sealed:
        sealed.append(HERE, [NOTE, NOTE], expected=0)
    with Shelf(url).open() as store:
        yield store


@pytest.mark.parametrize("count", [1, 2])
def test_without_the_key_nothing_is_added_to_a_sealed_conversation(bare: Store, url: str, count: int) -> None:
    for _ in range(2):
        with pytest.raises(InvalidValue, match="ana/q3 is sealed: open its store with its key"):
            bare.append(HERE, [NOTE] * count, expected=2)
    with pytest.raises(Conflict):
        bare.append(HERE, [NOTE], expected=1)
    assert bare.append(HERE, [], expected=2) == 2
    with Shelf(url, KEY).open() as sealed:
        assert sealed.append(HERE, [NOTE], expected=2) == 3
        assert [stored.body for stored in sealed.read(HERE)] == [NOTE.body] * 3


def test_other_conversations_of_the_same_store_are_written_as_ever(bare: Store) -> None:
    for version in range(3):
        assert bare.append(THERE, [NOTE], expected=version) == version + 1
    bare.forget(HERE)
    for version in range(3):
        assert bare.append(HERE, [NOTE], expected=version) == version + 1


def test_what_is_sealed_can_be_copied_without_the_key(bare: Store) -> None:
    for version, _, body in bare.read(HERE):
        bare.append(THERE, [Entry("main", body)], expected=version - 1)
    assert bare.version(THERE) == 2


def test_a_conversation_that_was_forgotten_and_then_sealed_is_looked_at_again(bare: Store, url: str) -> None:
    bare.append(THERE, [NOTE], expected=0)
    bare.append(THERE, [NOTE], expected=1)
    with Shelf(url, KEY).open() as sealed:
        sealed.forget(THERE)
        sealed.append(THERE, [NOTE, NOTE], expected=0)
        with pytest.raises(InvalidValue):
            bare.append(THERE, [NOTE], expected=2)
        assert len(sealed.read(THERE)) == 2


def test_reading_a_mixed_conversation_names_what_was_written_without_a_key() -> None:
    with MemoryStore() as inside:
        sealed = Sealed(inside, KEY)
        sealed.append(HERE, [NOTE], expected=0)
        inside.append(HERE, [NOTE] * 2, expected=1)
        with pytest.raises(StoreDamaged, match="versions 2, 3 of ana/q3: written without a key"):
            sealed.read(HERE)
        with pytest.raises(StoreDamaged, match="version 3 of"):
            sealed.read(HERE, after=2)
        inside.append(HERE, [NOTE] * 30, expected=3)
        with pytest.raises(StoreDamaged, match="10, 11 and 22 more of"):
            sealed.read(HERE)
