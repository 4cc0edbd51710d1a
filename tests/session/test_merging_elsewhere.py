"""Merges of what is no fork: what is forgotten on one side is on the other; no scope takes from another."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from quire import Agent
from quire.agent.builtin import Role, delegating_tools
from quire.errors import InvalidValue
from quire.items import Message, ToolCall
from quire.models import Scripted
from quire.session import Session
from quire.session.remembering import take_out
from quire.stores import MemoryStore, Place
from tests.session.opened import SECRET, Interrupted, Twin, session, texts
from tests.session.test_forgetting import kept_bytes

Make = Callable[[Session, MemoryStore], Session]


def opened(conversation: str, store: MemoryStore) -> Session:
    return Session.open(scope="ana", conversation=conversation, store=store)


SIDES: dict[str, Make] = {
    "a fork": lambda one, _: one.fork("side"),
    "a conversation beside": lambda one, _: one.beside("side"),
    "another conversation": lambda _, store: opened("other", store),
    "a fork of another": lambda _, store: opened("other", store).fork("x"),
    "one beside another": lambda _, store: opened("other", store).beside("x"),
}
EVERY_SIDE = pytest.mark.parametrize("side", SIDES)
EVERY_KEEP = pytest.mark.parametrize("keep", ["all", "result", "summary"])


def secret_of(one: Session) -> Message:
    one.user("do")
    said = one.assistant(SECRET)
    assert said is not None
    return said


def merge(one: Session, other: Session, keep: Any = "all") -> None:
    asyncio.run(one.merge(other, keep=keep, model=Scripted([f"It said {SECRET}."])))


@EVERY_SIDE
@EVERY_KEEP
def test_what_was_merged_is_forgotten_where_it_went(side: str, keep: Any) -> None:
    store = MemoryStore()
    one = session(store)
    one.user("go")
    child = SIDES[side](one, store)
    secret = secret_of(child)
    merge(one, child, keep)
    assert kept_bytes(store).count(b"swordfish") == 2
    child.forget(secret.id)
    assert b"swordfish" not in kept_bytes(store)
    assert texts(one.view())[-1] in ("[forgotten]", "Summary")


@EVERY_SIDE
@pytest.mark.parametrize("keep", ["all", "result"])
@pytest.mark.parametrize("what", ["one", "all"])
def test_what_was_merged_is_forgotten_where_it_came_from(side: str, keep: Any, what: str) -> None:
    store = MemoryStore()
    one = session(store)
    child = SIDES[side](one, store)
    secret = secret_of(child)
    merge(one, child, keep)
    one.forget(*([secret.id] if what == "one" else []))
    assert texts(child.view())[-1] == "[forgotten]" and b"swordfish" not in kept_bytes(store)


@pytest.mark.parametrize("forgotten_in", ["first", "second", "third", "fork"])
def test_merges_of_merges_are_forgotten_from_any_side(forgotten_in: str) -> None:
    store = MemoryStore()
    sessions = {name: opened(name, store) for name in ("first", "second", "third")}
    secret = secret_of(sessions["first"])
    merge(sessions["second"], sessions["first"])
    merge(sessions["third"], sessions["second"])
    sessions["fork"] = sessions["third"].fork("x")
    sessions[forgotten_in].forget(secret.id)
    assert b"swordfish" not in kept_bytes(store)


def test_what_two_besides_merged_is_forgotten_when_their_conversation_is_gone() -> None:
    store = MemoryStore()
    one = session(store)
    one.user("go")
    a, b = one.beside("a"), one.beside("b")
    secret = secret_of(a)
    merge(b, a)
    take_out(store, one.place)
    a.forget(secret.id)
    assert b"swordfish" not in kept_bytes(store)


def test_a_draft_merges_what_is_beside_and_it_is_forgotten() -> None:
    store = MemoryStore()
    one, other = session(store), opened("other", store)
    one.user("go")
    secret = secret_of(other)

    async def merged() -> None:
        async with one.draft() as draft:
            await draft.merge(other)

    asyncio.run(merged())
    assert SECRET in texts(one.view())
    other.forget(secret.id)
    assert b"swordfish" not in kept_bytes(store)


def test_a_merge_during_which_it_is_forgotten_in_another_conversation() -> None:
    store = Interrupted()
    one, other = session(store), opened("other", store)
    one.user("go")
    secret = secret_of(other)
    store.before[one.place] = lambda: other.forget(secret.id)
    with pytest.raises(Exception, match="merge it again"):
        merge(one, other)
    assert b"swordfish" not in kept_bytes(store)


def test_who_dies_while_he_merges_leaves_nothing_that_is_not_found() -> None:
    store = Interrupted()
    one, other = session(store), opened("other", store)
    one.user("go")
    secret = secret_of(other)
    store.dies_after(one.place)
    with pytest.raises(KeyboardInterrupt):
        merge(one, other)
    twin = Twin(store)
    opened("other", twin).forget(secret.id)
    assert b"swordfish" not in kept_bytes(twin)


def test_who_forgets_beside_and_dies_is_finished_from_any_side() -> None:
    store = Interrupted()
    one = session(store)
    one.user("go")
    side = one.beside("side")
    secret = secret_of(side)
    merge(one, side)
    store.dies_after(one.place)
    with pytest.raises(KeyboardInterrupt):
        side.forget(secret.id)
    for again in (opened("q3/side", Twin(store)), session(Twin(store))):
        assert texts(again.view())[-1] == "[forgotten]"


def test_what_is_of_another_scope_or_store_is_not_merged() -> None:
    store = MemoryStore()
    one = session(store)
    one.user("go")
    scope = Session.open("bob/x", store=store)
    elsewhere = opened("other", MemoryStore())
    for other in (scope, elsewhere):
        secret_of(other)
        for keep in ("all", "result", "summary"):
            with pytest.raises(InvalidValue, match=rf"ana/q3.*{other.place.conversation}"):
                merge(one, other, keep)
    assert texts(one.view()) == ["go"] and one.version == 1 and scope.version == 2


def test_a_merge_of_a_fork_writes_what_the_fork_did_and_no_more() -> None:
    store = MemoryStore()
    one = session(store)
    one.user("go")
    for child in (one.fork("x"), one.beside("y")):
        secret_of(child)
        before, theirs = one.version, child.version
        merge(one, child)
        assert one.version == before + 2 and child.version == theirs


@pytest.mark.parametrize("sees", ["brief", "all"])
@pytest.mark.parametrize("returns", ["answer", "all"])
def test_the_brief_of_a_sub_agent_is_forgotten_with_the_call_that_gave_it(sees: Any, returns: Any) -> None:
    store = MemoryStore()
    one = session(store)
    role = Role(
        name="helper",
        description="helps",
        sees=sees,
        returns=returns,
        make=lambda theirs: Agent(theirs, model=Scripted([f"Checked: {SECRET}, it is weak."])),
    )
    call = ToolCall("c1", "delegate", f'{{"to":"helper","task":"Check \\"it\\": {SECRET}"}}')
    agent = Agent(one, model=Scripted([[call], "done"]), tools=delegating_tools(role))
    asyncio.run(agent.ask("Is it weak?"))
    other = opened("q3/helper-1", store)
    assert len([text for text in texts(other.view()) if SECRET in text]) == 2
    one.forget()
    assert b"swordfish" not in kept_bytes(store)
    assert texts(other.view())[-2:] == ["[forgotten]", "[forgotten]"]


def test_what_was_said_below_in_other_words_stays() -> None:
    store = MemoryStore()
    one = session(store)
    call = one.call("search", {"query": SECRET})
    one.tool("nothing was found at all", call_id=call.call_id)
    side = one.beside("side")
    side.user("Tell me of the weather in Wales.")
    opened("q30", store).user(SECRET)
    one.forget()
    assert texts(side.view()) == ["Tell me of the weather in Wales."]
    assert b"swordfish" in b"".join(entry.body for entry in store.read(Place("ana", "q30")))
