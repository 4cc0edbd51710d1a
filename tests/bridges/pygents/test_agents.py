"""Agents: turns in order, items stored, hooks, pauses, branches and saved values."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from quire.bridges.pygents import (
    Agent,
    AgentHook,
    AgentRegistry,
    ContextItem,
    ContextPool,
    ContextQueue,
    SafeExecutionError,
    ToolRegistry,
    Turn,
    TurnHook,
    TurnTimeoutError,
    UnregisteredAgentError,
    hook,
    tool,
)
from tests.bridges.pygents.conftest import ids, recording


@pytest.fixture
def baker(empty_registries: None) -> Iterator[Agent]:
    @tool()
    async def bake(bread: str) -> ContextItem[str]:
        return ContextItem("warm", description=f"{bread} bread", id=bread)

    @tool()
    async def serve(table: int) -> AsyncIterator[Any]:
        yield [ContextItem(f"plate for {table}"), ContextItem("a fork")]
        yield Turn("bake", args=["rye"])
        yield "bill"

    @tool()
    async def burn() -> None:
        raise ValueError("smoke")

    @tool()
    async def rise(seconds: float) -> str:
        await asyncio.sleep(seconds)
        return "risen"

    yield Agent("baker", "Bakes", [bake, serve, burn, rise])


async def run(agent: Agent, *turns: Turn[Any]) -> list[Any]:
    for turn in turns:
        await agent.put(turn)
    return [value async for _, value in agent.run()]


# Running turns


async def test_items_and_turns_of_a_generator_or_a_list_are_stored_one_by_one(baker: Agent) -> None:
    await baker.put(Turn("serve", args=[4]))
    stored: list[tuple[int, int, str]] = []
    async for turn, value in baker.run():
        stored.append((len(baker.context_queue), len(baker.pending_turns), turn.tool.name))
        assert value is not None
    assert stored == [(2, 0, "serve"), (2, 1, "serve"), (2, 1, "serve"), (2, 0, "bake")]
    assert ids(baker.context_pool) == ["rye"]


async def test_leaving_the_loop_loses_nothing_and_the_next_run_goes_on(baker: Agent) -> None:
    for bread in ("rye", "oat"):
        await baker.put(Turn("bake", args=[bread]))
    async for _ in baker.run():
        break
    assert not baker.is_running and ids(baker.context_pool) == ["rye"] and len(baker.pending_turns) == 1
    assert len(await run(baker)) == 1 and ids(baker.context_pool) == ["rye", "oat"]


async def test_an_error_ends_the_run_and_the_rest_stays(baker: Agent) -> None:
    with pytest.raises(ValueError, match="smoke"):
        await run(baker, Turn("burn"), Turn("bake", args=["rye"]))
    assert [one.tool.name for one in baker.pending_turns] == ["bake"] and baker.current_turn is None
    assert len(await run(baker)) == 1


async def test_only_turns_of_its_own_registered_tools_are_accepted(baker: Agent) -> None:
    @tool()
    async def knead() -> None: ...

    with pytest.raises(ValueError, match="does not accept"):
        await baker.put(Turn("knead"))


async def test_a_running_agent_cannot_be_changed_or_run_again(baker: Agent) -> None:
    await baker.put(Turn("rise", args=[60]))
    task = asyncio.create_task(run(baker))
    await asyncio.sleep(0)
    for name in ("name", "context_pool", "hooks"):
        with pytest.raises(SafeExecutionError, match=name):
            setattr(baker, name, getattr(baker, name))
    with pytest.raises(SafeExecutionError, match="running"):
        baker.run()
    task.cancel()
    await asyncio.wait([task])
    assert not baker.is_running


async def test_a_paused_agent_waits_between_turns(baker: Agent) -> None:
    calls: list[str] = []
    baker.hooks = [recording(calls, AgentHook.ON_PAUSE), recording(calls, AgentHook.ON_RESUME)]
    baker.pause()
    task = asyncio.create_task(run(baker, Turn("bake", args=["rye"])))
    while not calls:
        await asyncio.sleep(0)
    assert calls == ["on_pause"] and baker.is_paused and len(baker.context_pool) == 0
    baker.resume()
    assert len(await task) == 1 and calls == ["on_pause", "on_resume"] and not baker.is_paused


async def test_one_agent_sends_turns_to_another(baker: Agent) -> None:
    waiter = Agent("waiter", "Serves", [ToolRegistry.get("serve")])
    await waiter.send_turn("baker", Turn("bake", args=["rye"]))
    assert len(baker.pending_turns) == 1
    with pytest.raises(UnregisteredAgentError, match="cook"):
        await waiter.send_turn("cook", Turn("serve", args=[1]))


def test_the_name_of_an_agent_is_unique_and_assignable(baker: Agent) -> None:
    with pytest.raises(ValueError, match="baker"):
        Agent("baker", "Another", [])
    baker.name = "cook"
    assert baker.name == baker.to_dict()["name"] == "cook"
    assert AgentRegistry.get("cook") is baker and "baker" not in AgentRegistry


async def test_a_tool_gets_copies_of_the_pool_and_the_queue(baker: Agent) -> None:
    @tool()
    async def look(shelf: ContextPool, queue: "ContextQueue") -> list[int]:
        counts = [len(shelf), len(queue)]
        await shelf.clear()
        queue.clear()
        return counts

    @tool()
    async def bare(pool) -> int:  # type: ignore[no-untyped-def]  # pyright: ignore
        return len(pool)  # pyright: ignore[reportUnknownArgumentType]

    agent = Agent("reader", "", [look, bare])
    await agent.context_pool.add(ContextItem(1, "one", "a"))
    await agent.context_queue.append(ContextItem(2))
    assert await run(agent, Turn("look"), Turn("bare")) == [[1, 1], 1]
    assert len(agent.context_pool) == len(agent.context_queue) == 1


# Hooks


async def test_hooks_of_agent_and_turn_run_in_order(baker: Agent) -> None:
    calls: list[str] = []
    baker.hooks = [recording(calls, kind) for kind in AgentHook]
    turn_hooks = [recording(calls, kind) for kind in TurnHook]
    await run(baker, Turn("bake", args=["rye"], hooks=turn_hooks))
    assert calls == [
        *("before_put", "after_put", "before_turn", "before_run", "after_run"),
        *("on_turn_value", "after_turn"),
    ]
    calls.clear()
    with pytest.raises(ValueError, match="smoke"):
        await run(baker, Turn("burn", hooks=turn_hooks))
    assert calls[2:] == ["before_turn", "before_run", "on_error", "on_turn_error"]
    calls.clear()
    with pytest.raises(TurnTimeoutError):
        await run(baker, Turn("rise", 0.01, [5], hooks=turn_hooks))
    assert calls[2:] == ["before_turn", "before_run", "on_timeout", "on_turn_timeout"]
    calls.clear()
    await run(baker, Turn("serve", args=[1]))
    assert calls[2:4] == ["before_turn", "on_turn_value"] and calls[-1] == "after_turn"


@pytest.mark.parametrize("kind", [AgentHook.BEFORE_PUT, AgentHook.BEFORE_TURN, TurnHook.BEFORE_RUN])
async def test_a_refused_turn_changes_nothing(baker: Agent, kind: Any) -> None:
    @hook(kind)
    async def refuse(*args: Any) -> None:
        raise PermissionError

    turn = Turn[Any]("bake", args=["rye"], hooks=[refuse] if kind is TurnHook.BEFORE_RUN else [])
    baker.hooks.append(refuse)
    with pytest.raises(PermissionError):
        await run(baker, turn)
    assert baker.pending_turns == ([] if kind is AgentHook.BEFORE_PUT else [turn])
    assert turn.metadata.start_time is None and len(baker.context_pool) == 0 and not baker.is_running


# Branches and saved values


async def test_a_branch_has_copies_of_the_pending_turns(baker: Agent) -> None:
    await baker.put(Turn("bake", args=["rye"]))
    child = baker.branch()
    assert (child.name, child.branch().name, child.description) == ("baker-1", "baker-1-1", "Bakes")
    await run(child)
    assert ids(child.context_pool) == ["rye"] and len(baker.pending_turns) == 1
    assert baker.pending_turns[0].metadata.start_time is None


async def test_an_agent_survives_serialization_in_the_middle_of_a_turn(baker: Agent) -> None:
    saved: list[Any] = []

    @tool()
    async def save() -> str:
        saved.append(baker.to_dict())
        return "saved"

    baker.tools = [*baker.tools, save]
    await baker.context_queue.append(ContextItem("flour"))
    await baker.context_pool.add(ContextItem("fine", "Salt", "salt"))
    await run(baker, Turn("save"), Turn("bake", args=["rye"]))
    (data,) = json.loads(json.dumps(saved))
    AgentRegistry.clear()
    restored = Agent.from_dict(data)
    assert restored.tools == baker.tools
    assert restored.context_queue.items == baker.context_queue.items
    assert ids(restored.context_pool) == ["salt"]
    assert [turn.tool.name for turn in restored.pending_turns] == ["save", "bake"]
