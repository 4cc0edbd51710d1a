"""Every test begins without a runtime of another."""

from collections.abc import Iterator

import pytest

from quire.bridges.a1 import Runtime


@pytest.fixture(autouse=True)
def runtime() -> Iterator[Runtime]:
    with Runtime() as runtime:
        yield runtime
