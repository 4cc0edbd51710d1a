"""A runtime for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from quire.bridges.a1 import Runtime


@pytest.fixture(autouse=True)
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runtime]:
    """Run each test in a runtime and a folder of its own."""
    monkeypatch.chdir(tmp_path)
    with Runtime() as runtime:
        yield runtime
