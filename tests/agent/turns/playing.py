"""Tools for turns, and short ways to run them."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec

from quire.agent import tool
from quire.agent.turns import Turn, TurnEvent, Turns
from quire.items import Note
from quire.session import Hook
from quire.state import Pool

P = ParamSpec("P")


def in_a_loop(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Run a test that awaits."""

    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


@tool
async def weigh(parcel: str) -> Note:
    """Weigh a parcel."""
    return Note(len(parcel), key=parcel, description=f"weight of {parcel}")


@tool
async def remark(words: str) -> Note:
    """Say something about the day."""
    return Note(words)


@tool
async def count(upto: int) -> AsyncGenerator[Note, None]:
    """Count, noting each number."""
    for number in range(upto):
        yield Note(number)


@tool
def look_up(parcel: str, pool: Pool) -> Any:
    """Read what is kept, and try to spoil it."""
    found = pool.get(parcel).content
    pool.clear()
    return found


@tool
async def fail() -> None:
    """Raise."""
    raise LookupError("no such parcel")


@tool(timeout=0.02)
async def dawdle() -> None:
    """Take far too long."""
    await asyncio.sleep(60)


TOOLS = [weigh, remark, count, look_up, fail, dawdle]


async def run_all(turns: Turns, *more: Turn) -> list[Any]:
    """Put turns, run all that wait, and give their values."""
    for turn in more:
        await turns.put(turn)
    return [value async for _, value in turns.run()]


def diary(heard: list[TurnEvent], *events: type) -> Hook:
    """A hook that writes down what it hears."""
    return Hook(heard.append, events, name="diary")
