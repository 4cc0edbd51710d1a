"""The extras that errors, pages and the check of a release name are those of the package."""

import re
import runpy
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS: set[str] = set(PROJECT["optional-dependencies"])
SOURCES = list((ROOT / "src").rglob("*.py"))
EXAMPLES = [path for path in (ROOT / "examples").rglob("*.*") if path.suffix != ".pyc"]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *EXAMPLES]


def test_extras_that_are_named_exist() -> None:
    text = "".join(path.read_text() for path in [*SOURCES, *PAGES] if path.is_file())
    named = re.findall(r"MissingExtra\([^)]*, \"([\w-]+)\"\)", text)
    for names in re.findall(r"(?:quire|'\.)\[([a-z,-]+)\]", text):
        named += names.split(",")
    assert set(named) - EXTRAS == set()


def test_every_extra_is_on_the_page_about_installing() -> None:
    page = (ROOT / "docs" / "start" / "install.md").read_text()
    cells = re.findall(r"^\| (`.+?`) \|", page, re.MULTILINE)
    assert sorted(re.findall(r"`([\w-]+)`", " ".join(cells))) == sorted(EXTRAS)


def test_the_check_of_a_release_uses_every_extra() -> None:
    check: dict[str, Any] = runpy.run_path(str(ROOT / "tools" / "release_check.py"))
    assert [extra for extra in EXTRAS if not check["uses"](extra, ROOT / "src" / "quire")] == []
