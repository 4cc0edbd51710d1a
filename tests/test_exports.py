"""Each package has a page of its public names, which `tests/docs` compares; the root is small and light."""

import subprocess
import sys
from pathlib import Path

import pytest

import quire

SOURCE = Path(quire.__file__).parent
PAGES = Path(__file__).parent.parent / "docs" / "reference" / "api"
FOLDERS = ("", "bridges/", "integrations/")
ALSO = {"quire.errors", "quire.agent.builtin"}
WITHOUT = {"quire.proxy", *(f"quire.integrations.{name}" for name in ("google_adk", "hermes", "strands"))}
"""A program, and frameworks that cannot be installed beside the others."""


def test_every_package_has_its_api_page() -> None:
    files = [file for at in FOLDERS for end in ("/__init__", "") for file in SOURCE.glob(f"{at}*{end}.py")]
    public = [file.relative_to(SOURCE) for file in files if "\n__all__" in file.read_text("utf-8")]
    packages = {".".join(("quire", *file.with_suffix("").parts)).removesuffix(".__init__") for file in public}
    pages = [page.read_text() for page in PAGES.glob("*.md") if page.stem != "index"]
    named = {page.split("::: ")[1].split()[0] for page in pages}
    assert named - ALSO == packages - WITHOUT - {"quire"}
    index = (PAGES / "index.md").read_text()
    assert all(f"`{name}`" in index for name in [*named, *quire.__all__])


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
