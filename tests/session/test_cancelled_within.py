"""Hooks and models that end in a cancellation that was not ours: a failure like any other."""

import asyncio
import logging
from typing import Any

import pytest

from quire.errors import CancelledWithin, ModelFailed
from quire.items import Message, Note, ToolCall, ToolResult, use_clock
from quire.models import Scripted
from quire.session import Added, Adding, Compacting, Session, hook
from quire.state import View
from tests.session.opened import session, texts
from tests.session.test_background import SUMMARIZE, TEMPLATE, talk


async def cancelled(*_: object) -> str:
    """What waits for something that somebody else cancels."""
    other = asyncio.get_running_loop().create_future()
    other.cancel()
    await other
    return "never"


@hook(Compacting, name="cancelled_within_before")
async def cancelled_before(_: Any) -> None:
    await cancelled()


async def turns(one: Session, count: int) -> None:
    for _ in range(count):
        await one.build(TEMPLATE)
        await one.close()


def test_a_summary_that_is_cancelled_from_within_is_counted_and_rested() -> None:
    asked: list[int] = []

    async def model(*_: object) -> str:
        asked.append(1)
        return await cancelled()

    async def conversation() -> None:
        one = session(compactor=SUMMARIZE, model=Scripted(model))
        talk(one, 6)
        with use_clock(lambda: 1_000.0):
            await turns(one, 3)
        assert one.compaction is not None
        metrics = one.compaction.metrics
        assert (len(asked), metrics.started, metrics.failed, metrics.pending) == (1, 1, 1, 0)
        assert metrics.fault is not None and "CancelledError" in metrics.fault
        outcome = await one.compact()
        assert outcome is not None and not outcome and "CancelledError" in outcome.reason
        assert metrics.failed == 2 and len(one.view()) == 12

    asyncio.run(conversation())


def test_a_hook_of_compaction_that_is_cancelled_from_within_has_refused_it() -> None:
    async def conversation() -> None:
        one = session(compactor=SUMMARIZE, model=Scripted(["They talked."]), hooks=[cancelled_before])
        talk(one, 6)
        await turns(one, 2)
        assert one.compaction is not None
        metrics = one.compaction.metrics
        assert (metrics.discarded, metrics.started, metrics.fault) == (2, 0, "CancelledWithin")
        outcome = await one.compact()
        assert outcome is not None and outcome.reason == "a hook refused it: CancelledWithin"

    asyncio.run(conversation())


class Cancelled:
    """A compactor that ends in a cancellation."""

    name = "cancelled"

    def plan(self, view: View, room: Any) -> None:
        raise asyncio.CancelledError


def test_a_compactor_that_is_cancelled_from_within_has_failed() -> None:
    async def conversation() -> None:
        one = session(compactor=Cancelled(), model=Scripted(["They talked."]))
        talk(one, 6)
        await turns(one, 2)
        assert one.compaction is not None
        assert (one.compaction.metrics.failed, one.compaction.metrics.fault) == (1, "ModelFailed")
        with pytest.raises(ModelFailed, match="from within"):
            await one.compact()

    asyncio.run(conversation())


def test_a_summary_of_a_fork_that_is_cancelled_from_within_is_no_merge() -> None:
    async def conversation() -> None:
        one = session()
        one.user("hello")
        child = one.fork("side")
        child.assistant("done")
        with pytest.raises(ModelFailed, match="CancelledError"):
            await one.merge(child, keep="summary", model=Scripted(cancelled))
        assert texts(one.view()) == ["hello"]

    asyncio.run(conversation())


def test_who_is_told_to_stop_while_a_summary_is_written_stops() -> None:
    async def conversation() -> None:
        begun = asyncio.Event()

        async def model(*_: object) -> str:
            begun.set()
            await asyncio.sleep(60)
            return "never"

        one = session(compactor=SUMMARIZE, model=Scripted(model))
        talk(one, 6)
        compacting = asyncio.create_task(one.compact())
        await begun.wait()
        compacting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await compacting
        assert one.compaction is not None and one.compaction.metrics.failed == 0

    asyncio.run(conversation())


heard: list[str] = []


@hook(Added, name="cancelled_within_after")
def cancelled_after(_: Any) -> None:
    raise asyncio.CancelledError


@hook(Added, name="heard_after_a_cancelled_one")
def heard_after(_: Any) -> None:
    heard.append("heard")


@hook(Adding, name="refused_by_cancelling")
def refused(_: Any) -> None:
    raise asyncio.CancelledError


def test_a_hook_of_a_plain_verb_that_is_cancelled_afterwards_loses_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    heard.clear()
    one = session(hooks=[cancelled_after, heard_after])
    with caplog.at_level(logging.WARNING):
        one.user("hello")
    asyncio.run(one.add(Message("user", "again")))
    assert texts(one.view()) == ["hello", "again"] and heard == ["heard", "heard"]
    assert [failure.fault for failure in one.hooks.failures] == ["CancelledError"] * 2


def test_a_hook_of_a_plain_verb_that_is_cancelled_before_refuses() -> None:
    one = session(hooks=[refused])
    with pytest.raises(CancelledWithin, match="refused_by_cancelling"):
        one.user("hello")
    assert one.version == 0


@hook(Adding, name="waits_before")
async def waits_before(_: Any) -> None:
    await cancelled()


@hook(Adding, name="waits_long_before")
async def waits_long(_: Any) -> None:
    await asyncio.sleep(60)


def test_a_hook_that_waits_for_what_was_cancelled_refuses_and_cancels_nobody() -> None:
    async def conversation() -> None:
        one = session(hooks=[waits_before])
        call = ToolCall("c", "pay")
        with pytest.raises(CancelledWithin, match="waits_before"):
            await one.add(Message("user", "hello"))
        with pytest.raises(CancelledWithin):
            await one.offer(ToolResult("c", "pay", "paid"), given_by=call)
        with pytest.raises(CancelledWithin):
            await one.hold(ToolResult("c", "pay", "paid"), of=call)
        with pytest.raises(CancelledWithin):
            await one.put(Note("kept", key="k", description="x"))
        assert one.version == 0

    asyncio.run(conversation())


def test_who_is_told_to_stop_while_a_hook_is_asked_stops() -> None:
    async def conversation() -> None:
        one = session(hooks=[waits_long])
        adding = asyncio.create_task(one.add(Message("user", "hello")))
        await asyncio.sleep(0)
        adding.cancel()
        with pytest.raises(asyncio.CancelledError):
            await adding
        assert one.version == 0

    asyncio.run(conversation())
