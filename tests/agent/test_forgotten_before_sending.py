"""Something is forgotten between the building of a context and its sending: it is built again, and sent."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quire import Agent, Session
from quire.errors import Forgotten
from quire.models import Scripted
from quire.session import Built, Hook
from quire.stores import Store
from tests.agent.answering import assert_whole, run

SECRET = "My old phone is 0151 2345678."


def forgetting(path: Path, times: int) -> tuple[Agent, Scripted, list[Built]]:
    """An agent whose contexts are built so many times before nobody forgets something any more."""
    model, built, other = (
        Scripted(["The answer."]),
        list[Built](),
        Session.open("ana/one", store=Store.open(path)),
    )

    def forget(event: Built) -> None:
        built.append(event)
        if len(built) <= times:
            other.refresh()
            other.forget(next(item.id for item in other.view() if getattr(item, "text", "") == SECRET))

    session = Session.open("ana/one", store=Store.open(path), hooks=[Hook(forget, (Built,))])
    for _ in range(times):
        session.user(SECRET)
    return Agent(session, model=model, instructions="Be brief."), model, built


ASKS: dict[str, Callable[[Agent], Any]] = {
    "ask": lambda agent: agent.ask("What is next?"),
    "stream": lambda agent: _streamed(agent),
}


async def _streamed(agent: Agent) -> None:
    async for _ in agent.stream("What is next?"):
        pass


@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize("times", [1, 3])
def test_what_is_sent_is_built_again(tmp_path: Path, times: int, ask: str) -> None:
    async def talk() -> None:
        agent, model, built = forgetting(tmp_path / "a.db", times)
        await ASKS[ask](agent)
        assert [item.text for item in agent.session.view()][times:] == ["What is next?", "The answer."]  # type: ignore[union-attr]
        assert len(built) == times + 1
        assert len(model.requests) == 1 and "0151" not in str(model.requests[0].payload)
        assert agent.session.spending.requests == 1
        assert_whole(agent)

    run(talk)


def test_it_is_not_built_for_ever(tmp_path: Path) -> None:
    async def talk() -> None:
        agent, model, built = forgetting(tmp_path / "a.db", 50)
        with pytest.raises(Forgotten):
            await agent.ask("What is next?")
        assert len(built) == 11 and not model.requests
        assert_whole(agent)

    run(talk)
