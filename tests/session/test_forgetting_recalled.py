"""What was forgotten does not stay where recall had brought it: in results, receipts and their forks."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from quire import Session
from quire.errors import Forgotten
from quire.stores import MemoryStore, Place, Store
from tests.session.opened import Interrupted, Twin, texts
from tests.session.recalling import ASKED, PLAIN, QUOTING, SECRET, looked_up, quoted, results, told
from tests.session.test_forgetting import kept_bytes


def test_what_others_recalled_loses_it_too() -> None:
    store = MemoryStore()
    monday, secret = told(store)
    tuesday, wednesday = quoted(store, "tuesday"), looked_up(store, "wednesday")
    assert "swordfish" in results(wednesday)[0]
    monday.forget(secret.id)
    assert b"swordfish" not in kept_bytes(store)
    assert results(wednesday) == ["[forgotten]"]
    with pytest.raises(Forgotten):
        tuesday.receipts()[-1].payload()
    assert "swordfish" not in str(asyncio.run(tuesday.build(QUOTING)).render("openai").payload)


def test_also_in_forks_and_merges_of_those_who_recalled_it() -> None:
    store = MemoryStore()
    monday, secret = told(store)
    wednesday = looked_up(store, "wednesday")
    fork, other = wednesday.fork("x"), Session.open("ana/other", store=store)
    other.user("Go on.")
    asyncio.run(other.merge(wednesday))
    monday.forget(secret.id)
    assert b"swordfish" not in kept_bytes(store)
    for one in (fork, other):
        assert "swordfish" not in str(asyncio.run(one.build(PLAIN)).render("openai").payload)


def test_whoever_does_it_and_though_nobody_has_it_open() -> None:
    store = MemoryStore()
    told(store)
    quoted(store, "tuesday")
    looked_up(store, "wednesday")
    twin = Twin(store)
    monday = Session.open("ana/monday", store=twin)
    monday.forget(monday.view()[0].id)
    assert b"swordfish" not in kept_bytes(twin)


def test_what_is_passed_on_from_one_to_the_next() -> None:
    store = MemoryStore()
    monday, secret = told(store)
    wednesday = looked_up(store, "wednesday")
    copy = wednesday.user(f"So it says: {SECRET}")
    looked_up(store, "friday")
    monday.forget(secret.id)
    wednesday.forget(copy.id)
    assert b"swordfish" not in kept_bytes(store)


@pytest.mark.parametrize("asks", ["wednesday", "monday"])
def test_a_quote_of_which_only_a_part_was_told(asks: str) -> None:
    store = MemoryStore()
    monday = Session.open("ana/monday", store=store)
    secret = monday.user(f"{SECRET} " + " ".join(f"My word number {nth} is w{nth}." for nth in range(400)))
    found = results(looked_up(store, asks, tokens=400))[-1]
    assert "swordfish" in found and "w200" not in found
    monday.forget(secret.id)
    assert b"swordfish" not in kept_bytes(store)


def test_others_results_and_receipts_stay() -> None:
    store = MemoryStore()
    monday, _ = told(store)
    other = monday.user("The harbour is closed on Sundays.")
    wednesday = looked_up(store, "wednesday", limit=1)
    plain = Session.open("ana/plain", store=store)
    plain.user("What is a quire?")
    asyncio.run(plain.build(PLAIN)).render("openai")
    before = plain.version
    monday.forget(other.id)
    assert plain.receipts()[-1].payload() and before == store.version(plain.place)
    assert "swordfish" in results(wednesday)[0]


def test_nothing_is_noted_where_nothing_is_from_elsewhere() -> None:
    store = MemoryStore()
    monday, _ = told(store)
    monday.user(ASKED)
    asyncio.run(monday.build(QUOTING)).render("openai")
    assert list(store.conversations("ana")) == ["monday"]
    assert not [entry for entry in store.read(monday.place) if entry.stream == ".recalled"]


def test_what_is_recalled_again_is_noted_once() -> None:
    store = MemoryStore()
    told(store)
    tuesday = quoted(store, "tuesday")
    for _ in range(3):
        tuesday.user(ASKED)
        asyncio.run(tuesday.build(QUOTING)).render("openai")
    assert len([entry for entry in store.read(tuesday.place) if entry.stream == ".recalled"]) == 1
    assert store.version(Place("ana", "~recalled")) == 1


def test_what_is_noted_says_nothing_of_names_and_content() -> None:
    store = MemoryStore()
    told(store)
    quoted(store, "tuesday")
    noted = store.read(Place("ana", "~recalled")) + [
        entry for entry in store.read(Place("ana", "tuesday")) if entry.stream == ".recalled"
    ]
    assert len(noted) == 2
    assert not [one for one in noted if b"monday" in one.body or b"swordfish" in one.body]


def test_a_context_that_was_built_before_it_was_forgotten_is_not_sent() -> None:
    store = MemoryStore()
    monday, secret = told(store)
    tuesday = Session.open("ana/tuesday", store=store)
    tuesday.user(ASKED)
    context = asyncio.run(tuesday.build(QUOTING))
    monday.forget(secret.id)
    with pytest.raises(Forgotten, match="build it again"):
        context.render("openai")
    assert b"swordfish" not in kept_bytes(store)


def test_what_is_forgotten_just_before_it_is_noted_is_looked_for_again() -> None:
    store = Interrupted()
    monday, secret = told(store)
    store.before[Place("ana", "~recalled")] = lambda: monday.forget(secret.id)
    tuesday = Session.open("ana/tuesday", store=store)
    tuesday.user(ASKED)
    assert "swordfish" not in str(asyncio.run(tuesday.build(QUOTING)).render("openai").payload)
    assert b"swordfish" not in kept_bytes(store)


def test_who_forgets_and_dies_is_finished_by_those_who_recalled() -> None:
    store = Interrupted()
    monday, secret = told(store)
    wednesday = looked_up(store, "wednesday")
    store.dies_after(wednesday.place)
    with pytest.raises(KeyboardInterrupt):
        monday.forget(secret.id)
    assert b"swordfish" in kept_bytes(store)
    twin = Twin(store)
    assert results(Session.open("ana/wednesday", store=twin)) == ["[forgotten]"]
    assert texts(Session.open("ana/monday", store=twin).view())[0] == "[forgotten]"
    assert b"swordfish" not in kept_bytes(twin)


def test_what_a_draft_recalls_is_noted_for_the_conversation_that_it_is_of() -> None:
    store = MemoryStore()
    monday, secret = told(store)
    tuesday = Session.open("ana/tuesday", store=store)
    with tuesday.draft() as draft:
        draft.user(ASKED)
        asyncio.run(draft.build(QUOTING)).render("openai")
    assert b"swordfish" in b"".join(entry.body for entry in store.read(tuesday.place))
    monday.forget(secret.id)
    assert b"swordfish" not in kept_bytes(store)


@pytest.mark.laws
@given(st.lists(st.sampled_from(["quoted", "looked up", "forked", "merged"]), min_size=1, max_size=5))
def test_a_forgotten_item_never_comes_back(ways: list[str]) -> None:
    store = MemoryStore()
    monday, secret = told(store)
    known = [monday]
    for nth, way in enumerate(ways):
        last = known[-1]
        if way == "forked":
            known.append(last.fork(f"f{nth}"))
        elif way == "merged":
            other = Session.open(f"ana/m{nth}", store=store)
            other.user("Go on.")
            asyncio.run(other.merge(last))
            known.append(other)
        else:
            known.append(quoted(store, f"q{nth}") if way == "quoted" else looked_up(store, f"l{nth}"))
    monday.forget(secret.id)
    assert b"swordfish" not in kept_bytes(store)
    for one in known:
        assert "swordfish" not in str(asyncio.run(one.build(QUOTING)).render("openai").payload)


def test_on_disk(tmp_path: Path) -> None:
    with Store.open(tmp_path / "kept.db") as store:
        monday = Session.open("ana/monday", store=store)
        secret = monday.user(SECRET)
        quoted(store, "tuesday")
        looked_up(store, "wednesday")
        monday.forget(secret.id)
        assert not [path for path in tmp_path.iterdir() if b"swordfish" in path.read_bytes()]
