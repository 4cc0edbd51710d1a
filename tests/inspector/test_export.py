"""A conversation as one file, which opens without a server and asks for nothing."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from quire.inspector import app
from quire.items import Message, ToolResult
from quire.session import Session
from quire.stores import Store
from tests.inspector.browsing import Page, expect
from tests.inspector.serving import Served, serving

PARCELS = "store/lamp-shop%2Fparcels"
TABS = ["Transcript", "Requests", "Compactions", "Tools", "What if"]


def export(
    page: Page, served: Served, folder: Path, *, view: str = f"{PARCELS}/transcript", is_bare: bool = False
) -> Path:
    """Save a conversation by clicking, and return the file."""
    page.goto(served.url(view))
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


def test_a_file_opens_by_itself_and_what_needs_the_server_is_off_and_says_why(
    page: Page, shop: Served, tmp_path: Path
) -> None:
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
    page.get_by_role("link", name="Transcript").click()
    slider = page.get_by_role("slider", name="time slider")
    expect(slider).to_be_disabled()
    expect(slider).to_have_attribute("title", re.compile("export"))
    page.keyboard.press("ArrowLeft")
    page.get_by_role("link", name="Requests").click()
    page.get_by_role("table", name="requests").get_by_role("link").first.click()
    page.get_by_role("button", name="Bytes").click()
    expect(page.get_by_role("button", name="Copy all")).to_be_disabled()
    expect(page.get_by_role("alert")).to_have_count(0)
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []


def snapshot_in(path: Path) -> str:
    """What a file has of the conversation, as JSON."""
    found = re.search(r'id="snapshot">(.*?)</script>', path.read_text(), re.DOTALL)
    assert found is not None
    return json.dumps(json.loads(found[1]), ensure_ascii=False)


def test_a_file_without_content_has_the_figures_and_no_word_of_it(
    page: Page, shop: Served, tmp_path: Path
) -> None:
    path = export(page, shop, tmp_path, is_bare=True)
    assert path.name == "conversation.html"
    snapshot = snapshot_in(path)
    words = set(words_in(shop)) - {"characters", "kept", "left", "summary", "what"}  # of the page
    assert {word for word in words if re.search(rf"\b{re.escape(word)}\b", snapshot)} == set()
    assert not re.search("lamp-shop|parcels|angry", snapshot)
    page.goto(path.as_uri())
    expect(page.get_by_role("heading", name="conversation 1")).to_be_visible()
    expect(page.get_by_role("link", name="branch 1", exact=True)).to_be_visible()
    expect(page.get_by_text(re.compile(r"\[\d+ characters\]")).first).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
    rows = shop.read("requests", address="lamp-shop/parcels").data["rows"]
    version = next(row["version"] for row in rows if "summarised" in str(row.get("cause")))
    sent = shop.read("request", address="lamp-shop/parcels", version=version).data
    page.get_by_role("link", name="Requests").click()
    table = page.get_by_role("table", name="requests")
    expect(table).to_contain_text(f"{sent['tokens']:,} / 540")
    table.get_by_role("link", name=f"{version} “").click()
    expect(page.get_by_role("region", name="Since request")).to_contain_text("an item was summarised")
    expect(page.get_by_role("table", name="candidates")).to_contain_text("a summary is shown in its place")
    expect(page.get_by_role("region", name="Budget")).not_to_contain_text("characters]")


def test_a_file_without_content_names_no_file(page: Page, tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]
    history = json.dumps({"model": "gpt-5.6", "messages": messages}).encode()
    given = {"payroll-of-ana.json": history, "letters.json": b"{"}
    with serving(app(files=given)) as served:
        path = export(page, served, tmp_path, view="file-1/file%2Fpayroll-of-ana.json", is_bare=True)
    assert not re.search("payroll|letters", path.name + snapshot_in(path))
    page.goto(path.as_uri())
    page.get_by_role("link", name="Faults").click()
    expect(page.get_by_text("No fault")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
