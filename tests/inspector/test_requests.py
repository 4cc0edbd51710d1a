"""Requests in the inspector: the cache strip, the budget, the candidates, the difference, the exact bytes."""

import json
import re
from typing import Any

import pytest

from quire import Budget, Session, Template
from quire.sections import History, Instructions
from quire.stores import Store
from tests.inspector.browsing import Page, expect
from tests.inspector.serving import Served

PARCELS = "lamp-shop/parcels"


def rows_of(shop: Served, **query: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = shop.read("requests", address=PARCELS, **query).data["rows"]
    return found


def broken_by(shop: Served, name: str) -> dict[str, Any]:
    """The first request whose beginning broke for a cause."""
    return next(row for row in rows_of(shop) if row.get("cause") and row["cause"]["name"] == name)


def test_requests_are_listed_in_pages_with_what_caches_could_serve_and_did(shop: Served) -> None:
    rows = rows_of(shop)
    assert "predicted" not in rows[0] and rows[0]["reported"] == pytest.approx(0.5, abs=0.01)
    assert all(0 <= row["predicted"] <= 1 for row in rows[1:])
    assert [row["version"] for row in rows] == sorted(row["version"] for row in rows)
    causes = {row["cause"]["name"] for row in rows[1:] if "cause" in row}
    assert {"edit", "cut", "instructions"} <= causes
    pages = [rows_of(shop, limit=5, skip=skip) for skip in range(0, len(rows), 5)]
    assert [row["version"] for found in reversed(pages) for row in found] == [row["version"] for row in rows]


def test_equal_requests_that_follow_each_other_are_counted_one_by_one(own_shop: Served) -> None:
    with Store.open(own_shop.store) as store:
        session = Session.open("lamp-shop/again", store=store)
        session.user("Do you have lamps?")
        for _ in range(3):
            context = session.build(Template(Instructions("Hi."), History(), budget=Budget(window=4_000)))
            context.render("openai")
            context.sent("openai", parameters={"model": "gpt-5.6"})
    rows = own_shop.read("requests", address="lamp-shop/again").data["rows"]
    head = own_shop.read("conversation", address="lamp-shop/again").data
    assert head["counts"]["requests"] == len(rows) == 3
    assert head["marks"]["requests"] == [row["version"] for row in rows]
    assert [row["again"] for row in rows[1:]] == [0, 0]


def test_one_request_has_its_budget_every_candidate_and_the_difference(shop: Served) -> None:
    broken = broken_by(shop, "edit")
    data = shop.read("request", address=PARCELS, version=broken["version"]).data
    assert (data["reserve"], data["available"]) == (60, 540) and data["count_error"] is not None
    assert data["parameters"] is not None and "fault" not in data
    sizes = {**{row["section"]: row["tokens"] for row in data["sections"]}, **data["beside"]}
    assert list(sizes) == ["instructions", "history", "tool definitions"]
    assert 0 < sum(sizes.values()) <= data["tokens"]
    gone = [entry for entry in data["entries"] if entry["edit"]]
    assert gone and all(entry["rule"] == f"edit {entry['edit']}" for entry in gone)
    assert all(entry["fate"] and entry["reason"] for entry in data["entries"])
    assert data["before"]["first"]["path"].startswith("messages[") and data["again"] > 0


def test_the_bytes_are_those_that_were_sent_by_section_and_item(shop: Served) -> None:
    version = rows_of(shop)[-1]["version"]
    data = shop.read("request", address=PARCELS, version=version).data
    byte = data["before"]["first"]["byte"]
    found = shop.read("bytes", address=PARCELS, version=version, byte=byte, start=0).data
    text = shop.read("bytes", address=PARCELS, version=version, whole=1).data["text"]
    with Store.open(shop.store) as store:
        kept = next(one for one in Session.open(PARCELS, store=store).receipts if one.version == version)
        assert json.loads(text) == json.loads(json.dumps(kept.request()))
    raw = text.encode()
    assert found["bytes"] == len(raw) and found["total"] == len(found["rows"])
    for row in found["rows"]:
        sent = raw[row["start"] : row["start"] + row["size"]].decode()
        assert sent == row["text"] + (row["changed"] or "") and row["cut"] == [0, 0]
        json.loads(sent)
    (changed,) = [row for row in found["rows"] if row["changed"] is not None]
    assert changed["start"] + len(changed["text"].encode()) == byte
    sections = {item["section"] for row in found["rows"] for item in row["items"]}
    assert sections == {"instructions", "history"}
    assert [len(row["items"]) for row in found["rows"] if row["path"].startswith("tools")] == [0, 0]


def test_a_request_of_which_something_was_forgotten(own_shop: Served) -> None:
    with Store.open(own_shop.store) as store:
        session = Session.open(PARCELS, store=store)
        session.forget(session.view().recorded()[0].id)
    data = own_shop.read("request", address=PARCELS, version=rows_of(own_shop)[0]["version"]).data
    assert "forgotten" in data["fault"] and data["entries"] and data["sections"]
    assert own_shop.read("bytes", address=PARCELS, version=data["version"]).status == 410


def test_an_item_has_one_size_and_costs_add_up(shop: Served) -> None:
    rows = shop.read("transcript", address=PARCELS, flat=1).data["rows"]
    sizes = {row["item"]["id"]: row["item"]["tokens"] for row in rows}
    sent = shop.read("requests", address=PARCELS).data["rows"]
    entries = shop.read("request", address=PARCELS, version=sent[-1]["version"]).data["entries"]
    whole = [one for one in entries if one["rule"] == "in full" and one["item_id"] in sizes]
    assert whole and all(one["tokens"] == sizes[one["item_id"]] for one in whole)
    summaries = shop.read("compactions", address=PARCELS).data["rows"]
    costs = [row["cost"] for row in sent] + [row["attempt"].get("cost") or 0 for row in summaries]
    spent = shop.read("conversation", address=PARCELS).data["spending"]["cost"]
    assert sum(costs) == pytest.approx(spent)


def test_the_strip_names_breaks_and_leads_to_a_request(page: Page, shop: Served) -> None:
    broken = broken_by(shop, "instructions")
    page.goto(shop.url("store/lamp-shop%2Fparcels/requests"))
    page.get_by_role("link", name=re.compile(f"^Request {broken['version']} .*has changed")).click()
    expect(page.get_by_role("heading", name=f"Request {broken['version']}")).to_be_visible()
    difference = page.get_by_role("region", name="Since request")
    expect(difference).to_contain_text(f"{broken['again']:,} tokens written again")
    expect(difference).to_contain_text("First changed byte")
