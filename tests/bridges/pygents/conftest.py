"""Registries are per process: each test begins with empty ones."""

import pytest

from quire.bridges.pygents import AgentRegistry, HookRegistry, ToolRegistry


@pytest.fixture(autouse=True)
def empty_registries() -> None:  # pyright: ignore[reportUnusedFunction]
    HookRegistry.clear()
    ToolRegistry.clear()
    AgentRegistry.clear()
