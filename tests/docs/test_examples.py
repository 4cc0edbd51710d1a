"""Every Python block in the documentation runs, page by page, in a folder of its own.

A page runs as it would pasted into a script: without an event loop, and without `await` outside a function.
"""

import ast
import re
from contextlib import ExitStack
from pathlib import Path

import pytest

from quire.bridges.pygents import AgentRegistry, HookRegistry, ToolRegistry
from tests.stores.server import database

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted(
    page for page in (ROOT / "docs").rglob("*.md") if re.search(r"^```python", page.read_text(), re.MULTILINE)
)
BLOCK = re.compile(r"^```python[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


def run_page(page: Path) -> None:
    """Run the blocks of a page one after the other; later ones know the names of earlier ones."""
    names: dict[str, object] = {"__name__": "__main__"}
    text = page.read_text()
    for block in BLOCK.finditer(text):
        tree = ast.parse(block[1])
        ast.increment_lineno(tree, text[: block.start(1)].count("\n"))
        exec(compile(tree, str(page), "exec"), names)


@pytest.fixture(autouse=True)
def nothing_known() -> None:  # pyright: ignore[reportUnusedFunction]
    """What pygents' pages declare is known in the whole process; other tests may have left some of it."""
    for registry in (HookRegistry, ToolRegistry, AgentRegistry):
        registry.clear()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_examples_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with ExitStack() as stack:
        if "DATABASE_URL" in page.read_text():
            monkeypatch.setenv("DATABASE_URL", stack.enter_context(database()))
        run_page(page)


def test_there_are_pages_with_examples() -> None:
    assert len(PAGES) >= 40
