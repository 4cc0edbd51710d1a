"""Calls in progress: who runs them and what came of them is on the record, and a restart finds it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from quire import Message, Note, Session, ToolCall, ToolResult
from quire.errors import Conflict, TurnBusy
from quire.items import now, use_clock
from quire.session import turn_of
from quire.stores import SQLiteStore, Store
from tests.session.opened import called, session, twin, two


def asked(*names: str, store: Store | None = None, **options: Any) -> tuple[Session, list[ToolCall]]:
    one = session(store, **options)
    one.user("do it")
    return one, [called(one, name) for name in names]


def result_of(call: ToolCall, content: str = "done") -> ToolResult:
    return ToolResult(call.call_id, call.name, content)


async def test_a_call_is_begun_and_answered_when_its_result_comes() -> None:
    one, (first, second) = asked("a", "b")
    assert one.calls.list_open() == [(first, "foreign"), (second, "foreign")]
    await one.aio.calls.begin(first, second)
    came = await turn_of(one).answer([second], result_of(second), Note("came with it"))
    assert one.calls.list_open() == [(first, "begun")]
    assert [type(item) for item in came] == [ToolResult, Note]
    await turn_of(one).answer([first], result_of(first))
    assert one.calls.list_open() == [] and len(one.view()) == 6
    version = one.version
    await one.aio.calls.begin()
    assert one.version == version


async def test_a_call_is_run_by_one_alone() -> None:
    with two() as (one, other):
        one.user("do it")
        call = called(one, "pay")
        other.refresh()
        async with one.calls.running(call):
            with pytest.raises((TurnBusy, Conflict)):
                await other.aio.calls.begin(call)
            other.refresh()
            assert one.calls.list_open() == other.calls.list_open() == [(call, "running")]
        assert one.calls.list_open() == [(call, "begun")]
        await other.aio.calls.begin(call)


DYING = """
import asyncio, os, sys
from quire import Session
from quire.session import turn_of

async def run():
    one = Session.open("ana/q3", store=sys.argv[1])
    async with one.calls.running(*one.view().pending()):
        os._exit(0)

asyncio.run(run())
"""


def test_a_claim_ends_with_its_process_or_a_minute_after_the_last_sign_of_it(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "a.db") as store:
        one, (call,) = asked("pay", store=store)
        subprocess.run([sys.executable, "-c", DYING, tmp_path / "a.db"], check=True)
        one.refresh()
        assert one.calls.list_open() == [(call, "begun")]
        (entry,) = [entry for entry in store.read(one.place) if entry.stream == ".calls"]
        note = json.loads(entry.body)
        note["content"]["lease"]["process"][0] = "another machine"
        store.replace(one.place, {entry.version: json.dumps(note).encode()})
        elsewhere, began = session(twin(store)).calls, now()
        assert elsewhere.list_open() == [(call, "running")]
        with pytest.raises(TurnBusy):
            elsewhere.begin(call)
        with use_clock(lambda: began + 61):  # it did not renew it: it hangs, or its machine is gone
            assert elsewhere.list_open() == [(call, "begun")]
            elsewhere.begin(call)


async def test_only_calls_that_wait_are_begun_and_answered() -> None:
    one, (call,) = asked("pay")
    await turn_of(one).answer([call], result_of(call, "paid"))
    for again in (one.aio.calls.begin(call), turn_of(one).answer([call], result_of(call, "paid again"))):
        with pytest.raises(Conflict):
            await again
    other = replace(call, id="another", created_at=now())
    one.append(other)
    with pytest.raises(Conflict):  # the same call id waits, and it is not the same call
        await turn_of(one).answer([call], result_of(call, "paid again"))
    await turn_of(one).answer([other], result_of(call), Message("user", "Thanks."))
    assert one.calls.list_open() == []


async def test_calls_that_somebody_runs_are_not_closed_by_who_does_not() -> None:
    with two() as (one, other):
        call = called(one, "pay")
        async with one.calls.running(call):
            other.refresh()
            with pytest.raises(Conflict):
                await turn_of(other).answer([call], result_of(call, "given up"), unless_running=True)
        await turn_of(other).answer([call], result_of(call, "given up"), unless_running=True)
