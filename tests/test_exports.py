"""Public names have docstrings, from which their API pages are made; the root stays small and light."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import quire

PAGES = Path(__file__).parent.parent / "docs" / "reference" / "api"
ROOMS = [
    *("quire", "quire.errors", "quire.items", "quire.tokens", "quire.state", "quire.providers"),
    *("quire.compactors", "quire.sections", "quire.context", "quire.models", "quire.stores", "quire.session"),
    "quire.memory",
    *("quire.agent", "quire.agent.builtin", "quire.programs", "quire.node", "quire.testing"),
    *("quire.reading", "quire.inspector", "quire.service"),
    "quire.integrations.logs",
    "quire.bridges.videosdk",
    *("quire.bridges.pygents", "quire.bridges.a1", "quire.bridges.autonomy", "quire.bridges.loom"),
    *("quire.integrations.langchain", "quire.integrations.langgraph"),
    *("quire.integrations.livekit", "quire.integrations.agent_framework"),
    "quire.integrations.pydantic_ai",
    "quire.integrations.otel",
    "quire.integrations.mcp",
    "quire.mcp",
    "quire.integrations.openai_agents",
]


def documented(package: Path) -> set[str]:
    """The names that have a docstring at the top level of a module of a package, constants included."""
    names: set[str] = set()
    for file in package.rglob("*.py"):
        body = ast.parse(file.read_text()).body
        for node, following in zip(body, [*body[1:], None], strict=True):
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                if ast.get_docstring(node):
                    names.add(node.name)
            elif isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
                names.update(each.id for each in ast.walk(node) if isinstance(each, ast.Name))
    return names


def exported(room: str) -> set[str]:
    module = import_module(room)
    if hasattr(module, "__all__"):
        return set(module.__all__)
    return {
        name for name, value in vars(module).items() if isinstance(value, type) and not name.startswith("_")
    }


def test_every_package_has_its_api_page() -> None:
    pages = {
        page.read_text().split("::: ")[1].split()[0] for page in PAGES.glob("*.md") if page.stem != "index"
    }
    assert pages == set(ROOMS) - {"quire"}
    index = (PAGES / "index.md").read_text()
    assert all(f"`{name}`" in index for name in [*ROOMS[1:], *quire.__all__])


def test_every_public_name_has_a_docstring() -> None:
    names = documented(Path(quire.__file__).parent)
    assert {f"{room}.{name}" for room in ROOMS for name in exported(room) if name not in names} == set()


def test_the_root_is_small() -> None:
    assert len(quire.__all__) <= 30
    assert set(quire.__all__) <= set(dir(quire))
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        quire.Nonsense  # noqa: B018  # pyright: ignore[reportUnusedExpression]


def test_importing_the_root_loads_nothing_heavy() -> None:
    heavy = "('msgspec', 'splintr', 'pydantic')"
    code = f"import sys, quire; print([m for m in sys.modules if m.split('.')[0] in {heavy}])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
