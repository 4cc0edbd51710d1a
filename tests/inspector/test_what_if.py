"""The same history under another budget, compactor, provider or model."""

from typing import Any

import pytest

from tests.inspector.browsing import Page, expect
from tests.inspector.serving import Served

PARCELS = "lamp-shop/parcels"


def tried(shop: Served, **query: Any) -> Any:
    answer = shop.read("what-if", address=PARCELS, **query)
    assert answer.status == 200, answer.text
    return answer.data


def test_a_smaller_budget_says_what_falls_out_and_why(shop: Served) -> None:
    found = tried(shop, window=350)
    now, then = found["tried"], found["present"]
    assert now["tokens"] <= now["available"] == 350 - now["reserve"] < then["tokens"]
    assert 0 < found["gone"]["tokens"] <= then["tokens"] - now["tokens"]  # the ledger is not counted
    assert len(found["gone"]["rows"]) == found["gone"]["items"] > 0
    assert all(row["reason"] and row["tokens"] for row in found["gone"]["rows"])
    assert sum(group["items"] for group in now["not_shown"]) > sum(one["items"] for one in then["not_shown"])


def test_another_model_is_counted_as_its_maker_counts_and_sent_on_its_wire(shop: Served) -> None:
    found = tried(shop, model="claude-sonnet-5", window=5_000)
    assert found["tried"]["provider"] == "anthropic" and found["largest"] == 1_000_000
    assert found["tried"]["beside"] != found["present"]["beside"]


def test_another_compactor_begins_with_the_log_without_its_edits(shop: Served) -> None:
    found = tried(shop, compactor="summarize", window=600)
    (history,) = [one for one in found["tried"]["sections"] if one["section"] == "history"]
    assert found["back"] >= 1 and history["left_out"] == 0
    assert {one["fate"] for one in found["tried"]["not_shown"]} == {"summarised"}


def test_what_cannot_fit_is_a_sentence(shop: Served) -> None:
    found = tried(shop, window=80)
    assert "tokens more than the 20 available" in found["tried"]["error"]
    wrong = {"reserve": "700", "provider": "nobody", "compactor": "magic", "window": "wide"}
    for name, value in wrong.items():
        answer = shop.read("what-if", **{"address": PARCELS, name: value})
        assert answer.status == 400 and answer.data["error"]


@pytest.mark.parametrize(
    ("model", "is_cached"), [("gpt-5.6", False), ("claude-sonnet-5", True), ("a-model-without-prices", True)]
)
def test_the_bill_replays_the_calls_so_far(shop: Served, model: str, is_cached: bool) -> None:
    found = shop.read("bill", address=PARCELS, window=5_000, model=model).data
    present, other = found["present"], found["tried"]
    requests = shop.read("requests", address=PARCELS).data["rows"]
    assert present["calls"] == other["calls"] == len(requests) and not other["refused"]
    assert present["cost"] > 0 and (other["cost"] is None) == (model == "a-model-without-prices")
    assert other["peak"] > present["peak"] and present["cached_share"] == 0  # too few tokens for a cache
    assert (other["cached_share"] > 0) == is_cached


def test_nothing_is_written(shop: Served) -> None:
    before = shop.read("conversation", address=PARCELS).data["version"]
    for compactor in tried(shop)["compactors"]:
        tried(shop, window=450, compactor=compactor)
        shop.read("bill", address=PARCELS, window=450, compactor=compactor)
    assert shop.read("conversation", address=PARCELS).data["version"] == before


def test_a_budget_is_tried_by_hand(shop: Served, page: Page) -> None:
    page.goto(shop.url("store/lamp-shop%2Fparcels"))
    page.get_by_role("link", name="What if").click()
    tried_now, falls_out = (page.get_by_role("region", name=name) for name in ("Tried", "What falls out"))
    expect(falls_out).to_have_count(0)
    page.get_by_label("tokens of the budget").fill("350")
    page.get_by_label("tokens of the budget").press("Enter")
    expect(tried_now.get_by_text("of 290 tokens for gpt-5.6")).to_be_visible()
    expect(falls_out.get_by_role("row")).not_to_have_count(0)
    page.get_by_label("Provider").select_option("anthropic")
    expect(page.get_by_role("region", name="Validator")).to_contain_text("the rules of anthropic")
    page.get_by_role("button", name="Reset").click()
    expect(tried_now.get_by_text("of 540 tokens for gpt-5.6")).to_be_visible()
