"""The demonstration ends by itself and leaves a store; and every command on a page of the docs exists."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("typer", reason="the command line needs the extra quire[cli]")

from typer.main import get_command

import quire
from quire.cli.main import app
from quire.items import Mask, Summary, ToolCall, ToolResult, Undo
from quire.session import Session
from quire.stores import Store
from tests.cli.command_line import nothing_installed, ran

ADDRESS = "lamp-shop/1"
FACT = "knock at the green gate"
SHOWN = (
    *("customer   ", "  call     track_parcel", "an older tool result is moved out", "a summary replaces"),
    *("tool definitions", "summarised: a summary is shown in its place", "after the undo", "by signal 9"),
    *("It is uncertain whether this was done", "payments for R-2049: 1", 'has "courier", "doorbell"'),
    *("  | user: My doorbell is broken.", "openai, openai-responses, anthropic, gemini: 0 violations"),
    *("show lamp-shop/1 --store", "--scope lamp-shop --store"),
)


def check(printed: str, path: str) -> None:
    """Every scene is shown, on a screen of 100 columns, and everything is in the store."""
    for words in SHOWN:
        assert words in printed
    story = printed[: printed.index("Everything is kept in")].splitlines()
    assert len(story) <= 85 and all(len(line) <= 100 for line in story[1:])
    with Store.open(path) as store:
        session = Session.open(ADDRESS, store=store)
        recorded, shown = session.view().recorded(), session.view()
        assert any(note.key and note.key.startswith("output-") for note in session.pool)
    for kind in (Mask, Summary, Undo, ToolCall, ToolResult):
        assert any(isinstance(item, kind) for item in recorded)
    assert not any(isinstance(item, Summary) for item in shown)
    assert [item.name for item in recorded if isinstance(item, ToolCall)].count("refund") == 1
    assert "paid R-2049" in ran("show", ADDRESS, "--receipt", "last", "--store", path).stdout
    assert FACT in ran("recall", "broken doorbell", "--scope", "lamp-shop", "--store", path).stdout


def test_without_a_model_the_script_writes_the_summary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quire.models.local.find_spec", nothing_installed)
    path = str(tmp_path / "demo.db")
    printed = ran("demo", "--store", path).stdout
    assert printed.startswith("There is no model on this machine") and "quire[local]" in printed
    check(printed, path)
    assert "show lamp-shop/2 --store" in ran("demo", "--store", path).stdout


def test_the_version_is_that_of_the_package() -> None:
    assert ran("--version").stdout == f"quire {quire.__version__}\n"


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
        if verb not in ("--help", "--version"):
            known.get_command(None, verb).make_context(verb, arguments)  # reads them and runs nothing
