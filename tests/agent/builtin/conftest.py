"""What the tests of the built-in tools share."""

import os
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

_IN_MEMORY = "/dev/shm"


@pytest.fixture
def quick_path() -> Generator[Path]:
    """A folder of one's own, in memory where there is one: thousands of writes that wait for no disk."""
    where = _IN_MEMORY if os.access(_IN_MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=where) as place:
        yield Path(place)
