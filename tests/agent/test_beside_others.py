"""A turn that ends badly leaves alone what others run or are about to run in the same conversation."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from quire import Session, ToolCall
from quire.agent import Agent, tool
from quire.errors import ModelFailed, TurnBusy
from quire.models import Scripted
from quire.stores import SQLiteStore
from tests.agent.answering import Gate, assert_whole, call, results, run


@tool
def look() -> str:
    """Look."""
    return "seen"


def agent_in(folder: Path, *replies: Any, tools: Any) -> Agent:
    """An agent with a store of its own, over the same file: as another process has it."""
    session = Session.open("ana/one", store=SQLiteStore(folder / "chats.db"))
    return Agent(session, model=Scripted(replies), tools=tools)


@pytest.mark.parametrize("acts", [False, True], ids=["at once", "after a call of its own"])
def test_a_turn_that_fails_closes_no_call_that_another_runs(acts: bool, tmp_path: Path) -> None:
    async def talk() -> None:
        gate, asked = Gate("pay"), asyncio.Event()

        async def first(_: Any) -> ToolCall:
            await asked.wait()
            return call("pay")

        async def fails(_: Any) -> Any:
            asked.set()
            await gate.begun.wait()
            if acts:
                return call("look", call_id="b1")
            raise ModelFailed("the model is down")

        def down(_: Any) -> Any:
            raise ModelFailed("the model is down")

        one = agent_in(tmp_path, first, "Paid.", tools=[gate.tool, look])
        other = agent_in(tmp_path, fails, down, tools=[gate.tool, look])
        paying = asyncio.create_task(one.ask("Pay it."))
        await asyncio.sleep(0)
        with pytest.raises(ModelFailed):
            await other.ask("And hurry.")
        gate.go.set()
        assert str(await paying) == "Paid." and gate.ran == 1
        assert [item.text for item in results(one) if item.name == "pay"] == ["through"]
        assert_whole(one)

    run(talk)


def test_of_two_who_resume_one_is_busy_and_changes_nothing(tmp_path: Path) -> None:
    async def talk() -> None:
        gate = Gate("pay")
        agent_in(tmp_path, tools=[]).session.append(call("pay"))
        one, other = (agent_in(tmp_path, "Paid.", tools=[gate.tool]) for _ in range(2))
        resumed = [asyncio.create_task(agent.resume()) for agent in (one, other)]
        await gate.begun.wait()
        (busy,), _ = await asyncio.wait(resumed, return_when=asyncio.FIRST_COMPLETED)
        assert isinstance(busy.exception(), TurnBusy)
        gate.go.set()
        came = await asyncio.gather(*resumed, return_exceptions=True)
        assert [str(reply) for reply in came if not isinstance(reply, BaseException)] == ["Paid."]
        one.session.refresh()
        assert [item.text for item in results(one)] == ["through"] and gate.ran == 1
        assert_whole(one)

    run(talk)


def test_two_who_decide_pay_once(tmp_path: Path) -> None:
    async def talk() -> None:
        gate = Gate("pay", approve=True)
        asking = agent_in(tmp_path, call("pay"), tools=[gate.tool])
        assert (await asking.ask("Pay it.")).stop == "waiting"
        one, other = (agent_in(tmp_path, "Paid.", tools=[gate.tool]) for _ in range(2))
        decided = [asyncio.create_task(agent.decide({"call_pay": True})) for agent in (one, other)]
        await gate.begun.wait()
        (busy,), _ = await asyncio.wait(decided, return_when=asyncio.FIRST_COMPLETED)
        assert isinstance(busy.exception(), TurnBusy)
        gate.go.set()
        await asyncio.gather(*decided, return_exceptions=True)
        one.session.refresh()
        assert [item.text for item in results(one)] == ["through"] and gate.ran == 1
        assert_whole(one)

    run(talk)
