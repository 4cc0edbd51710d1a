"""Agents: turns in order, items kept where they belong before they are handed on, pools that tools read."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from quire.bridges.pygents import (
    Agent,
    AgentRegistry,
    ContextItem,
    ContextPool,
    ContextPoolHook,
    ContextQueue,
    SafeExecutionError,
    Tool,
    ToolRegistry,
    Turn,
    UnregisteredAgentError,
    hook,
    tool,
)
from tests.bridges.pygents.shop import run_all, shop
from tests.bridges.pygents.writing import contents, ids, in_a_loop, kept


def test_an_agent_has_a_queue_of_ten_and_a_pool_without_a_limit() -> None:
    agent = shop()
    assert (agent.context_queue.limit, agent.context_pool.limit) == (10, None)
    pool, queue = ContextPool(limit=3), ContextQueue(limit=2)
    ToolRegistry.clear()
    other = shop("other", pool, queue)
    assert other.context_pool is pool and other.context_queue is queue
    assert (other.name, other.description, len(other.tools)) == ("other", "Sells lamps", 6)


@in_a_loop
async def test_an_item_without_an_id_goes_to_the_queue_and_one_with_an_id_to_the_pool() -> None:
    agent = shop()
    values = await run_all(agent, Turn("greet", args=["Ana"]), Turn("price", kwargs={"lamp": "tall"}))
    assert values == [ContextItem("hello Ana"), ContextItem(4, "price of tall", "tall")]
    assert contents(agent.context_queue) == ["hello Ana"] and ids(agent.context_pool) == ["tall"]


@in_a_loop
async def test_an_item_is_kept_before_it_is_handed_on() -> None:
    agent = shop()
    await agent.put(Turn("each_price", args=[["a", "b", "c"]]))
    seen = [(turn.tool.name, value.id, ids(agent.context_pool)) async for turn, value in agent.run()]
    assert seen == [
        ("each_price", "a", ["a"]),
        ("each_price", "b", ["a", "b"]),
        ("each_price", "c", ["a", "b", "c"]),
    ]


@in_a_loop
async def test_leaving_early_loses_nothing_that_was_given() -> None:
    agent = shop()
    await agent.put(Turn("price", args=["a"]))
    await agent.put(Turn("price", args=["b"]))
    async for _ in agent.run():
        break
    assert ids(agent.context_pool) == ["a"] and not agent.is_running and len(agent.pending_turns) == 1
    agent.context_queue = ContextQueue(limit=1)
    await run_all(agent)
    assert ids(agent.context_pool) == ["a", "b"]


@in_a_loop
async def test_items_of_a_list_are_kept_too() -> None:
    @tool()
    async def several() -> list[Any]:
        return [kept("a"), "words", ContextItem("said")]

    agent = Agent("lister", "Lists", [several])
    assert len(await run_all(agent, Turn("several"))) == 1
    assert ids(agent.context_pool) == ["a"] and contents(agent.context_queue) == ["said"]


@in_a_loop
async def test_an_item_with_an_id_needs_a_description() -> None:
    @tool()
    async def careless() -> ContextItem[int]:
        return ContextItem(1, id="a")

    agent, turn = Agent("careless", "Forgets", [careless]), Turn("careless")
    with pytest.raises(ValueError, match="description"):
        await run_all(agent, turn)
    assert turn.stop_reason == "error" and len(agent.context_pool) == 0


@in_a_loop
async def test_a_turn_that_a_tool_gives_is_put_at_the_end() -> None:
    @tool()
    async def countdown(left: int) -> Turn | str:
        return Turn("countdown", args=[left - 1]) if left else "lift off"

    agent = Agent("rocket", "Flies", [countdown])
    values = await run_all(agent, Turn("countdown", args=[2]))
    assert [isinstance(value, Turn) for value in values] == [True, True, False]


@in_a_loop
async def test_only_turns_of_its_own_tools_are_put() -> None:
    @tool()
    async def elsewhere() -> None: ...

    agent = shop()
    with pytest.raises(ValueError, match="'elsewhere' is none"):
        await agent.put(Turn("elsewhere"))
    wrong: Any = "price"
    with pytest.raises(TypeError):
        await agent.put(wrong)
    assert agent.pending_turns == []


def test_its_tools_are_those_of_the_registry() -> None:
    def declare() -> Tool:
        @tool()
        async def work() -> None: ...

        return work

    old = declare()
    ToolRegistry.clear()
    with pytest.raises(KeyError):
        Agent("a", "", [old])
    declare()
    with pytest.raises(ValueError, match="another tool"):
        Agent("a", "", [old])
    wrong: Any = len
    with pytest.raises(TypeError):
        Agent("a", "", [wrong])
    with pytest.raises(UnregisteredAgentError):
        AgentRegistry.get("a")


@in_a_loop
async def test_a_tool_reads_the_pool_by_annotation_or_by_name_and_cannot_spoil_it() -> None:
    @tool()
    async def annotated(shelf: ContextPool, recent: ContextQueue | None = None) -> str:
        found = f"{shelf.catalogue()} {len(recent or [])}"
        await shelf.clear()
        return found

    @tool()
    async def bare(lamp, pool):  # type: ignore[no-untyped-def]
        await pool.remove(lamp)  # pyright: ignore[reportUnknownMemberType]
        return len(pool)  # pyright: ignore[reportUnknownArgumentType]

    heard: list[str] = []

    @hook(list(ContextPoolHook))
    async def listening(*told: Any) -> None:
        heard.append("something")

    agent = Agent("reader", "Reads", [annotated, bare], context_pool=ContextPool(hooks=[listening]))
    await agent.context_pool.add(kept("a"))
    await agent.context_queue.append(ContextItem("x"))
    heard.clear()
    turns = [
        Turn("annotated"),
        Turn("bare", args=["a"]),
        Turn("bare", kwargs={"lamp": "a", "pool": agent.context_pool}),
    ]
    assert await run_all(agent, *turns) == ["- [a] about a 1", 0, 0]
    assert ids(agent.context_pool) == ["a"] and heard == []


@in_a_loop
async def test_another_pool_that_is_handed_in_is_that_pool() -> None:
    @tool()
    async def fill(pool: ContextPool) -> None:
        await pool.add(kept("mine"))

    other = ContextPool()
    agent = Agent("filler", "Fills", [fill])
    await run_all(agent, Turn("fill", kwargs={"pool": other}))
    assert ids(other) == ["mine"] and len(agent.context_pool) == 0


@in_a_loop
async def test_the_pool_can_be_assigned_but_not_while_the_agent_runs() -> None:
    heard: list[str | None] = []

    @hook(ContextPoolHook.AFTER_ADD)
    async def added(pool: ContextPool, item: ContextItem[Any]) -> None:
        heard.append(item.id)

    agent = shop()
    agent.context_pool = ContextPool(limit=1, hooks=[added])
    for name in ("a", "b"):
        await agent.put(Turn("price", args=[name]))
    async for _ in agent.run():
        changed: dict[str, Any] = {"context_pool": ContextPool(), "description": "other", "hooks": []}
        for name, value in changed.items():
            with pytest.raises(SafeExecutionError):
                setattr(agent, name, value)
    assert heard == ["a", "b"] and ids(agent.context_pool) == ["b"]
    wrong: Any = []
    with pytest.raises(TypeError):
        agent.context_pool = wrong
    with pytest.raises(TypeError):
        agent.context_queue = wrong


@in_a_loop
async def test_an_agent_is_run_by_one_at_a_time() -> None:
    agent = shop()
    await agent.put(Turn("greet"))
    async for _ in agent.run():
        with pytest.raises(SafeExecutionError):
            await run_all(agent)


@in_a_loop
async def test_an_error_ends_the_run_and_the_rest_still_waits() -> None:
    agent = shop()
    with pytest.raises(ArithmeticError):
        await run_all(agent, Turn("drop"), Turn("add", args=[1, 2]))
    assert await run_all(agent) == [3]


@in_a_loop
async def test_one_agent_puts_turns_for_another() -> None:
    agent = shop()

    @tool()
    async def ask() -> None: ...

    guest = Agent("guest", "Asks", [ask])
    await guest.send_turn("shop", Turn("add", args=[1, 2]))
    assert await run_all(agent) == [3]
    with pytest.raises(UnregisteredAgentError) as caught:
        await guest.send_turn("nobody", Turn("add"))
    assert isinstance(caught.value, KeyError)
    with pytest.raises(ValueError, match="none of the tools"):
        await guest.send_turn("guest", Turn("add"))


def test_a_name_belongs_to_one_agent_until_it_is_given_back() -> None:
    agent = shop()
    with pytest.raises(ValueError, match="'shop' already"):
        Agent("shop", "", agent.tools)
    assert AgentRegistry.get("shop") is agent
    AgentRegistry.unregister("shop")
    assert AgentRegistry.get("shop") is not agent if Agent("shop", "", agent.tools) else False


@in_a_loop
async def test_a_paused_agent_waits_between_turns() -> None:
    agent = shop()
    agent.pause()
    await agent.put(Turn("add", args=[1, 2]))
    task = asyncio.create_task(run_all(agent))
    for _ in range(5):
        await asyncio.sleep(0)
    assert agent.is_paused and agent.is_running and len(agent.pending_turns) == 1
    agent.resume()
    assert await task == [3] and not agent.is_paused


@in_a_loop
async def test_items_and_turns_of_a_generator_go_their_way_one_by_one() -> None:
    @tool()
    async def mixed() -> AsyncGenerator[Any, None]:
        yield ContextItem("first")
        yield Turn("add", args=[2, 3])
        yield "plain"

    agent = Agent("mixer", "Mixes", [*shop().tools, mixed])
    values = await run_all(agent, Turn("mixed"))
    assert values[0] == ContextItem("first") and values[2:] == ["plain", 5]
    assert contents(agent.context_queue) == ["first"]
