"""Ids of one's own may be the same in two conversations: what is forgotten in one stays in the other."""

import asyncio
from collections.abc import Callable

import pytest

from quire import Session
from quire.errors import DuplicateId
from quire.items import Message
from quire.session.branching import Keep
from quire.session.remembering import take_out
from quire.stores import MemoryStore, Place, Store
from tests.session.opened import Interrupted
from tests.session.recalling import ASKED, PLAIN, QUOTING, SECRET, looked_up, results
from tests.session.test_forgetting import kept_bytes

OWN = "The printer on the third floor has the serial ZX-81."


def two(store: Store) -> tuple[Session, Session]:
    """A conversation that says it, and one that recalls it and has another item of the same id."""
    monday, tuesday = Session.open("ana/monday", store=store), Session.open("ana/tuesday", store=store)
    monday.append(Message("user", SECRET, id="1"), Message("assistant", "Noted.", id="2"))
    tuesday.append(Message("user", OWN, id="1"), Message("assistant", "Shall I send someone?", id="2"))
    return monday, tuesday


def recalled_by(how: str, store: Store, tuesday: Session) -> None:
    if how == "tool":
        looked_up(store, "tuesday")
    else:
        tuesday.user(ASKED)
        asyncio.run(tuesday.build(QUOTING)).render("openai")


def still_has_its_own(tuesday: Session) -> bool:
    tuesday.refresh()
    payload = str(asyncio.run(tuesday.build(PLAIN)).render("openai").payload)
    return OWN in payload and "swordfish" not in payload


@pytest.mark.parametrize("how", ["tool", "section"])
@pytest.mark.parametrize("all_of_it", [False, True])
def test_who_recalled_loses_what_he_recalled_and_nothing_of_his_own(how: str, all_of_it: bool) -> None:
    store = MemoryStore()
    monday, tuesday = two(store)
    recalled_by(how, store, tuesday)
    monday.forget(*(() if all_of_it else ("1",)))
    assert still_has_its_own(tuesday)
    assert b"swordfish" not in kept_bytes(store)


def test_where_the_conversation_is_taken_out_whole() -> None:
    store = MemoryStore()
    monday, tuesday = two(store)
    recalled_by("tool", store, tuesday)
    take_out(store, monday.place)
    assert still_has_its_own(tuesday)
    assert results(tuesday) == ["[forgotten]"]


@pytest.mark.parametrize("first", ["monday", "tuesday"])
@pytest.mark.parametrize("when", ["noted", "emptied"])
def test_who_forgets_and_dies_is_finished_without_harm(first: str, when: str) -> None:
    store = Interrupted()
    monday, tuesday = two(store)
    recalled_by("tool", store, tuesday)
    die = store.dies_after if when == "noted" else store.dies_when_emptied
    die(tuesday.place)
    with pytest.raises(KeyboardInterrupt):
        monday.forget("1")
    del monday
    for name in (first, "monday", "tuesday"):
        Session.open(f"ana/{name}", store=store)
    assert still_has_its_own(tuesday)
    assert b"swordfish" not in kept_bytes(store)


def test_what_a_third_said_under_the_same_id_stays_where_it_was_recalled() -> None:
    store = MemoryStore()
    monday, tuesday = two(store)
    friday = Session.open("ana/friday", store=store)
    friday.append(Message("user", "My passport number is P-77, the other one.", id="1"))
    recalled_by("tool", store, tuesday)
    assert "P-77" in results(tuesday)[0] and "swordfish" in results(tuesday)[0]
    looked_up(store, "saturday")
    friday.forget("1")
    assert still_has_its_own(monday) is False, "it says the other"
    assert b"P-77" not in kept_bytes(store)
    assert b"swordfish" in kept_bytes(store)


RELATED: dict[str, Callable[[Session], Session]] = {
    "below by its name": lambda one: Session.open(
        scope="ana",
        conversation="monday/17",
        store=one._ledger.store,  # pyright: ignore[reportPrivateUsage]
    ),
    "beside": lambda one: one.beside("17"),
}


@pytest.mark.parametrize("how", RELATED)
@pytest.mark.parametrize("is_above", [False, True])
@pytest.mark.parametrize("same_time", [False, True])
def test_who_stands_below_or_above_keeps_its_own(how: str, is_above: bool, same_time: bool) -> None:
    store = MemoryStore()
    monday = Session.open("ana/monday", store=store)
    other = RELATED[how](monday)
    upper, lower = (OWN, SECRET) if is_above else (SECRET, OWN)
    monday.append(Message("user", upper, id="1", created_at=1_700_000_000.0))
    other.append(Message("user", lower, id="1", created_at=1_700_000_000.0 + (not same_time)))
    (other if is_above else monday).forget("1")
    assert b"ZX-81" in kept_bytes(store) and b"swordfish" not in kept_bytes(store)


@pytest.mark.parametrize("keep", ["all", "result"])
def test_a_merge_that_would_bring_another_item_of_one_id_is_refused(keep: Keep) -> None:
    store = MemoryStore()
    monday, tuesday = two(store)
    before = [item.id for item in monday.view()]
    with pytest.raises(DuplicateId, match="is not the parent's"):
        asyncio.run(monday.merge(tuesday, keep=keep))
    assert [item.id for item in monday.view()] == before
    tuesday.forget("1")
    assert "swordfish" in str([item.text for item in monday.view() if isinstance(item, Message)])


@pytest.mark.parametrize("keep", ["all", "result"])
def test_what_was_merged_is_the_same_item_and_goes(keep: Keep) -> None:
    store = MemoryStore()
    monday = Session.open("ana/monday", store=store)
    monday.user("Ask them.")
    fork = monday.fork("x")
    said = fork.append(Message("assistant", SECRET, id="1"))
    asyncio.run(monday.merge(fork, keep=keep))
    assert said and "swordfish" in str(kept_bytes(store))
    monday.forget("1")
    assert b"swordfish" not in kept_bytes(store)


@pytest.mark.parametrize("when", ["noted", "emptied"])
@pytest.mark.parametrize("dies_at", ["monday", "monday/x"])
def test_also_where_who_forgets_dies(when: str, dies_at: str) -> None:
    store = Interrupted()
    monday = Session.open("ana/monday", store=store)
    monday.user("Ask them.")
    fork = monday.fork("x")
    fork.append(Message("assistant", SECRET, id="1"))
    asyncio.run(monday.merge(fork, keep="result"))
    die = store.dies_after if when == "noted" else store.dies_when_emptied
    die(Place("ana", dies_at))
    with pytest.raises(KeyboardInterrupt):
        monday.forget("1")
    Session.open("ana/monday", store=store)
    Session.open("ana/monday%2Fx", store=store)
    assert b"swordfish" not in kept_bytes(store)
