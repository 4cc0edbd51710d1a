"""What a merged conversation had recalled is forgotten with its source, also once that one is gone."""

import asyncio

import pytest
from hypothesis import given, strategies as st

from quire import Session
from quire.errors import Forgotten
from quire.models import Scripted
from quire.session.branching import Keep
from quire.session.families import is_below
from quire.session.remembering import take_out
from quire.stores import MemoryStore
from tests.session.opened import Interrupted
from tests.session.recalling import PLAIN, SECRET, looked_up, told
from tests.session.test_forgetting import kept_bytes


def merged(store: MemoryStore, child: Session, name: str, keep: Keep = "all") -> Session:
    other = Session.open(f"ana/{name}", store=store)
    other.user("Go on.")
    writer = Scripted([f"They found: {SECRET}"])
    asyncio.run(other.merge(child, keep=keep, model=writer))
    return other


@pytest.mark.parametrize("keep", ["all", "summary"])
def test_though_the_one_that_recalled_is_taken_out(keep: Keep) -> None:
    store = MemoryStore()
    monday, secret = told(store)
    wednesday = looked_up(store, "wednesday")
    other = merged(store, wednesday, "other", keep)
    take_out(store, wednesday.place)
    assert b"swordfish" in b"".join(entry.body for entry in store.read(other.place))
    monday.forget(secret.id)
    assert b"swordfish" not in kept_bytes(store)
    assert "swordfish" not in str(asyncio.run(other.build(PLAIN)).render("openai").payload)


def test_a_fork_that_recalled_is_merged_back_and_taken_out() -> None:
    store = MemoryStore()
    monday, secret = told(store)
    main = Session.open("ana/main", store=store)
    main.user("Please look it up.")
    main.fork("x")
    fork = looked_up(store, "main%2Fx")
    asyncio.run(main.merge(fork))
    take_out(store, fork.place)
    monday.forget(secret.id)
    assert b"swordfish" not in kept_bytes(store)


def test_what_its_past_had_recalled_is_taken_along() -> None:
    store = MemoryStore()
    monday, secret = told(store)
    wednesday = looked_up(store, "wednesday")
    fork = wednesday.fork("x")
    fork.user("And then?")
    merged(store, fork, "other")
    take_out(store, fork.place)
    take_out(store, wednesday.place)
    monday.forget(secret.id)
    assert b"swordfish" not in kept_bytes(store)


def test_the_source_is_taken_out_whole() -> None:
    store = MemoryStore()
    monday, _ = told(store)
    wednesday = looked_up(store, "wednesday")
    merged(store, wednesday, "other")
    take_out(store, wednesday.place)
    take_out(store, monday.place)
    assert b"swordfish" not in kept_bytes(store)


def test_what_is_forgotten_before_it_is_known_who_merges_is_not_merged() -> None:
    store = Interrupted()
    monday, secret = told(store)
    wednesday = looked_up(store, "wednesday")
    store.before[wednesday.place._replace(conversation="~recalled")] = lambda: monday.forget(secret.id)
    with pytest.raises(Forgotten):
        merged(store, wednesday, "other")
    assert b"swordfish" not in kept_bytes(store)


def test_nothing_is_noted_where_nothing_was_recalled() -> None:
    store = MemoryStore()
    monday, _ = told(store)
    other = merged(store, monday, "other")
    assert "~recalled" not in store.conversations("ana")
    assert not [entry for entry in store.read(other.place) if entry.stream == ".recalled"]


@pytest.mark.laws
@given(st.lists(st.sampled_from(["fork", "merge", "take out"]), max_size=6))
def test_however_it_is_handed_on(ways: list[str]) -> None:
    store = MemoryStore()
    monday, secret = told(store)
    known = [looked_up(store, "wednesday")]
    for nth, way in enumerate(ways):
        if way == "fork":
            known.append(known[-1].fork(f"f{nth}"))
        elif way == "merge":
            known.append(merged(store, known[-1], f"m{nth}"))
        elif len(known) > 1 and not is_below(known[-1].place, known[-2].place):
            take_out(store, known.pop(-2).place)
    monday.forget(secret.id)
    assert b"swordfish" not in kept_bytes(store)
