"""Every Python block in the documentation runs, page by page, in a folder of its own.

A page runs as it would pasted into a script: without an event loop, and without `await` outside a function.
"""

from contextlib import ExitStack
from pathlib import Path

import pytest

from quire.bridges.pygents import AgentRegistry, HookRegistry, ToolRegistry
from tests.docs.pages import BLOCK, DOCS, NEEDS, run_page
from tests.stores.server import database

PAGES = sorted(page for page in DOCS.rglob("*.md") if BLOCK.search(page.read_text()))


@pytest.fixture(autouse=True)
def nothing_known() -> None:  # pyright: ignore[reportUnusedFunction]
    """What pygents' pages declare is known in the whole process; other tests may have left some of it."""
    for registry in (HookRegistry, ToolRegistry, AgentRegistry):
        registry.clear()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_the_examples_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if needed := NEEDS.get(page.relative_to(DOCS).as_posix()):
        pytest.importorskip(needed, reason="`make integrations` runs this page")
    monkeypatch.chdir(tmp_path)
    with ExitStack() as stack:
        if "DATABASE_URL" in page.read_text():
            monkeypatch.setenv("DATABASE_URL", stack.enter_context(database()))
        run_page(page)


def test_there_are_pages_with_examples() -> None:
    assert len(PAGES) >= 40
