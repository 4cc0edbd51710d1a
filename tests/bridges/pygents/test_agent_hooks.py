"""Hooks of agents: nine moments, beside those of the turns they run."""

import asyncio
from typing import Any

import pytest

from quire.bridges.pygents import Agent, AgentHook, HookRegistry, Turn, TurnHook, UnregisteredHookError, hook
from quire.bridges.pygents.hooks import DeclaredHook
from tests.bridges.pygents.shop import run_all, shop
from tests.bridges.pygents.writing import in_a_loop


def diary(heard: list[Any]) -> list[DeclaredHook]:
    """One hook for each of the nine, which writes down what it got after the agent."""

    def declare(moment: AgentHook) -> DeclaredHook:
        async def listening(agent: Agent, turn: Turn | None = None, *more: Any) -> None:
            told = [type(one).__name__ for one in more]
            heard.append((moment.name, turn.tool.name if turn else None, *told))

        listening.__name__ = listening.__qualname__ = f"on_{moment.value}"
        return hook(moment)(listening)

    return [declare(moment) for moment in AgentHook]


@in_a_loop
async def test_each_moment_is_heard_with_the_agent_and_the_turn() -> None:
    heard: list[Any] = []
    agent = shop()
    agent.hooks += diary(heard)
    await run_all(agent, Turn("each_price", args=[["a", "b"]]))
    assert heard == [
        ("BEFORE_PUT", "each_price"),
        ("AFTER_PUT", "each_price"),
        ("BEFORE_TURN", None),
        ("ON_TURN_VALUE", "each_price", "ContextItem"),
        ("ON_TURN_VALUE", "each_price", "ContextItem"),
        ("AFTER_TURN", "each_price"),
    ]
    del heard[:]
    with pytest.raises(ArithmeticError):
        await run_all(agent, Turn("drop"))
    with pytest.raises(TimeoutError):
        await run_all(agent, Turn("sleep", timeout=0.01))
    ends = [told for told in heard if told[0].startswith("ON_TURN")]
    assert ends == [("ON_TURN_ERROR", "drop", "ArithmeticError"), ("ON_TURN_TIMEOUT", "sleep")]


@in_a_loop
async def test_a_pause_is_heard_when_it_begins_to_hold_and_when_it_ends() -> None:
    heard: list[Any] = []
    agent = shop()
    agent.hooks += diary(heard)
    await agent.put(Turn("add", args=[1, 2]))
    agent.pause()
    assert ("ON_PAUSE", None) not in heard
    task = asyncio.create_task(run_all(agent))
    while ("ON_PAUSE", None) not in heard:
        await asyncio.sleep(0)
    assert ("ON_RESUME", None) not in heard
    agent.resume()
    await task
    assert heard.index(("ON_RESUME", None)) < heard.index(("BEFORE_TURN", None))


@in_a_loop
async def test_hooks_of_the_turn_are_called_inside_those_of_the_agent() -> None:
    heard: list[str] = []

    @hook([AgentHook.BEFORE_TURN, AgentHook.AFTER_TURN])
    async def outer(agent: Agent, turn: Turn | None = None) -> None:
        heard.append("outer")

    @hook([TurnHook.BEFORE_RUN, TurnHook.AFTER_RUN])
    async def inner(turn: Turn) -> None:
        heard.append("inner")

    agent = shop()
    agent.hooks.append(outer)
    await run_all(agent, Turn("add", args=[1, 2], hooks=[inner]))
    assert heard == ["outer", "inner", "inner", "outer"]


@in_a_loop
async def test_all_hooks_of_a_moment_are_called_in_order() -> None:
    heard: list[str] = []

    @hook(AgentHook.AFTER_TURN)
    async def one(agent: Agent, turn: Turn) -> None:
        heard.append("one")

    @hook(AgentHook.AFTER_TURN)
    async def two(agent: Agent, turn: Turn) -> None:
        heard.append("two")

    agent = shop()
    agent.hooks += [two, one]
    await run_all(agent, Turn("greet"))
    assert heard == ["two", "one"]


@in_a_loop
async def test_putting_and_beginning_can_be_refused_and_then_nothing_has_changed() -> None:
    @hook(AgentHook.BEFORE_PUT)
    async def no_entry(agent: Agent, turn: Turn) -> None:
        raise PermissionError

    @hook(AgentHook.BEFORE_TURN)
    async def not_now(agent: Agent) -> None:
        raise PermissionError

    agent = shop()
    agent.hooks = [no_entry]
    with pytest.raises(PermissionError):
        await agent.put(Turn("greet"))
    assert agent.pending_turns == []
    agent.hooks = [not_now]
    with pytest.raises(PermissionError):
        await run_all(agent, Turn("greet"))
    assert len(agent.pending_turns) == 1 and len(agent.context_queue) == 0
    agent.hooks = []
    assert len(await run_all(agent)) == 1


@in_a_loop
async def test_what_fails_after_the_fact_is_kept_in_the_failures() -> None:
    @hook([AgentHook.ON_TURN_VALUE, AgentHook.AFTER_TURN, AgentHook.AFTER_PUT])
    async def failing(*told: Any) -> None:
        raise RuntimeError

    agent = shop()
    agent.hooks.append(failing)
    assert await run_all(agent, Turn("add", args=[1, 2])) == [3]
    assert [failure.hook for failure in agent.failures] == ["failing"] * 3


@in_a_loop
async def test_a_hook_may_put_more_turns() -> None:
    agent = shop()

    @hook(AgentHook.AFTER_TURN)
    async def once_more(agent: Agent, turn: Turn) -> None:
        if turn.output == 3:
            await agent.put(Turn("add", args=[turn.output, 1]))

    agent.hooks.append(once_more)
    assert await run_all(agent, Turn("add", args=[1, 2])) == [3, 4]


def test_a_hook_can_be_forgotten() -> None:
    @hook(AgentHook.AFTER_TURN)
    async def passing(agent: Agent, turn: Turn) -> None: ...

    assert HookRegistry.get("passing") is passing
    HookRegistry.unregister("passing")
    for missing in (HookRegistry.get, HookRegistry.unregister):
        with pytest.raises(UnregisteredHookError):
            missing("passing")
