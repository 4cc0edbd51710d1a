"""A turn that ends badly leaves alone what others run or are about to run in the same conversation."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from quire import Session, ToolCall
from quire.agent import Agent, tool
from quire.errors import Conflict, ModelFailed, TurnBusy
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


class Meeting:
    """A tool that a person approves of, and two who decide at the same moment on calls of it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._met = asyncio.Barrier(2)
        self.paid: list[int] = []
        self.tool = tool(name="pay", approve=True)(self._pay)
        calls = [call("pay", f'{{"amount": {amount}}}', f"c{amount}") for amount in (1, 2, 3)]
        self.asking = agent_in(folder, calls, tools=[self.tool])

    async def _pay(self, amount: int) -> str:
        """Pay."""
        await asyncio.sleep(0.05)
        self.paid.append(amount)
        return f"paid {amount}"

    async def decided_by(self, *decisions: dict[str, bool | str]) -> list[Any]:
        agents = [agent_in(self._folder, "Well.", "Well.", tools=[self.tool]) for _ in decisions]
        for agent in agents:
            _together(agent.session, self._met)
        deciding = (agent.decide(given) for agent, given in zip(agents, decisions, strict=True))
        came = await asyncio.gather(*deciding, return_exceptions=True)
        self.asking.session.refresh()
        return came


def _together(session: Session, met: asyncio.Barrier) -> None:
    """Have who decides wait, before anything of it is begun, until the other has come as far."""
    running = session.steps.running

    @asynccontextmanager
    async def after_meeting(*calls: ToolCall) -> AsyncGenerator[None, None]:
        await met.wait()
        async with running(*calls):
            yield

    session.steps.running = after_meeting  # type: ignore[method-assign]


REFUSING: dict[str, bool | str] = {"c1": True, "c2": "not today", "c3": True}


@pytest.mark.parametrize(
    "other",
    [REFUSING, {"c1": "no", "c2": True, "c3": True}, {"c1": False, "c2": False, "c3": False}],
    ids=["alike", "the other way round", "of none"],
)
def test_of_two_who_decide_at_the_same_moment_one_is_heard(
    other: dict[str, bool | str], tmp_path: Path
) -> None:
    async def talk() -> None:
        meeting = Meeting(tmp_path)
        await meeting.asking.ask("Pay them.")
        came = await meeting.decided_by(REFUSING, other)
        assert [str(reply) for reply in came if not isinstance(reply, BaseException)] == ["Well."]
        (fault,) = (one for one in came if isinstance(one, BaseException))
        assert isinstance(fault, TurnBusy | Conflict)  # also of what was answered at once, being refused
        told = {item.call_id: item.text for item in results(meeting.asking)}
        first = REFUSING if came[1] is fault else other
        for name, verdict in first.items():
            reason = f"This was not run: {verdict or 'it was not approved'}."
            assert told[name] == (f"paid {name[1]}" if verdict is True else reason)
        assert sorted(meeting.paid) == [int(name[1]) for name, verdict in first.items() if verdict is True]
        assert_whole(meeting.asking)

    run(talk)


def test_who_comes_second_closes_nothing_that_still_waits(tmp_path: Path) -> None:
    async def talk() -> None:
        meeting = Meeting(tmp_path)
        await meeting.asking.ask("Pay them.")
        came = await meeting.decided_by({"c1": True}, {"c1": True, "c2": "no"})
        (reply,) = (one for one in came if not isinstance(one, BaseException))
        waiting = [
            one.call_id for one, standing in meeting.asking.session.steps.standing() if standing == "waiting"
        ]
        assert [one.call_id for one in reply.waiting] == waiting
        assert meeting.paid == [1] and results(meeting.asking)[0].text == "paid 1"

    run(talk)


@pytest.mark.parametrize("answered", ["c1", "c2"])
def test_what_the_others_gave_is_kept_where_one_was_answered_by_hand(answered: str, tmp_path: Path) -> None:
    async def talk() -> None:
        gates = {"c1": Gate("first"), "c2": Gate("second")}
        calls = [call("first", call_id="c1"), call("second", call_id="c2")]
        agent = agent_in(tmp_path, calls, tools=[gate.tool for gate in gates.values()])
        asking = asyncio.create_task(agent.ask("Both."))
        for gate in gates.values():
            await gate.begun.wait()
        hand = agent_in(tmp_path, tools=[]).session
        hand.tool("by hand", call_id=answered)
        gates.pop(answered).go.set()
        await asyncio.sleep(0.05)
        (kept,) = gates
        gates[kept].go.set()
        with pytest.raises(Conflict, match=answered):
            await asking
        assert {item.call_id: item.text for item in results(agent)} == {answered: "by hand", kept: "through"}
        assert_whole(agent)

    run(talk)


def test_a_refusal_is_on_the_record_before_anything_is_run(tmp_path: Path) -> None:
    async def talk() -> None:
        found: list[str] = []

        @tool(approve=True)
        async def pay() -> str:
            """Pay."""
            found.extend(
                standing for _, standing in agent.session.steps.standing()
            )  # as a crash would leave it
            return "paid"

        calls = [call("pay", call_id="c1"), call("pay", call_id="c2")]
        agent = agent_in(tmp_path, calls, "Well.", tools=[pay])
        await agent.ask("Pay them.")
        await agent.decide({"c1": True, "c2": "too much"})
        assert found == ["begun", "held"]
        assert [item.text for item in results(agent)] == ["paid", "This was not run: too much."]

    run(talk)


def test_of_a_refused_call_that_is_broken_off_the_reason_is_kept(tmp_path: Path) -> None:
    async def talk() -> None:
        gate = Gate("pay", approve=True)
        calls = [call("pay", call_id="c1"), call("pay", call_id="c2")]
        agent = agent_in(tmp_path, calls, tools=[gate.tool])
        await agent.ask("Pay them.")
        told = agent.decide_stream({"c1": "too much", "c2": True})
        await anext(told)  # nothing is done with the first before its beginning was heard
        await told.aclose()
        assert "too much" in results(agent)[0].text and not results(agent)[0].extras
        assert_whole(agent)

    run(talk)
