"""A conversation on the page: edits in place, the time slider, branches, and two versions side by side."""

import re
from typing import Any

from quire.inspector import app
from quire.items import Message
from quire.session import Session
from quire.stores import MemoryStore
from tests.inspector.browsing import Page, expect
from tests.inspector.serving import Served, serving
from tests.inspector.shop import SUMMARY

PARCELS, ANGRY = "lamp-shop/parcels", "lamp-shop/parcels%2Fangry"


def open_parcels(page: Page, served: Served, query: str = "") -> None:
    page.goto(served.url(f"store/lamp-shop%2Fparcels/transcript{query}"))
    expect(page.get_by_role("region", name="Transcript")).to_be_visible()


def test_the_head_has_figures_marks_and_branches(shop: Served) -> None:
    head = shop.read("conversation", address=PARCELS).data
    assert head["counts"]["requests"] == 13 and head["spending"]["tokens"]
    marks = {sort: len(versions) for sort, versions in head["marks"].items()}
    assert marks == {"users": 9, "edits": 6, "requests": 13}
    parcels, angry = head["branches"]
    assert parcels["place"] == PARCELS and angry["place"] == ANGRY and angry["parent"] == "parcels"
    before = shop.read("transcript", address=PARCELS, at=angry["version"]).data
    assert before["rows"][-1]["version"] == angry["version"]
    measured = shop.read("tokens", address=PARCELS, at=10).data
    assert measured["shown"] == measured["recorded"] and measured["tokens"]


def test_a_transcript_has_its_edits_in_place(shop: Served) -> None:
    rows = shop.read("transcript", address=PARCELS).data["rows"]
    summary, fold = rows[0], rows[1]
    assert summary["sort"] == "summary" and summary["item"]["text"] == SUMMARY
    assert fold["sort"] == "fold" and fold["state"] == "summarised" and fold["by"] == summary["item"]["id"]
    assert fold["count"] == summary["count"]
    kinds = {row["item"]["kind"]: row for row in reversed(rows[2:]) if "item" in row}
    assert kinds["summary"]["undo"] == kinds["undo"]["item"]["id"] and kinds["undo"]["of"] == "summary"
    asked: Any = {"flat": 1, "start": fold["position"], "limit": fold["count"]}
    sources = shop.read("transcript", address=PARCELS, **asked).data["rows"]
    assert sources[0]["item"]["text"] == "Where is order 4711?"
    assert {row["state"] for row in sources} <= {"summarised", "edit"}
    before = shop.read("transcript", address=PARCELS, at=summary["version"] - 1).data["rows"]
    masked = next(row for row in before if row["state"] == "masked")
    assert "kept as" in masked["stub"]["text"] and "Erfurt" in masked["item"]["text"]


def test_each_item_says_whether_a_request_showed_it(shop: Served) -> None:
    def seen(**asked: Any) -> dict[str, bool | None]:
        page = shop.read("transcript", address=PARCELS, flat=1, **asked).data
        return {row["item"]["text"]: row.get("seen") for row in page["rows"]} | {"": page["request"]}

    assert set(seen().values()) == {None}
    last, first = seen(request="last"), seen(request=seen(request="last", at=9)[""])
    assert last["Where is order 4711?"] is False and last["And what of my return?"]
    assert first["Where is order 4711?"] and first["And what of my return?"] is None
    why = shop.read("words", words="order 4711?", within="lamp-shop/").data[0]
    assert (why["is_seen"], why["entry"]["fate"]) == (False, "left out")
    assert 0 < why["seen_in"] < why["requests"] and why["last"]["version"] < why["since"]["version"]
    rows = shop.read("requests", address=PARCELS).data["rows"]
    assert rows[0]["question"] == "Where is order 4711?"
    assert sum(row.get("again_cost") or 0 for row in rows) < sum(row["cost"] for row in rows)


def test_a_page_is_the_end_a_place_or_around_an_item(shop: Served) -> None:
    def page(**asked: Any) -> list[int]:
        return [
            row["position"] for row in shop.read("transcript", address=PARCELS, flat=1, **asked).data["rows"]
        ]

    everything = page()
    assert page(limit=3) == everything[-3:] and page(start=4, limit=2) == everything[4:6]
    rows = shop.read("transcript", address=PARCELS, flat=1).data["rows"]
    around = shop.read("transcript", address=PARCELS, flat=1, limit=4, item=rows[9]["item"]["id"]).data
    assert around["item"] == 9 and 9 in [row["position"] for row in around["rows"]]
    folded = shop.read("transcript", address=PARCELS, limit=1, item=rows[2]["item"]["id"]).data
    assert folded["rows"][0]["sort"] == "fold"


def test_two_versions_or_branches_are_aligned(shop: Served) -> None:
    before = shop.read("compare", address=PARCELS, at=40, other_at=58).data
    changed = [row for row in before["rows"] if row["state"] == "changed"]
    assert changed and all(row["left"]["id"] == row["right"]["id"] for row in changed)
    assert "Erfurt" in changed[0]["left"]["text"] and "kept as" in changed[0]["right"]["text"]
    branches = shop.read("compare", address=ANGRY, other=PARCELS, other_at=40).data
    assert branches["rows"][0]["state"] == "same" and branches["rows"][0]["count"] == 6
    texts = [row.get("left", {}).get("text") for row in branches["rows"] if row["state"] == "apart"]
    assert "This is too late!" in texts
    same = shop.read("compare", address=PARCELS, other=PARCELS).data
    assert same["differences"] == 0


def test_a_summary_is_undone_and_applied_again_on_the_page(own_shop: Served, page: Page) -> None:
    open_parcels(page, own_shop)
    question = page.get_by_role("article").get_by_text("Where is order 4711?")
    expect(page.get_by_text(SUMMARY)).to_be_visible()
    expect(question).to_have_count(0)
    page.get_by_role("button", name="22 items summarised").click()
    expect(question).to_be_visible()
    page.get_by_role("button", name="Undo summary").click()
    expect(page.get_by_text("Stands for")).to_have_count(0)
    expect(question).to_be_visible()
    page.get_by_role("button", name="Redo summary").last.click()
    expect(page.get_by_text("Stands for 22 items.")).to_be_visible()


def test_from_a_word_to_the_reason_in_two_clicks(shop: Served, page: Page) -> None:
    page.goto(shop.url())
    page.get_by_role("searchbox").fill("order 4711?")
    page.keyboard.press("Enter")
    page.get_by_role("list", name="items").get_by_role("link").first.click()
    page.locator(".is-found").get_by_role("button", name="not seen").click()
    reason = page.get_by_role("note", name="why")
    expect(reason).to_contain_text("it is before the cut of 'history'")
    expect(reason).to_contain_text("not since request")


def test_the_slider_shows_any_version_by_keys_and_by_marks(shop: Served, page: Page) -> None:
    open_parcels(page, shop)
    page.get_by_label("version", exact=True).fill("4")
    page.keyboard.press("Enter")
    expect(page.get_by_role("article").get_by_text("Where is order 4711?")).to_be_visible()
    expect(page.get_by_text("Order 4711 comes tomorrow.")).to_have_count(0)
    page.get_by_role("button", name="next mark").click()
    slider = page.get_by_role("slider", name="time slider")
    expect(slider).not_to_have_value("4")
    at = int(slider.input_value())
    assert at > 4
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(slider).to_have_value(str(at + 1))
    page.get_by_role("button", name="Back to now").click()
    expect(page.get_by_text(SUMMARY)).to_be_visible()


def test_a_branch_is_begun_at_a_version_and_found_in_the_tree(
    own_shop: Served, page: Page, faults: list[str]
) -> None:
    open_parcels(page, own_shop, "?at=10")
    page.get_by_role("button", name="Branch here").click()
    page.get_by_label("name of the branch").fill("angry")
    page.get_by_role("button", name="Create branch").click()
    expect(page.get_by_role("alert")).to_contain_text("already")
    faults.clear()  # the browser tells of the refusal, too
    page.get_by_label("name of the branch").fill("calm")
    page.get_by_role("button", name="Create branch").click()
    expect(page.get_by_role("heading", name="parcels/calm")).to_be_visible()
    tree = page.get_by_role("region", name="Branches")
    expect(tree.get_by_role("listitem")).to_have_count(3)
    expect(tree.get_by_text("calm", exact=True)).to_have_attribute("aria-current", "page")
    tree.get_by_text("angry", exact=True).click()
    expect(page.get_by_role("article").get_by_text("This is too late!")).to_be_visible()
    earlier = page.get_by_role("article").filter(has_text="Order 4711 comes tomorrow.")
    expect(earlier).to_have_text(re.compile(r"seen\s*11 tokens"))  # the branch has no version of it


def test_a_long_transcript_is_read_as_one_scrolls(page: Page) -> None:
    store = MemoryStore()
    said = [Message("user", f"line {number}") for number in range(1_000)]
    Session.open("ana/long", store=store).append(*said)
    with serving(app(store)) as served:
        page.goto(served.url("store/ana%2Flong/transcript"))
        expect(page.get_by_text("line 999")).to_be_in_viewport()
        expect(page.get_by_text("800 earlier rows")).to_be_attached()
        for earlier in (800, 700, 600):
            page.get_by_role("button", name=f"{earlier} earlier rows").scroll_into_view_if_needed()
        expect(page.get_by_text("500 earlier rows")).to_be_attached()
        expect(page.get_by_text("300 later rows")).to_be_attached()
        assert page.locator(".talk-line").count() <= 200
        page.get_by_role("slider", name="time slider").fill("40")
        expect(page.get_by_text("line 39", exact=True)).to_be_in_viewport()
        expect(page.get_by_text("line 40", exact=True)).to_have_count(0)
        page.goto("about:blank")
