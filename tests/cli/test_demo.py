"""The demonstration ends by itself, without a terminal, and leaves a store behind that can be looked at."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("typer", reason="the command line needs the extra quire[cli]")

from quire.items import Message, Summary, ToolCall, ToolResult, Undo
from quire.session import Session
from quire.stores import Store
from tests.cli.conversing import ran
from tests.cli.talking import nothing_installed
from tests.models.answerers import NEEDS_LOCAL

ADDRESS = "lamp-shop/1"
SHOWN = (
    "customer   ",
    "  call     track_parcel",
    "  call     read_back",
    "  approved refund",
    "tool definitions",
    "  arrived  cascade, kept",
    "  taken back ",
    "  in force again ",
    "-- Much later: ",
    "  recalled By the way, my doorbell is broken.",
    'has "',
    "-- In all --",
    "show lamp-shop/1 --store",
    "--scope lamp-shop --store",
)
FACT = "knock at the green gate"


def check_what_it_left(path: str) -> None:
    """Commands open it, and all that was shown is in it."""
    with Store.open(path) as store:
        session = Session.open(ADDRESS, store=store)
        recorded = session.view().recorded()
        assert all(kept.tokens < 1_000 and kept.payload() for kept in session.receipts)
        assert any(note.key and note.key.startswith("output-") for note in session.pool)
    for kind in (Summary, Undo, ToolCall, ToolResult):
        assert any(isinstance(item, kind) for item in recorded)
    brought = [item.text for item in recorded if isinstance(item, ToolResult) and item.name == "read_back"]
    assert brought and "a reading lamp of brass" in brought[0]
    assert "summary" in ran("show", ADDRESS, "--store", path).stdout
    assert "as it was sent" in ran("show", ADDRESS, "--receipt", "last", "--store", path).stdout
    assert "takes back" in ran("log", ADDRESS, "--store", path).stdout


def check_what_came_back(path: str) -> None:
    """What was asked for last is far outside the history of the last request, and is quoted in it."""
    with Store.open(path) as store:
        session = Session.open(ADDRESS, store=store)
        last, recorded = session.receipts[-1], session.view().recorded()
        place = next(n for n, item in enumerate(recorded) if isinstance(item, Message) and FACT in item.text)
        assert recorded[place].id not in {item.id for item in last.items}
        assert FACT in json.dumps(last.payload().payload)
    assert len(recorded) - place > 100 and last.tokens < 800
    found = ran("recall", "broken doorbell", "--scope", "lamp-shop", "--store", path).stdout
    assert FACT in found and "fits" in found


def real_calls(told: str) -> int:
    found = re.search(r"(\d+) requests, (\d+) of them to the real model", told)
    assert found is not None
    return int(found[2])


def test_from_the_script_alone(tmp_path: Path) -> None:
    path = str(tmp_path / "demo.db")
    told = ran("demo", "--store", path, "--seconds", "0").stdout
    for words in ("left out: there was no room", *SHOWN):
        assert words in told
    assert real_calls(told) == 0
    check_what_it_left(path)
    check_what_came_back(path)
    again = ran("demo", "--store", path, "--seconds", "0").stdout
    assert "show lamp-shop/2 --store" in again  # the first one stays as it is
    assert ", of another conversation; " in again  # and is remembered


def test_where_there_are_no_weights_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quire.models.local.find_spec", nothing_installed)
    told = ran("demo", "--store", str(tmp_path / "demo.db")).stdout
    assert told.startswith("No real model here") and "quire[local]" in told
    assert real_calls(told) == 0


@pytest.mark.parametrize("seconds", [pytest.param("25", marks=NEEDS_LOCAL, id="local")])
def test_on_the_embedded_model(tmp_path: Path, seconds: str) -> None:
    path = str(tmp_path / "demo.db")
    command = [sys.executable, "-m", "quire", "demo", "--store", path, "--seconds", seconds]
    played = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert (played.returncode, played.stderr) == (0, "")
    for words in ("a real model", *SHOWN):
        assert words in played.stdout
    assert 1 <= real_calls(played.stdout) <= 10
    check_what_it_left(path)
    check_what_came_back(path)
