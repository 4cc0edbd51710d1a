"""A forgetting that somebody left in the middle, in the eyes of those who had the conversation open."""

import asyncio
from collections.abc import Callable

import pytest

from quire import Session
from tests.session.opened import PLACE, Interrupted, apart, session, texts
from tests.session.recalling import PLAIN, SECRET
from tests.session.test_forgetting import kept_bytes


def left_in_the_middle() -> tuple[Interrupted, Session]:
    """A store in which it is noted that something is forgotten, and a session that knew it before."""
    store = Interrupted()
    one = session(store)
    secret = one.user(SECRET)
    held = apart(store)
    store.dies_after(PLACE)
    with pytest.raises(KeyboardInterrupt):
        one.forget(secret.id)
    assert b"swordfish" in kept_bytes(store)
    return store, held


def drafted(held: Session) -> None:
    with held.draft() as draft:
        assert "swordfish" not in str(texts(draft.view()))


TAKEN_IN: dict[str, Callable[[Session], object]] = {
    "refresh": lambda held: held.refresh(),
    "draft": drafted,
    "say and build": lambda held: (held.user("And?"), asyncio.run(held.build(PLAIN))),
}


@pytest.mark.parametrize("verb", TAKEN_IN)
def test_whoever_reads_of_it_finishes_it(verb: str) -> None:
    store, held = left_in_the_middle()
    TAKEN_IN[verb](held)
    assert "swordfish" not in str(asyncio.run(held.build(PLAIN)).render("openai").payload)
    assert "swordfish" not in str(texts(held.view()))
    assert b"swordfish" not in kept_bytes(store)


def test_what_others_did_last_is_taken_back() -> None:
    store = Interrupted()
    here, there = session(store), apart(store)
    said = here.user("Keep this.")
    there.refresh()
    here.pin(said.id)
    assert there.undo().target == here.recorded()[-1].id
