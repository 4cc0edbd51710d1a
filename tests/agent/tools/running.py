"""Running tools in tests."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from quire.agent.tools import Outcome, Tool, run, tool


def ran(
    function: Tool | Callable[..., Any], arguments: str | Mapping[str, Any] = "{}", **options: Any
) -> Outcome:
    """What becomes of a call, in a loop of its own."""
    one = function if isinstance(function, Tool) else tool(function)
    return asyncio.run(run(one, arguments, **options))


def taking(kind: Any, seen: list[Any] | None = None, **options: Any) -> Tool:
    """A tool with one argument of a type, that shows what it was given."""

    async def take(value: Any) -> None:
        if seen is not None:
            seen.append(value)

    take.__annotations__["value"] = kind
    return tool(take, **options)
