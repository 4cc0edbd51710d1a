"""Calls are claimed by who runs them: others can tell whether that one is alive."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from quire import Message, Session, ToolCall, ToolResult
from quire.errors import Conflict, TurnBusy
from quire.items import Note, now, use_clock
from quire.session import leases, stepping
from quire.session.workspace import Written
from quire.stores import MemoryStore, SQLiteStore
from quire.stores.streams import STEPS


def asked(store: Any = None) -> tuple[Session, ToolCall]:
    one = Session.open("ana/one", store=store or MemoryStore())
    one.user("do it")
    return one, one.call("pay")


def begun_by(one: Session, call: ToolCall, **changed: Any) -> None:
    """Note that somebody else has begun a call."""
    asyncio.run(one.begin(call))
    note = one._ledger.workspace.steps.begun[call.id]  # pyright: ignore[reportPrivateUsage]
    theirs = Note(content={**note.content, "by": "another", **changed}, key=note.key)
    one._ledger.commit(lambda _: [Written(STEPS, theirs)])  # pyright: ignore[reportPrivateUsage]


def test_a_call_is_run_while_it_is_run() -> None:
    async def steps() -> None:
        one, call = asked()
        assert not one.is_run(call)
        async with one.running(call):
            assert one.is_run(call) and one.standing() == [(call, "begun")]
        assert not one.is_run(call) and one.standing() == [(call, "begun")]

    asyncio.run(steps())


def test_a_call_is_run_by_one_alone(tmp_path: Path) -> None:
    async def steps() -> None:
        one, call = asked(SQLiteStore(tmp_path / "a.db"))
        other = Session.open("ana/one", store=SQLiteStore(tmp_path / "a.db"))
        async with one.running(call):
            with pytest.raises((TurnBusy, Conflict)):
                await other.begin(call)
            other.refresh()
            assert other.is_run(call)
        await other.begin(call)

    asyncio.run(steps())


def test_a_call_of_a_process_that_is_alive_is_run() -> None:
    one, call = asked()
    begun_by(one, call)
    assert one.is_run(call)
    later = now() + leases.LEASE + 1
    with use_clock(lambda: later):
        assert not one.is_run(call), "it was not said again in time"


def test_a_call_of_a_process_that_is_gone_is_not_run() -> None:
    one, call = asked()
    process = leases.lease({}).content["process"]
    if process is None:
        pytest.skip("nothing tells processes apart here")
    begun_by(one, call, process=[*process[:2], "0"])
    assert not one.is_run(call)


def test_a_note_of_an_older_version_says_nothing_of_who_is_alive() -> None:
    one, call = asked()
    theirs = Note(content={"begun": [call.id]}, key="begun")
    one._ledger.commit(lambda _: [Written(STEPS, theirs)])  # pyright: ignore[reportPrivateUsage]
    assert one.standing() == [(call, "begun")] and not one.is_run(call)


def test_who_runs_a_call_says_so_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stepping, "RENEWAL", 0.001)

    async def steps() -> None:
        one, call = asked()
        async with one.running(call):
            first = one._ledger.workspace.steps.begun[call.id]  # pyright: ignore[reportPrivateUsage]
            while one._ledger.workspace.steps.begun[call.id] is first:  # pyright: ignore[reportPrivateUsage]
                await asyncio.sleep(0.001)
            await one.answer([call], ToolResult(call.call_id, call.name, "paid"))
            version = one.version
            await asyncio.sleep(0.02)
            assert one.version == version, "of a call that was answered nothing is said"

    asyncio.run(steps())


def test_only_calls_that_wait_are_begun_and_answered() -> None:
    async def steps() -> None:
        one, call = asked()
        result = ToolResult(call.call_id, call.name, "paid")
        await one.answer([call], result)
        with pytest.raises(Conflict, match=call.call_id):
            await one.begin(call)
        with pytest.raises(Conflict, match=call.call_id):
            await one.answer([call], ToolResult(call.call_id, call.name, "paid again"))
        again = replace(call, id="another", created_at=now())
        one.append(again)
        with pytest.raises(Conflict):  # the same call id waits, and it is not the same call
            await one.answer([call], ToolResult(call.call_id, call.name, "paid again"))
        await one.answer([again], ToolResult(call.call_id, call.name, "paid"), Message("user", "Thanks."))
        assert one.standing() == []

    asyncio.run(steps())
