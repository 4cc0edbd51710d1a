"""A conversation as one file, which opens without a server and asks for nothing."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from quire.items import Message, ToolResult
from quire.session import Session
from quire.stores import Store
from tests.inspector.browsing import Page, expect
from tests.inspector.serving import Served

PARCELS = "store/lamp-shop%2Fparcels"
TABS = ["Transcript", "Requests", "Compactions", "Tools", "What if"]


def export(page: Page, served: Served, folder: Path, *, is_bare: bool = False) -> Path:
    """Save a conversation by clicking, and return the file."""
    page.goto(served.url(f"{PARCELS}/transcript"))
    page.get_by_role("button", name="Export").click()
    if is_bare:
        page.get_by_label("Without content").check()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save file").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    path = folder / saved.value.suggested_filename
    saved.value.save_as(path)
    return path


def words_in(shop: Served) -> Iterator[str]:
    """The words that were said in the conversation."""
    with Store.open(shop.store) as store:
        for item in Session.open("lamp-shop/parcels", store=store).view().recorded():
            if isinstance(item, Message | ToolResult):
                yield from re.findall(r"[\w-]{4,}", item.text)


def test_a_file_opens_by_itself(page: Page, shop: Served, tmp_path: Path) -> None:
    path = export(page, shop, tmp_path)
    assert path.name == "lamp-shop-parcels.html"
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    expect(page.get_by_role("heading", name="parcels")).to_be_visible()
    expect(page.get_by_text("export of 20")).to_be_visible()
    for tab in TABS:
        page.get_by_role("link", name=tab).click()
        expect(page.get_by_label("loading")).to_have_count(0)
        expect(page.get_by_role("alert")).to_have_count(0)
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []


def test_a_file_without_content_has_the_figures_and_no_word(page: Page, shop: Served, tmp_path: Path) -> None:
    path = export(page, shop, tmp_path, is_bare=True)
    found = re.search(r'id="snapshot">(.*?)</script>', path.read_text(), re.DOTALL)
    assert found is not None
    snapshot = json.dumps(json.loads(found[1]), ensure_ascii=False)
    words = set(words_in(shop)) - {"characters", "kept", "lamp", "left", "what"}  # of the page, and the scope
    assert {word for word in words if re.search(rf"\b{re.escape(word)}\b", snapshot)} == set()
    page.goto(path.as_uri())
    expect(page.get_by_text(re.compile(r"\[\d+ characters\]")).first).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
