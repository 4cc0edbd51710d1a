"""What tests share is closed with the last of them: the local model, and a server."""

from collections.abc import Iterator

import pytest

from tests.models.answerers import close_all


@pytest.fixture(scope="package", autouse=True)
def _closed() -> Iterator[None]:
    yield
    close_all()
