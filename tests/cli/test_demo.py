"""The demonstration ends by itself and leaves a store; and every command on a page of the docs exists."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("typer", reason="the command line needs the extra quire[cli]")

from typer.main import get_command

from quire.cli.main import app
from quire.items import Message, Summary, ToolCall, ToolResult, Undo
from quire.session import Session
from quire.stores import Store
from tests.cli.command_line import nothing_installed, ran
from tests.models.answerers import NEEDS_LOCAL

ADDRESS = "lamp-shop/1"
SHOWN = (
    *("customer   ", "  call     track_parcel", "  call     read_back", "  approved refund"),
    *("tool definitions", "  arrived  cascade, kept", "  undone ", "  in force again ", "-- Much later: "),
    *("  recalled By the way, my doorbell is broken.", 'has "', "-- In all --"),
    *("show lamp-shop/1 --store", "--scope lamp-shop --store"),
)
FACT = "knock at the green gate"


def check_store(path: str) -> None:
    """Everything that was shown is in the store, and the fact came back from far outside the window."""
    with Store.open(path) as store:
        session = Session.open(ADDRESS, store=store)
        recorded, last = session.view().recorded(), session.receipts[-1]
        assert all(kept.tokens < 1_000 and kept.payload() for kept in session.receipts)
        assert any(note.key and note.key.startswith("output-") for note in session.pool)
        place = next(n for n, item in enumerate(recorded) if isinstance(item, Message) and FACT in item.text)
        assert recorded[place].id not in {item.id for item in last.items} and len(recorded) - place > 100
        assert FACT in json.dumps(last.payload().payload) and last.tokens < 800
    for kind in (Summary, Undo, ToolCall, ToolResult):
        assert any(isinstance(item, kind) for item in recorded)
    brought = [item.text for item in recorded if isinstance(item, ToolResult) and item.name == "read_back"]
    assert brought and "a reading lamp of brass" in brought[0]
    assert "as it was sent" in ran("show", ADDRESS, "--receipt", "last", "--store", path).stdout
    assert FACT in ran("recall", "broken doorbell", "--scope", "lamp-shop", "--store", path).stdout


def real_calls(printed: str) -> int:
    found = re.search(r"(\d+) requests, (\d+) of them to the real model", printed)
    assert found is not None
    return int(found[2])


def test_from_the_script_alone(tmp_path: Path) -> None:
    path = str(tmp_path / "demo.db")
    printed = ran("demo", "--store", path, "--seconds", "0").stdout
    for words in ("left out: there was no room", *SHOWN):
        assert words in printed
    assert real_calls(printed) == 0
    check_store(path)
    again = ran("demo", "--store", path, "--seconds", "0").stdout
    assert "show lamp-shop/2 --store" in again and ", of another conversation; " in again


def test_without_weights_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quire.models.local.find_spec", nothing_installed)
    printed = ran("demo", "--store", str(tmp_path / "demo.db")).stdout
    assert printed.startswith("There is no real model here") and "quire[local]" in printed
    assert real_calls(printed) == 0


@pytest.mark.parametrize("seconds", [pytest.param("15", marks=NEEDS_LOCAL, id="local")])
def test_on_the_embedded_model(tmp_path: Path, seconds: str) -> None:
    path = str(tmp_path / "demo.db")
    printed = ran("demo", "--store", path, "--seconds", seconds).stdout
    for words in ("a real model", *SHOWN):
        assert words in printed
    assert 1 <= real_calls(printed) <= 10
    check_store(path)


ROOT = Path(__file__).parent.parent.parent
BLOCK = re.compile(r"^```(?:sh|bash|console)?\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_every_command_on_a_page_exists_and_has_its_options() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    blocks = [block for page in pages for block in BLOCK.findall(page.read_text())]
    commands = sorted({line for block in blocks for line in block.splitlines() if line.startswith("quire ")})
    assert len(commands) > 25
    known: Any = get_command(app)
    for line in commands:
        words = shlex.split(line, comments=True)
        verb, *arguments = words[1 : words.index(">") if ">" in words else None]
        if verb != "--help":
            known.get_command(None, verb).make_context(
                verb, arguments
            )  # reads the arguments and runs nothing
