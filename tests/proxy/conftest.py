"""One upstream and one proxy for all tests that do not need their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.proxy.serving import Proxied, Upstream, proxied, upstream


@pytest.fixture(scope="session")
def origin() -> Iterator[Upstream]:
    with upstream() as served:
        yield served


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("proxy") / "quire.db"


@pytest.fixture(scope="session")
def proxy(store: Path, origin: Upstream) -> Iterator[Proxied]:
    upstreams = dict.fromkeys(("openai", "anthropic", "gemini", "other"), origin.url)
    with proxied(store, upstreams=upstreams | {"absent": "http://127.0.0.1:1"}) as served:
        yield served
