"""What says who recalled from whom is a conversation too: whoever goes through all of them spoils nothing."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from quire import Session
from quire.session.remembering import take_out
from quire.stores import MemoryStore, Place, Store
from tests.session.recalling import PLAIN, SECRET, looked_up, results

LINKS = Place("ana", "~recalled")


@pytest.fixture(params=["memory", "chats.db", "chats.jsonl", "chats.json", "sealed"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    name = str(request.param)
    key = bytes(32) if name == "sealed" else None
    with (
        MemoryStore()
        if name == "memory"
        else Store.open(tmp_path / ("kept.db" if name == "sealed" else name), key=key) as opened
    ):
        monday = Session.open("ana/monday", store=opened)
        monday.user(SECRET)
        assert "swordfish" in str(results(looked_up(opened, "tuesday")))
        yield opened


def left(store: Store) -> bool:
    names = store.conversations("ana")
    entries = (entry for name in names for entry in store.read(Place("ana", name)))
    return any(b"swordfish" in entry.body for entry in entries)


def test_a_loop_that_erases_a_user(store: Store) -> None:
    for name in store.conversations("ana"):
        Session.open(scope="ana", conversation=name, store=store).forget()
    assert not left(store)
    new = Session.open("ana/new", store=store)
    new.forget(new.user(SECRET).id)
    assert not left(store)


def test_a_loop_that_takes_everything_out(store: Store) -> None:
    Session.open("ana/über Rom", store=store).user("It sorts after all others.")
    for name in store.conversations("ana"):
        take_out(store, Place("ana", name))
    assert store.scopes() == []


def test_a_loop_that_asks_for_titles(store: Store) -> None:
    for name in store.conversations("ana"):
        session = Session.open(scope="ana", conversation=name, store=store)
        asyncio.run(session.build(PLAIN)).render("openai")
    monday = Session.open("ana/monday", store=store)
    monday.forget(monday.view()[0].id)
    assert not left(store)


def test_it_is_not_taken_out_while_it_is_needed(store: Store) -> None:
    take_out(store, LINKS)
    assert store.version(LINKS)
    monday = Session.open("ana/monday", store=store)
    monday.forget(monday.view()[0].id)
    assert not left(store)
