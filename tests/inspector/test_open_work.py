"""Jobs and approvals of a running service: what waits and runs is listed as it happens, and decided."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from starlette.testclient import TestClient

from quire import Agent, Node, ToolCall, tool
from quire.inspector import app
from quire.models import Scripted
from quire.providers import Rendered
from quire.service import app as service_of
from quire.stores import Store
from tests.inspector.browsing import Page, expect
from tests.inspector.serving import Served, serving
from tests.service.serving import PATIENCE, Gate


@tool(approve=True)
def refund(order: str) -> str:
    """Pay back the money for an order."""
    return f"{order} is paid"


def pay(sent: Rendered) -> ToolCall | str:
    """What the model answers: it pays."""
    is_paid = any(message["role"] == "tool" for message in sent.payload["messages"])
    return "It is paid." if is_paid else ToolCall("call_pay", "refund", '{"order": "A-7"}')


class Shop(NamedTuple):
    """A service, and the inspector of its store, which opened it by itself."""

    client: TestClient
    seller: Gate
    inspector: Served

    def say(self, words: str, to: str = "pens") -> None:
        path = f"/agents/seller/conversations/{to}/messages"
        assert self.client.post(path, json={"content": words}).status_code == 202


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Shop]:
    path, seller = tmp_path / "shop.db", Gate(answer=pay)
    node = Node(store=str(path))
    node.add("seller", lambda session: Agent(session, model=Scripted(seller), tools=[refund]))
    with (
        Store.open(path) as store,
        serving(app(store, write=True), str(path)) as inspector,
        TestClient(service_of(node), base_url="http://127.0.0.1", client=("127.0.0.1", 1)) as client,
    ):
        yield Shop(client, seller, inspector)
        seller.is_open.set()


PENS = "seller%2F/pens"


def test_what_is_open_is_listed_and_cancelled(running: Shop) -> None:
    running.say("Pay for A-7.")
    assert running.seller.asked.wait(PATIENCE)
    running.say("And for A-8.")
    served = running.inspector
    found = served.read("open").data
    assert [(job["address"], job["question"], job["state"]) for job in found["jobs"]] == [
        (PENS, "Pay for A-7.", "running"),
        (PENS, "And for A-8.", "waiting"),
    ]
    first = served.read("open", limit=1).data
    assert [job["question"] for job in first["jobs"]] == ["Pay for A-7."]
    assert (found["has_more"], first["has_more"]) == (False, True)
    for job in found["jobs"]:
        assert served.write("cancel", address=PENS, job=job["job"]).status == 200
    states = [one["state"] for one in served.read("jobs", address=PENS).data["jobs"]]
    assert states == ["cancelled", "cancelled"]
    assert served.write("cancel", address=PENS, job=found["jobs"][1]["job"]).status == 404


def test_jobs_and_calls_are_seen_as_they_happen_decided_and_acted_on(running: Shop, page: Page) -> None:
    page.goto(running.inspector.url())
    work = page.get_by_role("list", name="open work").get_by_role("listitem")
    expect(page.get_by_text("No conversations yet")).to_be_visible()
    running.say("Pay for A-7.")
    expect(work).to_contain_text(["Pay for A-7."])
    expect(work.get_by_text("job running")).to_be_visible()
    running.say("And for A-8.")
    expect(work).to_have_count(2)
    work.filter(has_text="A-8").get_by_role("button", name="Cancel").click()
    expect(work).to_have_count(1)
    running.seller.is_open.set()
    expect(work.get_by_text("call waiting")).to_be_visible()
    work.get_by_role("button", name="Approve").click()
    expect(work.get_by_text("call approved")).to_be_visible()
    running.say("Thank you.")
    work.get_by_role("link", name="seller / pens").click()
    row = page.get_by_role("table", name="Calls").get_by_role("row").nth(1)
    expect(row.get_by_text("done")).to_be_visible()
