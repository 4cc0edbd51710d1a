"""What one forgets does not come back through another who had read it: forks, merges and drafts."""

import asyncio
from typing import Any

import pytest

from quire import Budget, Template
from quire.errors import Forgotten
from quire.items import Message, Note
from quire.models import Scripted
from quire.sections import History
from quire.session import Session
from quire.session.remembering import take_out
from quire.stores import Entry, MemoryStore
from tests.session.opened import (
    FORK,
    PLACE,
    SECRET,
    Interrupted,
    Twin,
    apart,
    family,
    said,
    session,
    texts,
)
from tests.session.test_forgetting import kept_bytes

TEMPLATE = Template(History(), budget=Budget(window=8_000))


def test_a_fork_of_one_that_is_behind_has_nothing_of_it() -> None:
    store = MemoryStore()
    one, behind = apart(store), apart(store)
    message, note = one.user(SECRET), one.keep(Note(SECRET, key="card", description="a card"))
    behind.refresh()
    one.forget(message.id, note.id)
    fork = behind.fork("x")
    assert texts(fork.view()) == ["[forgotten]"] and len(fork.pool) == 0
    assert b"swordfish" not in kept_bytes(store)


def test_a_fork_that_is_made_meanwhile_has_nothing_of_it() -> None:
    store = Interrupted()
    one, other = apart(store), apart(store)
    note = one.keep(Note(SECRET, key="card"))
    one.keep(Note(f"It is {SECRET}", key="copy"))
    other.refresh()
    store.before[FORK] = lambda: other.forget(note.id)
    fork = one.fork("x")
    assert b"swordfish" not in kept_bytes(store) and len(fork.pool) == 0


def test_a_fork_whose_maker_died_is_emptied_when_it_is_opened() -> None:
    store = Interrupted()
    one, other = apart(store), apart(store)
    note = one.keep(Note(SECRET, key="card"))
    other.refresh()
    store.before[FORK] = lambda: other.forget(note.id)
    store.dies_after(FORK)
    with pytest.raises(KeyboardInterrupt):
        one.fork("x")
    fork = Session.open(scope="ana", conversation="q3/x", store=store)
    assert len(fork.pool) == 0 and b"swordfish" not in kept_bytes(store)


@pytest.mark.parametrize("keep", ["all", "result"])
def test_a_merge_of_one_that_is_behind_has_nothing_of_it(keep: Any) -> None:
    store, one, child, secret = family()
    twin = Twin(store)  # another process, whose writes are put into this store by hand
    Session.open(scope="ana", conversation="q3/x", store=twin).forget(secret.id)
    known = store.version(FORK)
    later = [Entry(stored.stream, stored.body) for stored in twin.read(FORK, after=known)]
    store.replace(FORK, {stored.version: stored.body for stored in twin.read(FORK)[:known]})
    store.append(FORK, later, expected=known)
    asyncio.run(one.merge(child, keep=keep))
    assert b"swordfish" not in kept_bytes(store)


def test_a_merge_during_which_it_is_forgotten() -> None:
    store, one, child, secret = family(Interrupted())
    store.before[PLACE] = lambda: child.forget(secret.id)
    with pytest.raises(Forgotten, match="merge it again"):
        asyncio.run(one.merge(child))
    assert b"swordfish" not in kept_bytes(store)
    asyncio.run(one.merge(child))
    assert b"swordfish" not in kept_bytes(store)


def test_a_summary_of_a_fork_that_is_forgotten_before_it_is_kept() -> None:
    store, one, child, secret = family(Interrupted())

    async def forgetting(_: Any) -> str:
        child.forget(secret.id)
        return f"It said {SECRET}."

    with pytest.raises(Forgotten, match="merge it again"):
        asyncio.run(one.merge(child, keep="summary", model=Scripted([forgetting])))
    assert b"swordfish" not in kept_bytes(store)


@pytest.mark.parametrize("forgotten_in", ["the fork", "the parent"])
def test_what_was_merged_is_forgotten_on_both_sides(forgotten_in: str) -> None:
    store, one, child, secret = family()
    asyncio.run(one.merge(child))
    sibling = one.fork("y")
    (child if forgotten_in == "the fork" else one).forget(secret.id)
    assert texts(one.view()) == texts(child.view()) == ["go", "[forgotten]"]
    assert texts(sibling.view())[-1] == "[forgotten]" and b"swordfish" not in kept_bytes(store)


def test_a_draft_of_one_that_is_behind_shows_nothing_of_it() -> None:
    store = MemoryStore()
    one, behind = apart(store), apart(store)
    first = one.user(SECRET)
    behind.refresh()
    one.forget(first.id)
    with behind.draft() as draft:
        assert "swordfish" not in str(asyncio.run(draft.build(TEMPLATE)).render("openai").payload)


def test_a_draft_sends_nothing_after_another_forgot() -> None:
    store = MemoryStore()
    one, other = apart(store), apart(store)
    first = one.user(SECRET)
    other.refresh()
    with pytest.raises(Forgotten), one.draft() as draft, draft.draft() as inner:
        context = asyncio.run(inner.build(TEMPLATE))
        other.forget(first.id)
        context.render("openai")


def test_a_draft_that_may_hold_it_is_not_merged() -> None:
    store = MemoryStore()
    one, other = apart(store), apart(store)
    first = one.user(SECRET)
    other.refresh()
    with pytest.raises(Forgotten, match="draft"), one.draft() as draft:
        other.forget(first.id)
        draft.assistant(f"You said: {SECRET}")
    assert b"swordfish" not in kept_bytes(store)


def test_who_forgets_and_dies_is_finished_from_any_side() -> None:
    store, one, child, secret = family(Interrupted())
    asyncio.run(one.merge(child))
    store.dies_after(PLACE)
    with pytest.raises(KeyboardInterrupt):
        child.forget(secret.id)
    assert b"swordfish" in kept_bytes(store)
    again = Session.open(scope="ana", conversation="q3/x", store=Twin(store))
    assert texts(again.view())[-1] == "[forgotten]"
    parent = session(Twin(store))
    assert texts(parent.view())[-1] == "[forgotten]"


def test_the_past_of_a_fork_is_that_of_no_other_conversation() -> None:
    store = MemoryStore()
    one = session(store)
    one.append(*said("a", "b"))
    one.fork("x").assistant("in the fork")
    take_out(store, PLACE)
    with pytest.raises(Forgotten, match="forked from"):
        Session.open(scope="ana", conversation="q3/x", store=Twin(store))
    twin = Twin(store)
    other = session(twin)
    other.append(*said("new", "and", "secret"))
    with pytest.raises(Forgotten, match="forked from"):
        Session.open(scope="ana", conversation="q3/x", store=twin)
    other.forget(other.view()[0].id)
    assert texts(other.view()) == ["[forgotten]", "and", "secret"]
    assert isinstance(other.view()[1], Message)
