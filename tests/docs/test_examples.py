"""Every Python block in the documentation runs, page by page, in a folder of its own.

A page runs as it would pasted into a script: without an event loop, and without `await` outside a function.
"""

import ast
import asyncio
import inspect
import re
from contextlib import ExitStack
from pathlib import Path
from types import CodeType

import pytest

from quire.bridges.pygents import AgentRegistry, HookRegistry, ToolRegistry
from tests.stores.server import database

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted(
    page for page in (ROOT / "docs").rglob("*.md") if re.search(r"^```python", page.read_text(), re.MULTILINE)
)
BLOCK = re.compile(r"^```python[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)

AWAITING = {
    *("docs/bridges/a1.md", "docs/bridges/autonomy.md", "docs/bridges/loom.md"),
    *("docs/bridges/pygents.md", "docs/bridges/videosdk.md"),
}
"""Pages that still await outside a function, as notebooks do."""


def blocks_of(page: Path, *, awaiting: bool) -> list[CodeType]:
    text, blocks = page.read_text(), []
    for block in BLOCK.finditer(text):
        tree = ast.parse(block[1])
        ast.increment_lineno(tree, text[: block.start(1)].count("\n"))
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT if awaiting else 0
        blocks.append(compile(tree, str(page), "exec", flags=flags))
    return blocks


async def run_awaiting(blocks: list[CodeType], names: dict[str, object]) -> None:
    for block in blocks:
        result = eval(block, names)
        if inspect.iscoroutine(result):
            await result


@pytest.fixture(autouse=True)
def nothing_known() -> None:  # pyright: ignore[reportUnusedFunction]
    """What pygents' pages declare is known in the whole process; other tests may have left some of it."""
    for registry in (HookRegistry, ToolRegistry, AgentRegistry):
        registry.clear()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_examples_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}  # later blocks know the names of earlier ones
    if str(page.relative_to(ROOT)) in AWAITING:
        asyncio.run(run_awaiting(blocks_of(page, awaiting=True), names))
        return
    with ExitStack() as stack:
        if "DATABASE_URL" in page.read_text():
            monkeypatch.setenv("DATABASE_URL", stack.enter_context(database()))
        for block in blocks_of(page, awaiting=False):
            exec(block, names)


def test_there_are_pages_with_examples() -> None:
    assert len(PAGES) >= 4
