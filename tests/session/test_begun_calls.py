"""What is forgotten since a call was begun does not come back with its result, whoever records it."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from quire.items import Message, Note, ToolCall, ToolResult, new_id
from quire.session import Session
from quire.stores import MemoryStore
from tests.agent.test_forgetting_underway import Beside
from tests.session.opened import PLACE, SECRET, Interrupted, apart, session
from tests.session.test_forgetting import kept_bytes

INNOCENT = "The harbour is closed on Sundays."
Record = Callable[[Session, ToolCall, ToolResult], Awaitable[object]]


async def by_tool(one: Session, call: ToolCall, result: ToolResult) -> None:
    one.tool(result.content, call_id=call.call_id)


async def by_append(one: Session, _: ToolCall, result: ToolResult) -> None:
    one.append(Message("assistant", "I looked it up."), result)


async def by_expecting(one: Session, _: ToolCall, result: ToolResult) -> None:
    one.append(result, expected=one.version)


async def by_holding(one: Session, call: ToolCall, result: ToolResult) -> None:
    await one.hold(result)
    await one.say(*one.held(call))


async def in_a_draft(one: Session, _: ToolCall, result: ToolResult) -> None:
    with one.draft() as draft:
        draft.append(result)


RECORDING: dict[str, Record] = {
    "tool": by_tool,
    "append": by_append,
    "append what is expected": by_expecting,
    "add": lambda one, _, result: one.add(result),
    "say": lambda one, _, result: one.say(result),
    "say with a note": lambda one, _, result: one.say(result, Note(content=result.content, id=new_id())),
    "hold and say": by_holding,
    "answer": lambda one, call, result: one.answer([call], result),
    "draft": in_a_draft,
}


def read(one: Session) -> tuple[str, ToolCall, Callable[[str], ToolResult]]:
    """A secret, and a call whose tool has read it."""
    secret, call = one.user(SECRET), one.call("read")
    return secret.id, call, lambda words: ToolResult(call.call_id, "read", words)


def told(one: Session) -> list[object]:
    return [item.content for item in one.view() if isinstance(item, ToolResult)]


@pytest.mark.parametrize("how", RECORDING)
def test_what_is_forgotten_since_a_call_was_begun(how: str) -> None:
    async def conversation() -> None:
        store = MemoryStore()
        one = session(store)
        secret, call, result = read(one)
        await one.begin(call)
        one.forget(secret)
        await RECORDING[how](one, call, result(f"It says: {SECRET}"))
        assert told(one) == ["[forgotten]"] and not one.standing()
        assert b"swordfish" not in kept_bytes(store)

    asyncio.run(conversation())


@pytest.mark.parametrize("how", RECORDING)
def test_what_is_forgotten_while_a_call_is_run(how: str) -> None:
    async def conversation() -> None:
        store = MemoryStore()
        one = session(store)
        secret, call, result = read(one)
        async with one.running(call):
            one.forget(secret)
            await RECORDING[how](one, call, result(f"It says: {SECRET}"))
        assert told(one) == ["[forgotten]"]
        assert b"swordfish" not in kept_bytes(store)

    asyncio.run(conversation())


@pytest.mark.parametrize("how", RECORDING)
def test_what_tells_nothing_of_it_is_recorded_as_it_is(how: str) -> None:
    async def conversation() -> None:
        one = session()
        secret, call, result = read(one)
        await one.begin(call)
        one.forget(secret)
        await RECORDING[how](one, call, result(INNOCENT))
        assert told(one) == [INNOCENT]

    asyncio.run(conversation())


@pytest.mark.parametrize("how", RECORDING)
def test_another_session_of_the_conversation_records_it(how: str) -> None:
    async def conversation() -> None:
        store = MemoryStore()
        secret, call, result = read(session(store))
        await session(store).begin(call)
        session(store).forget(secret)
        for_each_request = session(store)
        await RECORDING[how](for_each_request, call, result(f"It says: {SECRET}"))
        assert told(for_each_request) == ["[forgotten]"]

    asyncio.run(conversation())


@pytest.mark.parametrize("how", RECORDING)
@pytest.mark.parametrize("is_forgotten", [True, False])
@pytest.mark.parametrize("knows", [True, False])
def test_another_process_goes_by_the_log(how: str, is_forgotten: bool, knows: bool) -> None:
    """It does not know the words: so nothing is kept that the call may have read."""

    async def conversation() -> None:
        store = MemoryStore()
        one = session(store)
        secret, call, result = read(one)
        before = one.user("Something else that is forgotten.")
        one.forget(before.id)
        other = Session.open(str(PLACE), store=Beside(store))
        await one.begin(call)
        if is_forgotten:
            one.forget(secret)
        if knows or how == "append what is expected":
            other.refresh()
        await RECORDING[how](other, call, result(INNOCENT))
        assert told(other) == ["[forgotten]" if is_forgotten else INNOCENT]

    asyncio.run(conversation())


def test_what_was_being_forgotten_when_a_call_was_begun() -> None:
    """Another process began the call, and finished to forget then."""

    async def conversation() -> None:
        store = Interrupted()
        one = session(store)
        secret, call, result = read(one)
        store.dies_after(PLACE)
        with pytest.raises(KeyboardInterrupt):
            apart(store).forget(secret)
        await one.begin(call)
        one.refresh()
        other = Session.open(str(PLACE), store=Beside(store))
        other.append(result(f"It says: {SECRET}"))
        assert told(other) == ["[forgotten]"]

    asyncio.run(conversation())


def test_what_is_held_was_emptied_by_who_forgot() -> None:
    async def conversation() -> None:
        store = MemoryStore()
        one = session(store)
        secret, call, result = read(one)
        await one.begin(call)
        await one.hold(result(INNOCENT))
        one.forget(secret)
        other = Session.open(str(PLACE), store=Beside(store))
        await other.say(*other.held(call))
        assert told(other) == [INNOCENT]

    asyncio.run(conversation())


def test_what_somebody_read_of_what_is_held_is_recorded_as_it_is_held_by_then() -> None:
    async def conversation() -> None:
        store = MemoryStore()
        one = session(store)
        secret, call, result = read(one)
        await one.begin(call)
        await one.hold(result(f"It says: {SECRET}"))
        held = one.held(call)
        one.forget(secret)
        await one.say(*held)
        assert told(one) == ["[forgotten]"]
        assert b"swordfish" not in kept_bytes(store)

    asyncio.run(conversation())


def test_nothing_is_kept_in_memory_for_calls_that_have_their_results() -> None:
    async def conversation() -> None:
        one = session()
        call, other = one.call("read"), one.call("read")
        await one.begin(call, other)
        one.tool("rain", call_id=call.call_id)
        assert one._ledger.begun.keys() == {other.call_id}  # pyright: ignore[reportPrivateUsage]
        await one.answer([other], ToolResult(other.call_id, "read", "sun"))
        assert not one._ledger.begun  # pyright: ignore[reportPrivateUsage]

    asyncio.run(conversation())
