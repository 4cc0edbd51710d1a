"""A shop to look at, served read-only or to be changed, and a browser in which nothing may go wrong."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from quire.inspector import app
from quire.stores import Store
from tests.inspector.serving import Served, serving
from tests.inspector.shop import fill_shop

if TYPE_CHECKING:  # tests without a browser run where Playwright is not installed
    from tests.inspector.browsing import Browser, BrowserContext, Page


@pytest.fixture(scope="session")
def shop_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of the shop, as a file."""
    path = tmp_path_factory.mktemp("inspector") / "shop.db"
    fill_shop(path)
    return path


@pytest.fixture(scope="package")
def shop(shop_file: Path) -> Iterator[Served]:
    """The shop, read-only, for all tests."""
    with Store.open(shop_file) as store, serving(app(store), str(shop_file)) as served:
        yield served


@pytest.fixture
def own_shop(shop_file: Path, tmp_path: Path) -> Iterator[Served]:
    """A copy of the shop that the test may change, here and on the page."""
    path = tmp_path / "shop.db"
    shutil.copy(shop_file, path)
    with Store.open(path) as store, serving(app(store, write=True), str(path)) as served:
        yield served


@pytest.fixture(scope="package")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """The browser of all tests: where they run in several processes, only one of these may open it."""
    from tests.inspector.browsing import browsing

    if "PYTEST_XDIST_WORKER" in os.environ:
        (tmp_path_factory.getbasetemp().parent / "browser").touch(exist_ok=False)
    with browsing() as browser:
        yield browser


FAULTS: list[str] = []


@pytest.fixture
def faults() -> list[str]:
    """What went wrong in the page; a test that expects something takes it out."""
    FAULTS.clear()
    return FAULTS


@pytest.fixture(scope="package")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A window of 1,280 pixels."""
    from tests.inspector.browsing import watch

    with browser.new_context(viewport={"width": 1280, "height": 800}, color_scheme="light") as context:
        context.set_default_timeout(60_000)
        watch(context, FAULTS)
        yield context


@pytest.fixture
def page(context: BrowserContext, faults: list[str]) -> Iterator[Page]:
    """A page in that window. The test fails if it raises, asks other hosts or breaks a rule."""
    page = context.new_page()
    yield page
    page.close()
    assert faults == []
