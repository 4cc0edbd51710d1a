"""Compactions: what each took, saved and cost, those that were not kept, and one tried beforehand."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from quire import Session
from quire.compactors import Summarize
from quire.models import Scripted
from quire.stores import Store
from tests.inspector.serving import Served
from tests.inspector.shop import SUMMARY
from tests.service.serving import PATIENCE, Gate

PARCELS = "lamp-shop/parcels"


def listed(served: Served, address: str = PARCELS) -> list[Any]:
    rows: list[Any] = served.read("compactions", address=address).data["rows"]
    return rows


def test_each_compaction_says_what_it_took_saved_and_cost(shop: Served) -> None:
    rows = [row for row in listed(shop) if row["attempt"]["fate"] == "kept"]
    assert [row["kinds"] for row in rows] == [{"summary": 1}, {"summary": 1}, {"mask": 3}]
    assert [row["edits"][0]["state"] for row in rows] == ["in force", "undone", "in force"]
    assert all(row["attempt"]["before"] > row["attempt"]["after"] > 0 for row in rows)
    summary, undone, offload = rows
    assert summary["edits"][0]["text"] == SUMMARY and summary["attempt"]["by"] == "summarize"
    assert summary["attempt"]["usage"]["input"] > 0 and summary["attempt"]["cost"] > 0
    assert offload["attempt"]["by"] == "offload" and "model" not in offload["attempt"]
    assert undone["edits"][0]["undo"], "the undo, which can be undone"


def test_a_summary_stands_beside_its_sources_page_by_page(shop: Served) -> None:
    edit = next(row for row in listed(shop) if row["kinds"] == {"summary": 1})["edits"][0]
    whole = shop.read("sources", address=PARCELS, id=edit["id"]).data
    assert whole["length"] == edit["sources"] == len(whole["rows"])
    assert whole["rows"][0]["text"] == "Where is order 4711?" and whole["rows"][0]["tokens"]
    part = shop.read("sources", address=PARCELS, id=edit["id"], start=2).data
    assert part["rows"] == whole["rows"][2:]
    assert shop.read("sources", address=PARCELS, id=whole["rows"][0]["id"]).status == 404


def test_those_that_failed_or_were_discarded_are_listed_with_the_reason(shop: Served) -> None:
    missed = [row for row in listed(shop) if row["attempt"]["fate"] != "kept"]
    assert all(row["edits"] == [] for row in missed)
    *_, discarded, failed = (row["attempt"] for row in missed)
    assert (failed["fate"], failed["reason"]) == ("failed", "the model is overloaded")
    assert discarded["fate"] == "discarded" and "longer" in discarded["reason"]
    assert discarded["cost"] > 0, "it was paid for"


@pytest.mark.parametrize("by", ["default", "cut-to-25", "clear-in-batches", "summarize"])
def test_a_preview_writes_nothing(own_shop: Served, by: str) -> None:
    def version() -> int:
        found: int = own_shop.read("conversation", address=PARCELS).data["version"]
        return found

    before = version()
    plan = own_shop.read("preview", address=PARCELS, by=by, tokens=60).data["plan"]
    assert version() == before
    assert plan["before"] > plan["after"] and plan["count"] == len(plan["rows"]) > 0
    assert (plan["request"] is not None) == (by == "summarize")
    assert by != "summarize" or plan["request"]["cost"] > 0


def test_what_needs_no_model_can_be_run(own_shop: Served) -> None:
    before = len(listed(own_shop))
    assert own_shop.write("compact", address=PARCELS, by="default", tokens=60).data["fate"] == "kept"
    assert listed(own_shop)[0]["attempt"]["by"] == "truncate-oldest" and len(listed(own_shop)) == before + 1
    assert own_shop.write("compact", address=PARCELS, by="default", tokens=9_000).data["fate"] is None
    for wrong in ({"by": "summarize"}, {"by": "none"}, {"by": "default", "tokens": "x"}):
        assert own_shop.write("compact", address=PARCELS, **wrong).status == 400
    assert len(listed(own_shop)) == before + 1


def test_a_compaction_that_runs_elsewhere_is_listed_from_its_begin_to_its_end(own_shop: Served) -> None:
    gate = Gate(answer=lambda _: "Lamps.")
    with Store.open(own_shop.store) as store, ThreadPoolExecutor(1) as thread:
        session = Session.open(PARCELS, store=store)
        session.undo()
        session.compaction.use(Summarize(unit="tokens"), Scripted(gate))
        running = thread.submit(session.compaction.run)
        assert gate.asked.wait(PATIENCE)
        now = listed(own_shop)[0]
        gate.is_open.set()
        assert now["attempt"].get("fate") is None and not now["edits"]
        assert running.result()
    row = listed(own_shop)[0]
    assert row["attempt"]["fate"] == "kept" and row["edits"][0]["text"].startswith("Lamps.")
