"""A database of its own for each test that wants one, and a connection to it beside the store."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.stores.server import database


@pytest.fixture
def url() -> Iterator[str]:
    with database() as made:
        yield made


@pytest.fixture
def direct(url: str) -> Iterator["psycopg.Connection[Any]"]:
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection
