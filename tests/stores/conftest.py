"""A database of its own for each test that wants one: a store in it, a connection beside it, and a role."""

from collections.abc import Iterator
from random import Random
from typing import Any
from urllib.parse import urlsplit

import psycopg
import psycopg_pool.base
import pytest

from quire.stores import PostgresStore
from tests.stores.server import database

# Threads of a pool ask for chance when they like; while hypothesis draws, it takes that for the test's own.
setattr(psycopg_pool.base, "random", Random().random)  # noqa: B010


@pytest.fixture
def url() -> Iterator[str]:
    with database() as made:
        yield made


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    with PostgresStore(url) as opened:
        yield opened


@pytest.fixture
def direct(url: str) -> Iterator["psycopg.Connection[Any]"]:
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def limited(url: str, direct: "psycopg.Connection[Any]") -> Iterator[str]:
    """The address of the database for `worker`, a role that may do nothing yet."""
    direct.execute("CREATE ROLE worker LOGIN")
    yield url.replace(f"{urlsplit(url).username}:@", "worker:@")
    direct.execute("DROP OWNED BY worker")
    direct.execute("DROP ROLE worker")
