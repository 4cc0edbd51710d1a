"""Time for the tests of bridges."""

import asyncio
from collections.abc import Callable

import pytest


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Move the clock of the event loop on by some seconds: a long timeout is over at once."""
    ahead: list[float] = []

    def move(seconds: float) -> None:
        loop = asyncio.get_running_loop()
        time = loop.time
        if not ahead:
            monkeypatch.setattr(loop, "time", lambda: time() + sum(ahead))
        ahead.append(seconds)

    return move
