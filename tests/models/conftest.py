"""What tests share is closed with the last of them: the local model, and servers."""

from collections.abc import Iterator

import pytest

from tests.clients.scenes import Stage, stage
from tests.models.answerers import close_all


@pytest.fixture(scope="module")
def server() -> Iterator[Stage]:
    with stage() as open_stage:
        yield open_stage


@pytest.fixture(scope="package", autouse=True)
def _closed() -> Iterator[None]:
    yield
    close_all()
