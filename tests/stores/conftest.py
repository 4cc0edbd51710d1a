"""A database of its own for each test that wants one, and a connection to it beside the store."""

from collections.abc import Iterator
from random import Random
from typing import Any

import psycopg
import psycopg_pool.base
import pytest

from tests.stores.server import database

# Threads of a pool ask for chance when they like; while hypothesis draws, it takes that for the test's own.
setattr(psycopg_pool.base, "random", Random().random)  # noqa: B010


@pytest.fixture
def url() -> Iterator[str]:
    with database() as made:
        yield made


@pytest.fixture
def direct(url: str) -> Iterator["psycopg.Connection[Any]"]:
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection
