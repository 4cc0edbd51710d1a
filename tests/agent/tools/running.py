"""Running tools in tests."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from quire.agent.tools import Outcome, Tool, run, tool


def ran(
    function: Tool | Callable[..., Any], arguments: str | Mapping[str, Any] = "{}", **options: Any
) -> Outcome:
    """The outcome of a call, in an event loop of its own."""
    one = function if isinstance(function, Tool) else tool(function)
    return asyncio.run(run(one, arguments, **options))


def taking(kind: Any, seen: list[Any] | None = None) -> Tool:
    """A tool with one argument of a type, which notes the values it is called with."""

    async def take(value: Any) -> None:
        if seen is not None:
            seen.append(value)

    take.__annotations__["value"] = kind
    return tool(take)
