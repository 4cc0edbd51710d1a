"""The server that plays scenes, one for each file of tests."""

from collections.abc import Iterator

import pytest

from tests.clients.scenes import Stage, stage


@pytest.fixture(scope="module")
def server() -> Iterator[Stage]:
    with stage() as open_stage:
        yield open_stage
