"""A conversation that means harm is shown as text: nothing in it runs, is asked for, or moves the page."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from quire.inspector import app
from quire.stores import Store, place_at
from tests.inspector.browsing import NARROW, WIDE, Page, expect
from tests.inspector.serving import Served, serving
from tests.inspector.shop import NAMES, fill_hostile

VIEWS = ["transcript", "requests", "request", "compactions", "steps", "what-if", "faults"]
ADDRESS = str(place_at(scope=NAMES["scope"], conversation=NAMES["conversation"]))

HARM = """() => {
    const attributes = [...document.querySelectorAll("*")].flatMap(one => [...one.attributes])
    const urls = ["href", "src", "action", "xlink:href"]
    const elements = "body script, iframe, object, embed, base, style, body link, form, img"
    return {
        ran: window.ran ?? null,
        elements: document.querySelectorAll(elements).length,
        attributes: attributes.filter(one => one.name.startsWith("on")
            || (urls.includes(one.name) && /^\\s*[a-z]+:/i.test(one.value)))
            .map(one => one.value),
        "wider than the window": document.documentElement.scrollWidth > document.documentElement.clientWidth,
    }
}"""
NO_HARM: dict[str, Any] = {"ran": None, "elements": 0, "attributes": [], "wider than the window": False}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The store that means harm, with --write."""
    path: Path = tmp_path_factory.mktemp("hostile") / "<img src=x onerror=window.ran=1>.db"
    fill_hostile(path)
    with Store.open(path) as store, serving(app(store, write=True), str(path)) as served:
        yield served


def check_harmless(page: Page) -> None:
    """Wait until a view is shown, and check it in both widths."""
    expect(page.get_by_label("loading")).to_have_count(0)
    for width, height in (WIDE, NARROW):
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate(HARM) == NO_HARM


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_shows_it_as_text(page: Page, hostile: Served, view: str) -> None:
    page.goto(hostile.url(f"store/{quote(ADDRESS, safe='')}/{view}"))
    expect(page.get_by_role("heading", name="<img src=x onerror=window.ran=1>")).to_be_visible()
    check_harmless(page)
