"""Tools and steps: calls with their timing, what a person decides here, and what is uncertain."""

from typing import Any

import pytest

from quire import Agent, Session, tool
from quire.items import use_clock
from quire.models import Scripted
from quire.stores import Store
from tests.inspector.serving import Served
from tests.inspector.shop import refund
from tests.session.opened import called

REFUND, CRASH, PARCELS = "lamp-shop/refund", "lamp-shop/crash", "lamp-shop/parcels"


def listed(served: Served, address: str = REFUND, **query: Any) -> Any:
    return served.read("steps", address=address, **query).data


def resume(served: Served) -> str:
    """The reply of an agent that was told nothing else."""
    with Store.open(served.store) as store:
        session = Session.open(REFUND, store=store)
        return Agent(session, model=Scripted(["Done."]), tools=[refund]).resume_sync().text


def test_calls_have_results_timing_and_figures_of_each_tool(shop: Served) -> None:
    data = listed(shop, PARCELS)
    assert [row["status"] for row in data["rows"]] == ["done"] * 4 and data["open"] == []
    newest = data["rows"][0]
    assert newest["call"]["text"] == '{"order": "4714"}' and "order 4714" in newest["result"]["text"]
    assert newest["begun_at"] > newest["call"]["at"] and newest["seconds"] > 0
    (tool,) = data["tools"]
    assert (tool["name"], tool["calls"], tool["failed"], tool["uncertain"]) == ("track_parcel", 4, 0, 0)
    assert tool["median"] > 0 and tool["tokens"] == sum(row["tokens"] for row in data["rows"])
    page = listed(shop, PARCELS, start=1, limit=2)
    assert (page["length"], page["rows"]) == (4, data["rows"][1:3])


def test_a_call_whose_process_is_gone_is_uncertain(shop: Served) -> None:
    (step,) = listed(shop, CRASH)["open"]
    assert step["status"] == "uncertain" and step["begun_at"] and step["result"] is None


@pytest.mark.parametrize(("idempotent", "status", "took"), [(True, "done", 0.0), (False, "uncertain", None)])
def test_the_time_of_a_call_is_that_of_its_last_run(
    own_shop: Served, idempotent: bool, status: str, took: float | None
) -> None:
    at, address = 1_790_000_000.0, f"lamp-shop/{status}"
    with Store.open(own_shop.store) as store, use_clock(lambda: at):
        session = Session.open(address, store=store)
        session.user("Where is it?")
        session.calls.begin(called(session, "look"))
        at += 7_200  # the process was gone
        look = tool(lambda: "here", name="look", idempotent=idempotent)
        Agent(session, model=Scripted(["Here."]), tools=[look]).resume_sync()
    (step,) = listed(own_shop, address)["rows"]
    assert (step["status"], step["seconds"]) == (status, took)


@pytest.mark.parametrize(
    ("verdict", "status", "told"),
    [(True, "approved", "R-2049 is paid"), ("not this one", "failed", "This was not run: not this one.")],
)
def test_a_decision_is_acted_on_by_the_next_turn(
    own_shop: Served, verdict: bool | str, status: str, told: str
) -> None:
    (waiting,) = listed(own_shop)["open"]
    assert waiting["status"] == "waiting"
    call = waiting["call"]["id"]
    assert own_shop.write("decide", address=REFUND, id=call, verdict=verdict).status == 200
    assert listed(own_shop)["rows"][0]["status"] == status
    assert resume(own_shop) == "Done."
    (step,) = listed(own_shop)["rows"]
    assert step["result"]["text"] == told and step["status"] == ("done" if verdict is True else "failed")
    assert own_shop.write("decide", address=REFUND, id=call, verdict=True).status == 404
