"""A conversation that means harm is shown as text: nothing in it runs, is asked for, or moves the page."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from quire.inspector import app
from quire.stores import Store, place_at
from tests.inspector.browsing import NARROW, WIDE, Page, expect
from tests.inspector.serving import Served, serving
from tests.inspector.shop import HOSTILE, LARGE, NAMES, fill_hostile

VIEWS = ["transcript", "requests", "compactions", "steps", "what-if"]
REQUESTS = ["candidates", "bytes", "parameters"]
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


def test_every_view_and_every_part_of_a_request_shows_it_as_text(page: Page, hostile: Served) -> None:
    version = hostile.read("requests", address=ADDRESS).data["rows"][-1]["version"]
    page.goto(hostile.url())
    expect(page.get_by_role("list", name="open work")).to_contain_text("call uncertain")
    check_harmless(page)
    for view in [*VIEWS, *(f"request?version={version}&tab={tab}" for tab in REQUESTS)]:
        page.goto(hostile.url(f"store/{quote(ADDRESS, safe='')}/{view}"))
        expect(page.get_by_role("heading", level=1, name="<img src=x onerror=window.ran=1>")).to_be_visible()
        check_harmless(page)


def test_a_file_of_another_program_shows_it_as_text(page: Page) -> None:
    texts = [{"role": "user", "content": text} for text in HOSTILE.values()]
    call = {
        "id": NAMES["tool"],
        "type": "function",
        "function": {"name": "x", "arguments": HOSTILE["script"]},
    }
    messages = [
        {"role": "tool", "tool_call_id": NAMES["tool"], "content": HOSTILE["script"]},
        {"role": "assistant", "content": HOSTILE["link"], "tool_calls": [call]},
        *texts,
    ]
    with serving(app(files={f"{NAMES['agent']}.json": json.dumps(messages).encode()})) as served:
        page.goto(served.url())
        check_harmless(page)
        page.get_by_role("link").filter(has_text="svg onload").first.click()
        page.get_by_role("link", name="Faults").click()
        expect(page.get_by_text("window.ran=1").first).to_be_visible()
        check_harmless(page)


def test_texts_are_shown_as_they_are_and_what_cannot_be_seen_as_a_sign(page: Page, hostile: Served) -> None:
    page.goto(hostile.url(f"store/{quote(ADDRESS, safe='')}/transcript?flat=1"))
    expect(page.get_by_role("article").get_by_text("[click](javascript:window.ran=1)").first).to_be_visible()
    shown = page.locator("main").text_content() or ""
    for name in ("script", "attribute", "link", "frame", "comment", "style", "template"):
        assert HOSTILE[name] in shown
    assert "␛[31mred␛]8;;http://evil.example␇link⟨009B⟩2J" in shown
    assert "⟨202E⟩txt.exe" in shown and "שלום עולם مرحبا بالعالم" in shown
    assert not set(shown) & set("\x00\x07\x1b\x9b\u202e\u2066\u2028\u200b")


def test_a_large_item_is_read_piece_by_piece(page: Page, hostile: Served) -> None:
    page.goto(hostile.url(f"store/{quote(LARGE, safe='')}/transcript"))
    page.get_by_role("button", name="Show all 525,000 characters").click()
    page.get_by_role("button", name="Show 100,000 more").click()
    expect(page.get_by_role("button", name="Show 100,000 more")).to_be_visible()
    check_harmless(page)


def test_an_export_of_it_runs_nothing(page: Page, hostile: Served, tmp_path: Path) -> None:
    page.goto(hostile.url(f"store/{quote(ADDRESS, safe='')}/transcript"))
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save file").click()
    saved.value.save_as(tmp_path / "hostile.html")
    page.goto((tmp_path / "hostile.html").as_uri())
    expect(page.get_by_text("window.ran=1").first).to_be_visible()
    found = page.evaluate(HARM)
    assert {**found, "elements": 0} == NO_HARM and found["elements"] == 2  # its own script and style
