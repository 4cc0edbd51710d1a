"""Turns that code decides on, and agents that branch."""

from quire import Note
from quire.agent import tool
from quire.agent.turns import Turn
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
        assert agent.session.pool.get("q3").content == "report q3"
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
