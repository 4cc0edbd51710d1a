"""Anybody's history: files and folders of logs, read-only, with their faults and the repair."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from quire.inspector import app
from quire.integrations.logs.histories import History, histories_in
from quire.stores import Store
from quire.testing.broken import broken_histories
from tests.inspector.browsing import Page, expect
from tests.inspector.serving import Answer, Served, serving

LOGS = Path(__file__).parent.parent / "integrations" / "logs"


def drop(served: Served, name: str, data: bytes, into: str = "") -> Answer:
    return served.ask("POST", f"{served.path}api/files?name={quote(name)}&into={into}", data)


def sources(served: Served) -> Any:
    return served.ask("GET", f"{served.path}api/sources").data


@pytest.mark.parametrize(
    ("file", "conversations"),
    [
        *[("claude-code.jsonl", 2), ("codex.jsonl", 1), ("langsmith.jsonl", 1), ("otel.json", 1)],
        *[("ai-sdk.json", 1), ("requests.jsonl", 2)],
    ],
)
def test_a_log_that_is_dropped_opens_as_its_conversations(
    own_shop: Served, file: str, conversations: int
) -> None:
    source = drop(own_shop, file, (LOGS / file).read_bytes()).data["source"]
    rows = own_shop.read("conversations", source).data["rows"]
    assert len(rows) == conversations
    for row in rows:
        for name in ("conversation", "transcript", "faults", "what-if", "bill", "steps", "requests"):
            assert own_shop.read(name, source, address=row["address"]).status == 200
    (about,) = [one for one in sources(own_shop) if one["name"] == source]
    assert about["is_file"] and not about["is_writable"] and about["notes"][0].startswith(file)
    refused = own_shop.write("undo", source, address=rows[0]["address"], id="x")
    assert refused.status == 403


def test_files_that_are_dropped_at_once_have_names_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    both = Barrier(2, timeout=60)

    def read_together(data: bytes, name: str) -> list[History]:
        if name == "a":
            both.wait()
        return histories_in(data, name)

    monkeypatch.setattr("quire.reading.files.histories_in", read_together)
    data = (LOGS / "codex.jsonl").read_bytes()
    with serving(app()) as served, ThreadPoolExecutor(2) as threads:
        dropped = [threads.submit(drop, served, "a", data) for _ in range(2)]
        one, other = (answer.result().data["source"] for answer in dropped)
        assert one != other
        for _ in range(2):
            assert drop(served, "b", data, into=one).status == 200
        assert served.read("conversations", one).data["count"]["conversations"] == 2
        notes = {source["name"]: source["notes"] for source in sources(served)}
        assert notes[one][-1] == "b: another file of this name is open"


def test_the_files_of_a_folder_go_into_one_source(own_shop: Served) -> None:
    source = drop(own_shop, "logs/codex.jsonl", (LOGS / "codex.jsonl").read_bytes()).data["source"]
    assert drop(own_shop, "logs/otel.json", (LOGS / "otel.json").read_bytes(), into=source).status == 200
    drop(own_shop, "logs/notes.json", b"no JSON", into=source)
    alone = drop(own_shop, "notes.json", b"no JSON")
    assert alone.status == 400 and "notes.json" in alone.data["error"] and "not JSON" in alone.data["error"]
    assert own_shop.read("conversations", source).data["count"]["conversations"] == 2
    assert any("logs/notes.json" in note for note in sources(own_shop)[-1]["notes"])
    assert drop(own_shop, "logs/otel.json", b"[]", into="store").status == 400


@pytest.mark.parametrize("ending", ["db", "jsonl"])
def test_a_store_that_is_dropped_is_to_be_opened(own_shop: Served, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"agent.{ending}"
    Store.open(path).close()
    answer = drop(own_shop, path.name, path.read_bytes())
    assert answer.status == 400 and f"quire inspect agent.{ending}" in answer.data["error"]


DROP = """([name, text]) => {
  const transfer = new DataTransfer();
  transfer.items.add(new File([text], name));
  for (const type of ["dragenter", "dragover", "drop"])
    window.dispatchEvent(new DragEvent(type, { dataTransfer: transfer, bubbles: true, cancelable: true }));
}"""
"""Drops a file on the page, as a person does."""


def test_a_history_that_is_dropped_shows_its_faults_and_the_repair(own_shop: Served, page: Page) -> None:
    (one,) = [one for one in broken_histories() if one.name == "user-speaks-before-the-result"]
    page.goto(own_shop.url("store"))
    expect(page.get_by_role("button", name="Open files")).to_be_visible()
    page.evaluate(DROP, ["weather.json", json.dumps(one.broken)])
    expect(page.get_by_role("heading", name="weather.json")).to_be_visible()
    expect(page.get_by_text("read-only", exact=True)).to_be_visible()
    faults = page.get_by_role("table", name="faults")
    expect(faults.get_by_role("row").filter(has_text="messages[3].tool_call_id")).to_contain_text(
        "orphan_result"
    )
    changes = page.get_by_role("list", name="repair").get_by_role("listitem")
    expect(changes).to_have_count(2)
    expect(changes.nth(0).get_by_role("group", name="after")).to_contain_text("4 degrees, rain")
    expect(changes.nth(1).get_by_role("group", name="after")).to_contain_text("it is left out")
    page.get_by_role("button", name="gemini").click()
    expect(page.get_by_role("region", name="Faults")).to_contain_text("gemini would refuse")
    page.get_by_role("link", name="Transcript").click()
    expect(page.get_by_text("How is the weather in Oslo?").first).to_be_visible()


def test_the_command_opens_a_folder() -> None:
    command = [sys.executable, "-m", "quire", "inspect", str(LOGS), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as running:
        try:
            assert running.stdout is not None
            address = urlsplit(str(running.stdout.readline()).strip())
            served = Served(address.port or 0, address.path).entered()
            found = served.read("conversations", "file-1").data
            assert found["count"]["conversations"] == 9
            assert not any(row["is_live"] for row in found["rows"])
            assert served.read("conversations").status == 404
        finally:
            running.terminate()
