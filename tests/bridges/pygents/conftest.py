"""Registries are per process: each test begins with empty ones. And what tests of the bridge share."""

from collections.abc import Iterable
from typing import Any

import pytest

from quire.bridges.pygents import AgentRegistry, ContextItem, HookRegistry, ToolRegistry, hook


@pytest.fixture(autouse=True)
def empty_registries() -> None:  # pyright: ignore[reportUnusedFunction]
    HookRegistry.clear()
    ToolRegistry.clear()
    AgentRegistry.clear()


def ids(items: Iterable[ContextItem[Any]]) -> list[str | None]:
    return [item.id for item in items]


def recording(calls: list[str], kind: Any, name: str = "") -> Any:
    """A hook that writes down its name, which is by default that of its kind."""

    async def record(*args: Any) -> None:
        calls.append(record.__name__)

    record.__name__ = name or kind.value
    return hook(kind)(record)
