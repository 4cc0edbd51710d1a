"""One upstream and one proxy for each file of tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.proxy.serving import Proxied, Upstream, proxied, upstream


@pytest.fixture(scope="module")
def origin() -> Iterator[Upstream]:
    with upstream() as served:
        yield served


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("proxy") / "quire.db"


@pytest.fixture(scope="module")
def proxy(store: Path, origin: Upstream) -> Iterator[Proxied]:
    names = ("openai", "anthropic", "gemini", "other")
    with proxied(store, upstreams=dict.fromkeys(names, origin.url)) as served:
        yield served
