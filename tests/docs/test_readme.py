"""The README prints what it says: its scripts, one after the other, and its commands. Its links are good."""

import contextlib
import io
import re
import shlex
from itertools import pairwise
from pathlib import Path

import pytest

pytest.importorskip("typer", reason="the command line needs the extra quire[cli]")

from tests.cli.command_line import run
from tests.docs.pages import DOCS, run_page

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text()
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCKS = BLOCK.findall(README)


def test_the_scripts_print_what_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    shown = 0
    for (kind, script), (after, output) in pairwise(BLOCKS):
        if kind != "python":
            continue
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(script, "README.md", "exec"), names)
        if after == "text":
            # A recalled quote is under its date, so its tokens differ from day to day, by three at most.
            texts, numbers = zip(*map(_texts_and_numbers, (printed.getvalue(), output)), strict=True)
            assert texts[0] == texts[1]
            assert all(abs(one - other) <= 3 for one, other in zip(*numbers, strict=True)), numbers
            shown += 1
    assert shown == 2
    first = next(script for kind, script in BLOCKS if kind == "python")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(first, "README.md", "exec"), {"__name__": "__main__"})
    assert 'has "peanuts", "allergic"' in printed.getvalue().splitlines()[-1], "it can be run again"


def _texts_and_numbers(output: str) -> tuple[list[str], list[int]]:
    parts = re.split(r"([\d,]*\d)", output)
    numbers = [int(number.replace(",", "")) for number in parts[1::2]]
    return [re.sub(r" +", " ", text) for text in parts[::2]], numbers


def test_the_commands_print_what_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (history,) = [text for kind, text in BLOCKS if kind == "json"]
    (tmp_path / "history.json").write_text(history)
    (console,) = [text for kind, text in BLOCKS if kind == "console"]
    commands = re.findall(r"^\$ quire (.*)\n((?:[^$].*\n)*)", console, re.MULTILINE)
    assert commands
    for arguments, output in commands:
        assert run(*arguments.split()).output == output


def test_the_command_says_why_as_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text((DOCS / "how-to/inspect-requests.md").read_text().replace("memory:", "trips.db"))
    with contextlib.redirect_stdout(io.StringIO()):
        run_page(page)
    ((command, output),) = re.findall(r"^\$ quire (.*)\n((?:.+\n)*)```", page.read_text(), re.MULTILINE)
    printed = run(*shlex.split(command)).output.strip()
    assert re.sub("[0-9a-f]{28}|[0-9-]{10} [0-9:]{8}", "", printed) == re.sub(
        "[0-9a-f]{28}|[0-9-]{10} [0-9:]{8}", "", output.strip()
    )


def test_the_links_of_the_pages_beside_it_lead_somewhere() -> None:
    for page in ROOT.glob("*.md"):
        for link in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
            assert (ROOT / link).exists(), f"{page.name}: {link}"
