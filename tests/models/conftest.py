"""The local model that tests share is closed with the last of them."""

from collections.abc import Iterator

import pytest

from tests.models.answerers import close_local


@pytest.fixture(scope="package", autouse=True)
def _closed_local() -> Iterator[None]:
    yield
    close_local()
