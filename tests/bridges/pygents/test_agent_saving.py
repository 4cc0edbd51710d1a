"""Agents as plain values and back, and branches of agents."""

import json
from typing import Any

import pytest

from quire.bridges.pygents import (
    Agent,
    AgentHook,
    AgentRegistry,
    ContextPool,
    ContextPoolHook,
    ContextQueue,
    HookRegistry,
    ToolRegistry,
    Turn,
    UnregisteredHookError,
    UnregisteredToolError,
    hook,
)
from quire.errors import Damaged, Unencodable
from tests.bridges.pygents.shop import run_all, shop
from tests.bridges.pygents.writing import contents, ids, in_a_loop, kept


def restored(data: dict[str, Any]) -> Agent:
    AgentRegistry.unregister("shop")
    return Agent.from_dict(json.loads(json.dumps(data)))


@in_a_loop
async def test_an_agent_comes_back_with_all_it_held() -> None:
    heard: list[str | None] = []

    @hook(ContextPoolHook.AFTER_ADD)
    async def added(pool: object, item: Any) -> None:
        heard.append(item.id)

    @hook([AgentHook.BEFORE_TURN, AgentHook.AFTER_TURN])
    async def watching(agent: Agent, turn: Turn | None = None) -> None:
        heard.append("watched")

    agent = shop("shop", ContextPool(limit=5, hooks=[added]), ContextQueue(limit=3))
    agent.hooks.append(watching)
    await run_all(agent, Turn("price", args=["a"]), Turn("greet"))
    await agent.put(Turn("price", timeout=7, kwargs={"lamp": "b"}))
    agent.pause()
    heard.clear()
    data = agent.to_dict()
    assert (data["name"], data["tool_names"][:2], data["current_turn"]) == ("shop", ["price", "greet"], None)
    back = restored(data)
    assert heard == [] and back.is_paused and AgentRegistry.get("shop") is back
    assert back.context_pool.items == agent.context_pool.items and back.context_pool.limit == 5
    assert back.context_queue.items == agent.context_queue.items and back.context_queue.limit == 3
    assert [(turn.tool.name, turn.timeout) for turn in back.pending_turns] == [("price", 7)]
    assert (back.description, back.hooks) == ("Sells lamps", [watching])
    back.resume()
    await run_all(back)
    assert heard == ["watched", "b", "watched"] and ids(back.context_pool) == ["a", "b"]
    assert ids(agent.context_pool) == ["a"]


@in_a_loop
async def test_the_turn_under_way_is_run_first_and_a_finished_one_not_again() -> None:
    agent = shop()
    await agent.put(Turn("each_price", args=[["a", "b"]]))
    await agent.put(Turn("add", args=[1, 2]))
    saved = [agent.to_dict() async for _ in agent.run()]
    names = [[turn.tool.name for turn in restored(data).pending_turns] for data in (saved[0], saved[2])]
    assert saved[0]["current_turn"]["tool_name"] == "each_price" and saved[2]["current_turn"] is None
    assert names == [["each_price", "add"], []]


@in_a_loop
async def test_what_is_not_declared_here_is_an_error_and_leaves_no_agent() -> None:
    @hook(AgentHook.AFTER_TURN)
    async def watching(agent: Agent, turn: Turn) -> None: ...

    agent = shop()
    agent.hooks.append(watching)
    await agent.put(Turn("greet"))
    data = agent.to_dict()
    with pytest.raises(ValueError, match="'shop' already"):
        Agent.from_dict(data)
    AgentRegistry.clear()
    with pytest.raises(ValueError, match="none of the tools"):
        Agent.from_dict(data | {"tool_names": ["add"]})
    HookRegistry.clear()
    with pytest.raises(UnregisteredHookError):
        Agent.from_dict(data)
    ToolRegistry.clear()
    data["hooks"] = {}
    with pytest.raises(UnregisteredToolError):
        Agent.from_dict(data)
    with pytest.raises(KeyError):
        AgentRegistry.get("shop")


@in_a_loop
async def test_what_cannot_be_written_or_read_is_named_by_its_place() -> None:
    agent = shop()
    good = agent.to_dict()
    await agent.context_pool.add(kept("a", object()))
    with pytest.raises(Unencodable) as caught:
        agent.to_dict()
    assert caught.value.path == "$.context_pool.items[0].content"
    changes: list[tuple[dict[str, Any], str]] = [
        ({"name": 3}, "$.name"),
        ({"description": None}, "$.description"),
        ({"tool_names": [3]}, "$.tool_names"),
        ({"queue": None}, "$.queue"),
        ({"queue": [{}]}, "$.queue[0].tool_name"),
        ({"current_turn": {"tool_name": "add", "args": 1}}, "$.current_turn.args"),
        ({"context_pool": {"limit": 3}}, "$.context_pool.items"),
        ({"context_queue": None}, "$.context_queue"),
    ]
    for change, path in changes:
        with pytest.raises(Damaged) as damaged:
            Agent.from_dict(good | change)
        assert damaged.value.path == path


@in_a_loop
async def test_a_branch_begins_with_copies_and_goes_its_own_way() -> None:
    @hook(AgentHook.AFTER_TURN)
    async def watching(agent: Agent, turn: Turn) -> None: ...

    agent = shop()
    agent.hooks.append(watching)
    await run_all(agent, Turn("price", args=["a"]), Turn("greet"))
    await agent.put(waiting := Turn("price", args=["b"]))
    child = agent.branch()
    named = agent.branch("other", description="Rents lamps", hooks=[])
    assert (child.name, named.name, agent.branch().name) == ("shop-1", "other", "shop-2")
    assert AgentRegistry.get("shop-1") is child and (child.description, named.description) == (
        "Sells lamps",
        "Rents lamps",
    )
    assert (child.hooks, named.hooks) == ([watching], []) and child.hooks is not agent.hooks
    (copy,) = child.pending_turns
    assert copy is not waiting and copy.args == waiting.args
    await run_all(child, Turn("greet", args=["Bo"]))
    assert ids(child.context_pool) == ["a", "b"] and ids(agent.context_pool) == ["a"]
    assert len(child.context_queue) == 2 and contents(agent.context_queue) == ["hello you"]
    assert waiting.stop_reason is None and agent.pending_turns == [waiting]
    await run_all(agent)
    assert waiting.stop_reason == "completed"


@in_a_loop
async def test_a_branch_with_fewer_tools_has_no_turns_of_the_others() -> None:
    agent = shop()
    await agent.put(Turn("greet"))
    with pytest.raises(ValueError, match="none of the tools"):
        agent.branch("narrow", tools=agent.tools[:1])
    with pytest.raises(KeyError):
        AgentRegistry.get("narrow")
    await run_all(agent)
    narrow = agent.branch("narrow", tools=agent.tools[:1])
    assert [tool.name for tool in narrow.tools] == ["price"]


@in_a_loop
async def test_a_branch_reads_its_own_pool() -> None:
    agent = shop()
    await agent.context_pool.add(kept("a"))
    child = agent.branch()
    await child.context_pool.clear()
    await run_all(child, Turn("price", args=["b"]))
    assert ids(child.context_pool) == ["b"] and ids(agent.context_pool) == ["a"]


class Boutique(Agent):
    """An agent of one's own."""


@in_a_loop
async def test_a_subclass_stays_itself() -> None:
    mine = Boutique("boutique", "Sells few lamps", shop().tools)
    assert type(mine.branch()) is Boutique
    AgentRegistry.unregister("boutique")
    assert type(Boutique.from_dict(mine.to_dict())) is Boutique
