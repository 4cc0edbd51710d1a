"""Every Python block in the README and the documentation runs, page by page, in a folder of its own."""

import ast
import asyncio
import inspect
import re
from pathlib import Path
from types import CodeType

import pytest

from quire.bridges.pygents import AgentRegistry, HookRegistry, ToolRegistry

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted(
    page
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    if re.search(r"^```python", page.read_text(), re.MULTILINE)
)
BLOCK = re.compile(r"^```python[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


def compiled(source: str, page: Path, line: int) -> CodeType:
    tree = ast.parse(source)
    ast.increment_lineno(tree, line)
    code: CodeType = compile(tree, str(page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    return code


async def run_page(page: Path) -> int:
    """Run the blocks of a page one after the other; later ones know the names of earlier ones."""
    names: dict[str, object] = {"__name__": "__main__"}
    text = page.read_text()
    blocks = list(BLOCK.finditer(text))
    for block in blocks:
        line = text[: block.start(1)].count("\n")
        result = eval(compiled(block[1], page, line), names)
        if inspect.iscoroutine(result):
            await result
    return len(blocks)


@pytest.fixture(autouse=True)
def nothing_known() -> None:  # pyright: ignore[reportUnusedFunction]
    """What pygents' pages declare is known in the whole process; other tests may have left some of it."""
    for registry in (HookRegistry, ToolRegistry, AgentRegistry):
        registry.clear()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_examples_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert asyncio.run(run_page(page)) > 0


def test_there_are_pages_with_examples() -> None:
    assert ROOT / "README.md" in PAGES
    assert len(PAGES) >= 4
