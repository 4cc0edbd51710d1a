"""Every command on the pages of the documentation is one that there is, with options that it has."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("typer", reason="the command line needs the extra quire[cli]")

from typer.main import get_command

from quire.cli.main import app

ROOT = Path(__file__).parent.parent.parent
BLOCK = re.compile(r"^```(?:sh|bash|console)?\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMANDS = sorted(
    {
        line
        for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
        for block in BLOCK.findall(page.read_text())
        for line in block.splitlines()
        if line.startswith("quire ") and "--help" not in line
    }
)


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_of_a_page_can_be_given(line: str) -> None:
    words = shlex.split(line, comments=True)
    verb, *arguments = words[1 : words.index(">") if ">" in words else None]
    commands: Any = get_command(app)
    commands.commands[verb].make_context(verb, arguments)  # it reads the arguments, and runs nothing


def test_there_are_commands_on_pages() -> None:
    assert len(COMMANDS) > 25
