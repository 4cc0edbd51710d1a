"""Short ways to make items and to read containers, and a loop for tests that await."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from functools import wraps
from typing import Any, ParamSpec

from quire.bridges.pygents import ContextItem, ContextPool

P = ParamSpec("P")


def in_a_loop(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Run a test that awaits."""

    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


def said(*contents: object) -> list[ContextItem[Any]]:
    """Items without ids, as a queue holds them."""
    return [ContextItem(content=content) for content in contents]


def kept(name: str, content: object = None) -> ContextItem[Any]:
    """An item that a pool can keep."""
    return ContextItem(content=content, description=f"about {name}", id=name)


def contents(items: Iterable[ContextItem[Any]]) -> list[Any]:
    return [item.content for item in items]


def ids(items: Iterable[ContextItem[Any]]) -> list[str | None]:
    return [item.id for item in items]


async def pool_of(*names: str, limit: int | None = None) -> ContextPool:
    """A pool that was filled one by one."""
    pool = ContextPool(limit=limit)
    for name in names:
        await pool.add(kept(name))
    return pool
