"""Forgetting follows what was made of an item: summaries of forks, what tools repeat, what covers that."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from quire import Budget, Template
from quire.errors import Forgotten, StoreFailed, UnknownId
from quire.items import Mask, Message, Note, Span, Summary, ToolCall, ToolResult
from quire.models import Scripted
from quire.sections import History
from quire.session import Session
from quire.stores import MemoryStore, Place, Stored
from quire.stores.streams import FORGOTTEN
from tests.session.opened import FORK, PLACE, SECRET, Interrupted, apart, family, session, texts
from tests.session.test_forgetting import kept_bytes

TOLD = "It said: the number is swordfish-0815-1234, and all was well."


def told(one: Session, child: Session) -> None:
    asyncio.run(one.merge(child, keep="summary", model=Scripted([TOLD])))


def test_a_summary_of_a_fork_goes_with_what_it_tells_of() -> None:
    store, one, child, secret = family()
    told(one, child)
    assert SECRET in str(list(one.view()))
    child.forget(secret.id)
    assert b"swordfish" not in kept_bytes(store)
    assert [item.text for item in one.view() if isinstance(item, Message | Summary)] == ["go", "[forgotten]"]


def test_a_summary_that_does_not_tell_of_it_stays() -> None:
    _, one, child, secret = family()
    told(one, child)
    child.user("And the weather?")
    asyncio.run(one.merge(child, keep="summary", model=Scripted(["They spoke of the weather."])))
    child.forget(secret.id)
    assert isinstance(last := one.view()[-1], Summary) and last.text == "They spoke of the weather."


def test_it_goes_through_forks_of_forks_and_summaries_of_summaries() -> None:
    store, one, child, secret = family()
    grandchild = child.fork("z")
    deep = grandchild.user(f"Deeper: {SECRET}")
    asyncio.run(child.merge(grandchild))
    told(one, child)
    sibling = one.fork("y")
    shown = sibling.view()
    sibling.append(*(Message("user", word) for word in "abc"))
    sibling.append(Summary(f"Before: {TOLD}", tuple(Span(item.id, item.id) for item in shown)))
    grandchild.forget(deep.id, secret.id)
    assert b"swordfish" not in kept_bytes(store)


def test_what_repeats_it_takes_along_what_was_made_of_that() -> None:
    store, one, child, secret = family()
    call = ToolCall("c1", "look")
    child.append(Message("user", "look it up"), call)
    asyncio.run(child.begin(call))
    held = asyncio.run(child.hold(ToolResult("c1", "look", f"Found: {SECRET}")))
    asyncio.run(child.say(*held))
    child.user("more")
    child.append(Mask(held[0].id, f"[{SECRET[:28]}]"))
    child.append(Summary(f"The tool found {SECRET[10:]}", (Span(call.id, held[0].id),)))
    one.keep(Note(f"as it says: {SECRET}", key="copy"))
    child.forget(secret.id)
    assert b"swordfish" not in kept_bytes(store)


def test_a_fork_forgets_what_it_began_with() -> None:
    store = MemoryStore()
    one = session(store)
    secret = one.user(SECRET)
    child = one.fork("x")
    own = child.user(f"{SECRET}, again")
    later = one.user("after the fork")
    child.forget(secret.id, own.id)
    assert b"swordfish" not in kept_bytes(store)
    assert texts(one.view())[0] == texts(child.view())[0] == "[forgotten]"
    with pytest.raises(UnknownId, match="no item"):
        child.forget(later.id)


def test_a_draft_says_where_to_forget_what_it_only_sees() -> None:
    one = session()
    secret = one.user(SECRET)
    with one.draft() as draft, pytest.raises(UnknownId, match=r"not of the draft: forget it in ana/q3"):
        draft.forget(secret.id)


SHOWING: list[Callable[[Session], Any]] = [Session.view, Session.recorded, lambda draft: draft.pool]


@pytest.mark.parametrize("shown", SHOWING)
def test_an_open_draft_shows_nothing_of_it(shown: Callable[[Session], Any]) -> None:
    one = session()
    secret = one.user(SECRET)
    with pytest.raises(Forgotten, match="begin it again"), one.draft() as draft, draft.draft() as inner:
        one.forget(secret.id)
        shown(inner)


def test_tombstones_are_still_told_from_what_the_parent_said() -> None:
    _, one, child, secret = family()
    asyncio.run(one.merge(child))
    marks = dict(one.view()[-1].extras)
    child.forget(secret.id)
    assert dict(one.view()[-1].extras) == {**marks, "forgotten": True}


def test_who_finds_it_begun_does_not_begin_it_again() -> None:
    store, one, child, secret = family(Interrupted())
    asyncio.run(one.merge(child))
    store.dies_after(FORK)
    with pytest.raises(KeyboardInterrupt):
        child.forget(secret.id)
    for _ in range(3):
        session(store)
    for place in (PLACE, FORK):
        notes = [entry for entry in store.read(place) if entry.stream == FORGOTTEN]
        assert len(notes) == 2, "that it began, and that it was done"
    assert b"swordfish" not in kept_bytes(store)


def test_who_dies_half_way_leaves_what_was_found() -> None:
    store, one, child, secret = family(Interrupted())
    told(one, child)
    sibling = one.fork("y")
    sibling.append(*(Message("user", word) for word in "abc"))
    sibling.append(Summary(f"Before: {TOLD}", (Span(one.view()[-1].id, one.view()[-1].id),)))
    store.dies_when_emptied(PLACE)
    with pytest.raises(KeyboardInterrupt):
        child.forget(secret.id)
    assert b"swordfish" in kept_bytes(store)
    session(store)
    assert b"swordfish" not in kept_bytes(store)


class Cut(MemoryStore):
    """A store whose connection is lost at the reading that comes after so many."""

    left = -1

    def read(self, place: Place, *, after: int = 0) -> list[Stored]:
        self.left -= 1
        if self.left == 0:
            raise StoreFailed("the connection is lost")
        return super().read(place, after=after)


def test_a_reading_that_fails_leaves_what_was_known() -> None:
    store = Cut()
    one, other = apart(store), apart(store)
    secret = one.user(SECRET)
    one.keep(Note("v", key="k"))
    other.refresh()
    one.forget(secret.id)
    store.left = 2
    with pytest.raises(StoreFailed):
        other.refresh()
    assert len(other.view()) == 1 and len(other.pool) == 1 and other.version == 2
    other.refresh()
    assert texts(other.view()) == ["[forgotten]"]


def test_a_request_that_was_not_kept_teaches_nothing() -> None:
    one = session()
    secret = one.user(SECRET)
    context = asyncio.run(one.build(Template(History(), budget=Budget(window=8_000)), model="gpt-5.6"))
    one.forget(secret.id)
    with pytest.raises(Forgotten):
        context.render("openai")
    assert one._requests.last is None  # pyright: ignore[reportPrivateUsage]
