"""Hooks are known in the whole process: each test begins with none."""

import pytest

from quire.bridges.pygents import HookRegistry


@pytest.fixture(autouse=True)
def no_hooks() -> None:  # pyright: ignore[reportUnusedFunction]
    HookRegistry.clear()
