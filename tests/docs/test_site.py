"""The navigation of the site has every page, and pages of the API list the public names."""

import runpy
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"


def pages_in(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    for each in nav.values() if isinstance(nav, dict) else nav if isinstance(nav, list) else ():  # pyright: ignore[reportUnknownVariableType]
        yield from pages_in(each)


def test_the_navigation_has_every_page_once() -> None:
    nav = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]["nav"]
    assert sorted(pages_in(nav)) == sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))


def test_the_pages_of_the_api_have_the_public_names() -> None:
    """`make docs` writes them."""
    pages: dict[Path, str] = runpy.run_path(str(ROOT / "tools" / "api_names.py"))["page_texts"]()
    assert [page.name for page, text in pages.items() if page.read_text() != text] == [], "run `make docs`"
