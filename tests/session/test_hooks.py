"""Events and hooks: all that hear are called in order, before they may refuse, after they lose nothing."""

import asyncio
import logging
import time
from typing import Any

import pytest

from quire.errors import InvalidValue, UnknownHook, WrongType
from quire.items import Message, Note
from quire.session import (
    Added,
    Adding,
    Cleared,
    Evicted,
    Evicting,
    Hooks,
    Removed,
    Removing,
    hook,
    hook_named,
)
from quire.stores import MemoryStore, Place
from tests.session.opened import session, texts

heard: list[Any] = []


@pytest.fixture(autouse=True)
def _silence() -> None:
    heard.clear()


@hook(Adding, Added)
def hear_all(event: Any) -> None:
    heard.append(event)


@hook(Added, where=lambda event: event.stream == "main")
async def hear_later(event: Any) -> None:
    await asyncio.sleep(0)
    heard.append(("later", event.stream))


@hook(Adding)
def refuse(event: Any) -> None:
    if any(isinstance(item, Message) and "secret" in item.text for item in event.items):
        raise PermissionError("no secrets here")


@hook(Added, Evicted)
def fail(event: Any) -> None:
    raise RuntimeError("broken")


@hook(Evicting, Evicted, Removing, Removed, Cleared)
def hear_pool(event: Any) -> None:
    heard.append(type(event).__name__)


def test_hooks_hear_before_and_after_in_order() -> None:
    one = session(hooks=[hear_all])
    said = one.user("hello")
    assert [type(event) for event in heard] == [Adding, Added]
    assert heard[0].items == heard[1].items == (said,) and heard[0].place == one.place


def test_a_hook_may_refuse_before() -> None:
    one = session(hooks=[hear_all, refuse])
    with pytest.raises(PermissionError):
        one.user("a secret")
    assert one.version == 0 and [type(event) for event in heard] == [Adding]


def test_a_hook_that_fails_after_loses_nothing(caplog: pytest.LogCaptureFixture) -> None:
    one = session(hooks=[fail, hear_all])
    with caplog.at_level(logging.WARNING):
        one.user("hello")
    assert texts(one.view()) == ["hello"]
    assert [type(event) for event in heard] == [Adding, Added]
    assert one.hooks.failures == [("fail", "Added", "RuntimeError")]
    assert "hook fail failed" in caplog.text


def test_async_hooks_are_awaited_and_filtered() -> None:
    one = session(hooks=[hear_later])
    asyncio.run(one.add(Message("user", "hello")))
    assert heard == [("later", "main")]
    asyncio.run(one.add(Message("user", "hello"), to="side"))
    assert heard == [("later", "main")]
    with pytest.raises(WrongType, match="is async"):
        one.user("hello")


def test_the_pool_is_heard_too() -> None:
    one = session(hooks=[hear_pool, hear_all], pool_limit=1)
    one.keep(Note("1", key="a"))
    heard.clear()
    one.keep(Note("2", key="b"))
    assert [event if isinstance(event, str) else type(event).__name__ for event in heard] == [
        *("Evicting", "Adding", "Evicted", "Added")
    ]
    heard.clear()
    one.drop("b")
    one.clear_pool()
    assert heard == ["Removing", "Removed", "Cleared"]


def test_hooks_are_saved_by_name() -> None:
    hooks = Hooks([hear_all, "refuse"])
    assert hooks.names() == ["hear_all", "refuse"]
    assert Hooks(hooks.names()).names() == hooks.names()
    assert hook_named("refuse") is refuse
    with pytest.raises(UnknownHook, match="'nobody'"):
        Hooks(["nobody"])


def test_what_is_no_hook() -> None:
    with pytest.raises(InvalidValue, match="at least one"):
        hook()
    with pytest.raises(WrongType, match="hears events"):
        hook(int)
    with pytest.raises(InvalidValue, match="called 'refuse' already"):
        hook(Added, name="refuse")(lambda event: None)


@hook(Added)
async def hear_too_late(event: Any) -> None:
    heard.append(event)


@hook(Added, where=lambda event: event.items[0].text == "x")
def picky(event: Any) -> None:
    heard.append(event)


def test_what_cannot_be_awaited_is_refused_before_anything_happens() -> None:
    one = session(hooks=[hear_too_late])
    with pytest.raises(WrongType, match="is async"):
        one.user("hello")
    assert one.version == 0


def test_a_question_that_fails_after_the_fact_loses_nothing() -> None:
    one = session(hooks=[picky])
    one.call("look")
    assert one.version == 1 and one.hooks.failures[0].hook == "picky"


def test_forks_and_merges_are_heard() -> None:
    one = session(hooks=[hear_all])
    one.user("hello")
    child = one.fork("x")
    child.assistant("found")
    heard.clear()
    asyncio.run(one.merge(child))
    assert [type(event) for event in heard] == [Adding, Added]
    refusing = session(hooks=[refuse])
    child = refusing.fork("y")
    with pytest.raises(PermissionError):
        child.user("a secret")


class SlowStore(MemoryStore):
    def append(self, place: Place, entries: Any, *, expected: int) -> int:
        time.sleep(0.1)
        return super().append(place, entries, expected=expected)


def test_what_is_cancelled_while_it_is_written_is_written_and_heard() -> None:
    one = session(SlowStore(), hooks=[hear_later])

    async def cancelled() -> None:
        adding = asyncio.create_task(one.add(Message("user", "hello")))
        await asyncio.sleep(0.02)
        adding.cancel()
        with pytest.raises(asyncio.CancelledError):
            await adding

    asyncio.run(cancelled())
    assert one.version == 1 and heard == [("later", "main")]


def test_who_is_cancelled_waits_for_the_write_and_not_for_a_stuck_hook() -> None:
    told: list[str] = []

    async def timed_out() -> None:
        go, over = asyncio.Event(), asyncio.Event()

        @hook(Added, name="waits for a server")
        async def stuck(_: Added) -> None:
            told.append("begun")
            await go.wait()
            told.append("done")
            over.set()

        one = session(SlowStore(), hooks=[stuck])
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await one.add(Message("user", "hello"))
        assert one.version == 1 and told == ["begun"]
        go.set()
        await over.wait()

    asyncio.run(asyncio.wait_for(timed_out(), 10))
    assert told == ["begun", "done"]


def test_what_a_refused_draft_spent_is_spent() -> None:
    one = session(hooks=[refuse])
    with pytest.raises(PermissionError), one.draft() as draft:
        draft.user("a secret")
        draft.record(
            {
                "object": "chat.completion",
                "choices": [{"index": 0, "message": {"role": "assistant", "content": "yes"}}],
                "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4},
            }
        )
    assert one.spending.tokens == 4 and texts(one.view()) == []


@hook(Removing)
def keep_it(event: Any) -> None:
    raise PermissionError("may not be removed")


@hook(Evicting, Evicted, Removing, Removed, Adding, Added, name="hear_in_drafts")
async def hear_in_drafts(event: Any) -> None:
    heard.append(type(event).__name__)


def test_what_a_draft_does_to_the_pool_may_be_refused() -> None:
    one = session(hooks=[keep_it])
    one.keep(Note("1", key="a"))
    with pytest.raises(PermissionError), one.draft() as draft:
        draft.drop("a")
    assert "a" in one.pool


def test_async_hooks_hear_of_a_draft_that_is_awaited() -> None:
    one = session(hooks=[hear_in_drafts], pool_limit=1)

    async def drafted() -> None:
        await one.put(Note("1", key="a"))
        heard.clear()
        async with one.draft() as draft:
            draft.keep(Note("2", key="b"))
            draft.drop("b")
            assert heard == []
        assert heard == [*("Evicting", "Adding", "Removing"), *("Evicted", "Added", "Removed")]

    asyncio.run(drafted())
    assert len(one.pool) == 0
    with pytest.raises(WrongType, match="async with"), one.draft():
        raise AssertionError("it is refused before there is anything to lose")


def test_a_draft_that_is_awaited_comes_to_nothing_too() -> None:
    one = session(hooks=[refuse])

    async def drafted() -> None:
        async with one.draft() as draft:
            draft.user("a secret")

    with pytest.raises(PermissionError):
        asyncio.run(drafted())
    assert one.version == 0


def test_notes_are_taken_out_and_heard_by_async_hooks() -> None:
    one = session(hooks=[hear_in_drafts])

    async def taken() -> None:
        await one.put(Note("1", key="a"))
        await one.put(Note("2", key="b"))
        heard.clear()
        assert (await one.take("a")).key == "a" and heard == ["Removing", "Removed"]
        assert [note.key for note in await one.take_all()] == ["b"]

    asyncio.run(taken())
    assert len(one.pool) == 0


async def _no(event: Any) -> None:
    raise PermissionError("no")


veiled = hook(Adding, name="veiled")(lambda event: _no(event))


def test_a_hook_that_has_to_be_awaited_is_not_passed_over() -> None:
    one = session(hooks=[veiled])
    with pytest.raises(WrongType, match="is async"):
        one.user("hello")
    assert one.version == 0
    with pytest.raises(PermissionError):
        asyncio.run(one.add(Message("user", "hello")))


@hook(Added, name="waits for what was cancelled")
async def wait_for_nothing(event: Any) -> None:
    other = asyncio.create_task(asyncio.sleep(9))
    other.cancel()
    await other


def test_a_hook_that_waits_for_what_was_cancelled_has_failed_and_cancels_nobody() -> None:
    one = session(hooks=[wait_for_nothing, hear_later])
    asyncio.run(one.add(Message("user", "hello")))
    assert texts(one.view()) == ["hello"] and heard == [("later", "main")]
    assert [failure.fault for failure in one.hooks.failures] == ["CancelledError"]
