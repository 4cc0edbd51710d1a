"""Turns that code decides on, and agents that branch."""

from quire import Note, Session
from quire.agent import Agent, tool
from quire.agent.turns import Turn
from quire.compactors import TruncateOldest
from quire.models import Scripted
from quire.stores import MemoryStore
from tests.agent.answering import agent_of, run


@tool
async def fetch(name: str) -> Note:
    """Fetch a report."""
    return Note(f"report {name}", key=name, description=name)


def test_an_agent_runs_turns_that_code_decides_on() -> None:
    async def act() -> None:
        agent = agent_of(tools=[fetch])
        await agent.put(Turn("fetch", {"name": "q3"}))
        assert [turn.tool_name async for turn, _ in agent.run()] == ["fetch"]
        assert agent.session.pool["q3"].content == "report q3"
        assert agent.turns.waiting == ()

    run(act)


def test_a_branch_has_the_same_past_and_goes_its_own_way() -> None:
    async def act() -> None:
        agent = agent_of("One.", "Two.", "Three.")
        await agent.ask("first")
        branch = agent.branch("aside")
        assert str(await branch.ask("second")) == "Two."
        assert len(branch.session.view()) == 4 and len(agent.session.view()) == 2
        assert branch.turns is not agent.turns and branch.speaker is agent.speaker

    run(act)


def test_a_branch_is_kept_small_as_the_agent_is() -> None:
    async def act() -> None:
        session = Session.open("ana/one", store=MemoryStore())
        compactor = TruncateOldest(unit="messages", floor=4, ceiling=8)
        agent = Agent(session, model=Scripted(["Well."], repeat=True), compactor=compactor)
        branch = agent.branch()
        for one in (agent, branch):
            for _ in range(10):
                await one.ask("hi")
                await one.session.aio.close()
            assert len(one.session.view()) <= 10
        assert branch.session.place != session.place

    run(act)


def test_a_branch_has_copies_of_the_turns_that_wait() -> None:
    async def act() -> None:
        agent = agent_of(tools=[fetch])
        await agent.put(Turn("fetch", {"name": "q3"}))
        first, second = agent.branch(), agent.branch("aside")
        assert [turn.arguments for turn in second.turns.waiting] == [{"name": "q3"}]
        assert first.session.place != second.session.place
        assert [turn.tool_name async for turn, _ in second.run()] == ["fetch"]
        assert "q3" in second.session.pool and "q3" not in agent.session.pool
        assert len(agent.turns.waiting) == 1
        assert second.turns.kept_in.session is second.session

    run(act)
