"""An agent of a lamp shop, with its tools, for tests of agents and turns."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from quire.bridges.pygents import Agent, ContextItem, ContextPool, ContextQueue, Turn, tool


def shop(
    name: str = "shop",
    context_pool: ContextPool | None = None,
    context_queue: ContextQueue | None = None,
) -> Agent:
    """An agent with all the tools below, which are declared by it."""

    @tool()
    async def price(lamp: str) -> ContextItem[int]:
        """Look up a price."""
        return ContextItem(len(lamp), description=f"price of {lamp}", id=lamp)

    @tool()
    async def greet(guest: str = "you") -> ContextItem[str]:
        """Greet somebody."""
        return ContextItem(f"hello {guest}")

    @tool()
    async def each_price(lamps: list[str]) -> AsyncGenerator[ContextItem[int], None]:
        """Look up several prices."""
        for lamp in lamps:
            yield ContextItem(len(lamp), description=f"price of {lamp}", id=lamp)

    @tool()
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @tool()
    async def drop() -> None:
        """Break a lamp."""
        raise ArithmeticError("shards")

    @tool()
    async def sleep() -> None:
        """Sleep for long."""
        await asyncio.sleep(60)

    return Agent(
        name,
        "Sells lamps",
        [price, greet, each_price, add, drop, sleep],
        context_pool=context_pool,
        context_queue=context_queue,
    )


async def run_all(agent: Agent, *turns: Turn) -> list[Any]:
    """Put turns, run all that wait, and give their values."""
    for turn in turns:
        await agent.put(turn)
    return [value async for _, value in agent.run()]
