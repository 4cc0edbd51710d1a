"""The list of conversations: what it says of each, how it is narrowed, what is found in it, what is live."""

import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from quire import Session
from quire.inspector import app
from quire.items import use_clock
from quire.stores import Store
from tests.inspector.browsing import Locator, Page, expect
from tests.inspector.serving import Served, serving

PARCELS, BRANCH = "lamp-shop/parcels", "lamp-shop/parcels%2Fangry"


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """120 conversations, some of two scopes and some without one; talk-119 is the latest."""
    path = tmp_path_factory.mktemp("crowd") / "crowd.db"
    ticks = count(1_700_000_000)
    with Store.open(path) as store:
        for number in range(120):
            with use_clock(lambda: float(next(ticks))):
                scope = ("", "north", "south")[number % 3]
                session = Session.open(scope=scope, conversation=f"talk-{number}", store=store)
                session.user(f"What is {number}?")
        with serving(app(store), str(path)) as served:
            yield served


def rows_of(served: Served, **query: Any) -> dict[str, Any]:
    return {row["address"]: row for row in served.read("conversations", **query).data["rows"]}


def test_each_conversation_tells_how_far_it_came_and_what_it_cost(shop: Served) -> None:
    rows = rows_of(shop)
    assert list(rows) == ["ana/diary", "lamp-shop/crash", "lamp-shop/refund", BRANCH, PARCELS]
    parcels = rows[PARCELS]
    with Store.open(shop.store) as store:
        session = Session.open(PARCELS, store=store)
        assert parcels["items"] == len(session.view())
        spent = session.spending
    assert (parcels["tokens"], parcels["cost"], parcels["unpriced"]) == (
        spent.tokens,
        spent.cost,
        spent.unpriced,
    )
    assert parcels["tokens"] and parcels["cost"]
    assert rows[BRANCH]["parent"] == PARCELS and parcels["parent"] is None
    assert rows["ana/diary"]["title"] == "Dear diary, the safe opens with 8-15-47."
    calls = {address: row["open_calls"] for address, row in rows.items() if row["open_calls"]}
    assert calls == {"lamp-shop/refund": 1, "lamp-shop/crash": 1}
    assert all(row["at"] for row in rows.values())


@pytest.mark.parametrize(
    ("query", "length", "first"),
    [
        ({}, 120, "south/talk-119"),
        ({"within": "north/"}, 40, "north/talk-118"),
        ({"within": "/"}, 40, "/talk-117"),
        ({"named": "TALK-11"}, 11, "south/talk-119"),
        ({"named": "north"}, 40, "north/talk-118"),
        ({"named": "talk-11", "within": "north/"}, 3, "north/talk-118"),
        ({"named": "nobody"}, 0, None),
    ],
)
def test_the_list_is_narrowed_by_scope_and_name_and_paged(
    crowd: Served, query: dict[str, Any], length: int, first: str | None
) -> None:
    page = crowd.read("conversations", **query).data
    assert (page["length"], next(iter(row["address"] for row in page["rows"]), None)) == (length, first)
    assert [one["scope"] for one in page["scopes"]] == ["", "north", "south"]
    assert page["count"] == {"scopes": 3, "conversations": 120}


def test_pages_have_each_conversation_once_though_one_is_active_meanwhile(own_shop: Served) -> None:
    first = own_shop.read("conversations", limit=2).data
    with Store.open(own_shop.store) as store:
        Session.open("lamp-shop/refund", store=store).user("And now?")
    second = own_shop.read("conversations", limit=9, after=first["next"]).data
    rows = [row["address"] for page in (first, second) for row in page["rows"]]
    assert rows == ["ana/diary", "lamp-shop/crash", BRANCH, PARCELS] and second["next"] is None
    assert own_shop.read("conversations", after="x").status == 400


def test_conversations_without_a_scope_are_searched_together(crowd: Served) -> None:
    found = crowd.read("search", question="What is 117?", within="/").data["found"]
    assert "/talk-117" in [one["address"] for one in found]
    assert {one["address"].partition("/")[0] for one in found} == {""}


def test_what_cannot_be_read_is_said_and_hides_no_other(tmp_path: Path) -> None:
    pytest.importorskip("cryptography", reason="needs the extra quire[sealed]")
    path = tmp_path / "chats.db"
    with Store.open(path, key=bytes(32)) as store:
        Session.open("ana/sealed", store=store).user("Hello")
    with Store.open(path) as store:
        Session.open("ana/open", store=store).user("Hello")
        Session.open("ana/~knowledge", store=store).user("kept for documents")
        with serving(app(store)) as served:
            rows = rows_of(served)
    assert list(rows) == ["ana/open", "ana/sealed"]
    assert "sealed: open its store with its key" in rows["ana/sealed"]["fault"]
    assert "fault" not in rows["ana/open"]


def names(page: Page) -> Locator:
    return page.get_by_role("list", name="conversations").get_by_role("link")


def test_a_dialog_has_the_keys_of_the_page_until_it_is_closed(shop: Served, page: Page) -> None:
    page.goto(shop.url("store/lamp-shop%2Fparcels/transcript"))
    page.get_by_role("button", name="Export").click()
    expect(page.get_by_role("dialog").locator(":focus")).to_have_count(1)
    page.keyboard.press("2")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("button", name="Export")).to_be_focused()
    expect(page).to_have_url(f"{shop.origin}/#/store/lamp-shop%2Fparcels/transcript")
    page.keyboard.press("2")
    expect(page).to_have_url(f"{shop.origin}/#/store/lamp-shop%2Fparcels/requests")
    page.get_by_role("table", name="requests").get_by_role("link").first.click()
    expect(page).to_have_url(re.compile("/request[?]version="))
    page.keyboard.press("Escape")
    expect(page).to_have_url(f"{shop.origin}/#/store/lamp-shop%2Fparcels/requests")
    page.keyboard.press("Escape")
    expect(page).to_have_url(f"{shop.origin}/#/store")


def test_typing_narrows_the_list_and_pages_follow(crowd: Served, page: Page) -> None:
    page.goto(crowd.url())
    expect(names(page)).to_have_count(50)
    page.get_by_role("button", name="Older").click()
    expect(page.get_by_text(re.compile("51.100 of 120"))).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("talk-11")
    expect(names(page)).to_have_count(11)
    page.get_by_label("scope").select_option("north (40)")
    expect(names(page)).to_have_count(3)
    page.reload()  # the address of the page holds what was asked
    expect(names(page)).to_have_count(3)


def test_a_change_elsewhere_appears_and_is_marked_as_live(own_shop: Served, page: Page) -> None:
    page.goto(own_shop.url())
    expect(names(page)).to_have_count(5)
    with Store.open(own_shop.store) as store:
        Session.open("ana/new", store=store).user("Is anybody here?")
    expect(names(page).nth(0)).to_contain_text("Is anybody here?")
    expect(names(page).nth(0).get_by_role("img", name="live")).to_be_visible()
    with Store.open(own_shop.store) as store:
        Session.open(PARCELS, store=store).user("And now?")
    expect(names(page).nth(0)).to_contain_text("parcels")
