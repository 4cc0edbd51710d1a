"""Hooks that wait for what somebody else cancelled: they refuse what they hear of, and cancel nobody."""

import asyncio

import pytest

from quire import ToolCall, ToolResult
from quire.errors import CancelledWithin
from quire.session import Adding, Calling, Hook
from quire.stores import MemoryStore
from tests.agent.answering import assert_whole, results, run
from tests.agent.test_refused_results import CUSTOMER, SLOW, agent_at


async def waits_for_the_cancelled(_: object) -> None:
    other = asyncio.get_running_loop().create_future()
    other.cancel()
    await other


def is_of_results(event: Adding) -> bool:
    return any(isinstance(item, ToolResult) for item in event.items)


@pytest.mark.parametrize("calls", [[CUSTOMER], [SLOW, CUSTOMER]])
@pytest.mark.parametrize("event", [Adding, Calling])
def test_a_hook_that_waits_for_what_was_cancelled_refuses(calls: list[ToolCall], event: type) -> None:
    async def talk() -> None:
        where = is_of_results if event is Adding else None
        hook = Hook(waits_for_the_cancelled, (event,), where)
        agent = agent_at(MemoryStore(), calls, "Done.", hook=hook)
        assert (await agent.ask("go")).text == "Done."
        assert all("refused" in one.text and "CancelledWithin" in one.text for one in results(agent))
        assert_whole(agent)

    run(talk)


def test_a_hook_that_waits_for_what_was_cancelled_refuses_a_question() -> None:
    async def talk() -> None:
        agent = agent_at(MemoryStore(), "Done.", hook=Hook(waits_for_the_cancelled, (Adding,)))
        with pytest.raises(CancelledWithin):
            await agent.ask("go")

    run(talk)
