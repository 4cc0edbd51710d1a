"""The pages on extending end with the laws over their example: as a test module, each passes every law."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from quire import testing
from tests.docs.pages import BLOCK

PAGES = Path(__file__).parent.parent.parent / "docs" / "extending"
PROFILE = """
from hypothesis import settings
settings.register_profile("page", max_examples=20, derandomize=True, database=None)
settings.load_profile("page")
"""
LAWS = {
    "store": testing.StoreLaws,
    "compactor": testing.CompactorLaws,
    "section": testing.SectionLaws,
    "provider": testing.ProviderLaws,
}


@pytest.mark.parametrize("name", LAWS)
def test_the_example_of_a_page_passes_every_law(name: str, tmp_path: Path) -> None:
    blocks = BLOCK.findall((PAGES / f"{name}.md").read_text())
    module = tmp_path / "test_page.py"
    module.write_text("\n".join(blocks))
    (tmp_path / "conftest.py").write_text(PROFILE)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rA", "-c", os.devnull]
    run = subprocess.run(
        [*command, "--rootdir", ".", module.name], capture_output=True, text=True, cwd=tmp_path
    )
    assert run.returncode == 0, run.stdout + run.stderr
    laws = {law for law in dir(LAWS[name]) if law.startswith("test_")}
    assert {law for law in laws if f"::{law}" in run.stdout} == laws
