"""Calls on their way: begun is noted, results before their turn are held, and a restart finds both."""

import asyncio
from pathlib import Path

import pytest

from quire import Item, Note, Session, ToolCall, ToolResult
from quire.items import JSON
from quire.session import Adding, Hook
from quire.stores import Entry, MemoryStore, SQLiteStore, Store
from quire.stores.streams import STEPS


def asked(store: Store, *names: str) -> tuple[Session, list[ToolCall]]:
    one = Session.open("ana/one", store=store)
    one.user("do it")
    return one, [one.call(name) for name in names]


def result_of(call: ToolCall, content: str = "done") -> ToolResult:
    return ToolResult(call.call_id, call.name, content)


def test_a_call_waits_is_begun_and_is_answered() -> None:
    async def steps() -> None:
        one, (first, second) = asked(MemoryStore(), "a", "b")
        assert one.standing() == [(first, "waiting"), (second, "waiting")]
        await one.begin(first)
        assert one.standing() == [(first, "begun"), (second, "waiting")]
        await one.say(result_of(first))
        assert one.standing() == [(second, "waiting")]

    asyncio.run(steps())


def test_a_restart_finds_what_was_begun_and_what_was_held(tmp_path: Path) -> None:
    async def before() -> tuple[ToolCall, ToolCall, tuple[Item, ...]]:
        one, (first, second) = asked(SQLiteStore(tmp_path / "a.db"), "a", "b")
        await one.begin(first, second)
        return first, second, await one.hold(result_of(second))

    first, second, result = asyncio.run(before())
    again = Session.open("ana/one", store=SQLiteStore(tmp_path / "a.db"))
    assert again.standing() == [(first, "begun"), (second, "held")]
    assert again.held(second) == result and again.held(first) == ()


def test_a_held_result_is_recorded_once_and_then_no_longer_held() -> None:
    async def steps() -> None:
        one, (first, second) = asked(MemoryStore(), "a", "b")
        await one.begin(first, second)
        held = await one.hold(result_of(second))
        await one.say(result_of(first), *held)
        assert one.standing() == [] and len(one.view()) == 5
        third = one.call("c")
        await one.begin(third)
        assert one.held(second) == () and one.standing() == [(third, "begun")]

    asyncio.run(steps())


@pytest.mark.parametrize("which", [0, 1])
def test_calls_that_have_one_id_have_their_own_results(which: int, tmp_path: Path) -> None:
    async def before() -> list[ToolCall]:
        one = Session.open("ana/one", store=SQLiteStore(tmp_path / "a.db"))
        calls = [ToolCall("c", "a"), ToolCall("c", "a")]
        one.append(*calls)
        await one.begin(*calls)
        await one.hold(result_of(calls[which]), Note("came with it"), of=calls[which])
        return calls

    calls = asyncio.run(before())
    again = Session.open("ana/one", store=SQLiteStore(tmp_path / "a.db"))
    assert [how for _, how in again.standing()] == (["begun", "held"] if which else ["held", "begun"])
    assert [type(item) for item in again.held(calls[which])] == [ToolResult, Note]


def test_what_was_held_by_call_id_is_still_read() -> None:
    store = MemoryStore()
    one, (first, second) = asked(store, "a", "b")
    came: list[Item] = [result_of(second), Note("came with it")]
    entries = [Entry(STEPS, JSON.encode_item(item)) for item in came]
    store.append(one.place, entries, expected=one.version)
    asyncio.run(one.look())
    assert one.standing() == [(first, "waiting"), (second, "held")]
    assert one.held(second) == tuple(came) and one.held(first) == ()


def test_a_hook_is_asked_before_a_result_is_held() -> None:
    def refuse(_: Adding) -> None:
        raise ValueError

    async def steps() -> None:
        store = MemoryStore()
        one, (call,) = asked(store, "a")
        guarded = Session.open("ana/one", store=store, hooks=[Hook(refuse, (Adding,))])
        with pytest.raises(ValueError):
            await guarded.hold(result_of(call, "a secret word"))
        assert one.standing() == [(call, "waiting")]
        assert all(b"a secret word" not in entry.body for entry in store.read(one.place))
        told = result_of(call, "refused")
        assert await guarded.hold(result_of(call), instead=lambda _, fault: told) == (told,)
        assert await guarded.answer([call], *guarded.held(call)) == (told,)  # they were asked before

    asyncio.run(steps())


def test_nothing_to_begin_writes_nothing() -> None:
    one, _ = asked(MemoryStore())
    version = one.version
    asyncio.run(one.begin())
    assert one.version == version


def test_held_results_are_redacted() -> None:
    def redact(item: object) -> object:
        return (
            ToolResult(item.call_id, item.name, "***", id=item.id) if isinstance(item, ToolResult) else item
        )

    one = Session.open("ana/one", store=MemoryStore(), redact=redact)  # type: ignore[arg-type]
    call = one.call("a")
    (held,) = asyncio.run(one.hold(result_of(call, "secret")))
    assert isinstance(held, ToolResult) and held.content == "***"


def test_a_held_result_can_be_forgotten(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "a.db")
    one, (call,) = asked(store, "a")
    held = asyncio.run(one.hold(result_of(call, "a secret word")))
    one.forget(held[0].id)
    assert not any(b"a secret word" in file.read_bytes() for file in tmp_path.iterdir())
    assert all(b"a secret word" not in entry.body for entry in store.read(one.place))


def test_forgetting_all_reaches_what_is_held() -> None:
    store = MemoryStore()
    one, (call,) = asked(store, "a")
    asyncio.run(one.hold(result_of(call, "a secret word")))
    one.forget()
    assert any(entry.stream == STEPS for entry in store.read(one.place))
    assert all(b"a secret word" not in entry.body for entry in store.read(one.place))


def test_a_result_is_shown_last_though_a_clock_went_ahead() -> None:
    async def steps() -> None:
        one, (call,) = asked(MemoryStore(), "a")
        one.user("from the future", created_at=call.created_at + 1_000)
        await one.say(result_of(call))
        assert isinstance(one.view()[-1], ToolResult)

    asyncio.run(steps())


def test_a_conversation_with_calls_can_be_forgotten_whole() -> None:
    one, (call,) = asked(MemoryStore(), "a")
    asyncio.run(one.begin(call))
    asyncio.run(one.say(result_of(call, "a secret word")))
    one.forget()
    assert one.standing() == [] and "a secret word" not in str(list(one.view()))
