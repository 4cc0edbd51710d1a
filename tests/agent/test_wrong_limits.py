"""Limits that are none: an error that says so, before anything is recorded."""

from collections.abc import AsyncIterator, Awaitable
from typing import Any

import pytest

from quire.agent import Agent
from quire.errors import WrongType
from tests.agent.answering import agent_of, run

VERBS: dict[str, tuple[Any, ...]] = {
    "ask": ("Hello.",),
    "stream": ("Hello.",),
    "resume": (),
    "resume_stream": (),
    "decide": ({},),
    "decide_stream": ({},),
}


async def answered(agent: Agent, verb: str, **asking: Any) -> None:
    asked: Awaitable[object] | AsyncIterator[object] = getattr(agent, verb)(*VERBS[verb], **asking)
    if isinstance(asked, Awaitable):
        await asked
        return
    async for _ in asked:
        pass


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("limits", [0, 3, 1.5, {"requests": 3}, "many"])
def test_limits_that_are_none_are_a_wrong_type(verb: str, limits: Any) -> None:
    async def ask() -> None:
        agent = agent_of("Said.")
        with pytest.raises(WrongType, match="limits are Limits"):
            await answered(agent, verb, limits=limits)
        assert len(agent.session.view()) == 0
        assert (await agent.ask("Hello.")).text == "Said."

    run(ask)


def test_an_agent_is_not_made_with_them() -> None:
    with pytest.raises(WrongType, match="limits are Limits"):
        agent_of("Said.", limits=3)
