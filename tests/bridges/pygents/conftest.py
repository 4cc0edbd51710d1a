"""Hooks, tools and agents are known in the whole process: each test begins with none."""

import pytest

from quire.bridges.pygents import AgentRegistry, HookRegistry, ToolRegistry


@pytest.fixture(autouse=True)
def nothing_known() -> None:  # pyright: ignore[reportUnusedFunction]
    HookRegistry.clear()
    ToolRegistry.clear()
    AgentRegistry.clear()
