"""The pages on extending end with the laws over their example: as a test module, each passes every law."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from quire import testing
from tests.docs.pages import BLOCK

PAGES = Path(__file__).parent.parent.parent / "docs" / "extending"
PROFILE = f"""
from hypothesis import settings
examples = {os.environ.get("QUIRE_EXAMPLES", "2")}
settings.register_profile("page", max_examples=examples, derandomize=True, database=None)
settings.load_profile("page")
"""
LAWS = {
    "store": testing.StoreLaws,
    "compactor": testing.CompactorLaws,
    "section": testing.SectionLaws,
    "provider": testing.ProviderLaws,
}


@pytest.mark.laws
def test_the_example_of_each_page_passes_every_law(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(PROFILE)
    for name in LAWS:
        blocks = BLOCK.findall((PAGES / f"{name}.md").read_text())
        (tmp_path / f"test_{name}.py").write_text("\n".join(blocks))
    options = ["-q", "-rA", "-p", "no:cacheprovider", "-p", "no:langsmith_plugin", "-c", os.devnull]
    command = [sys.executable, "-m", "pytest", *options, "--rootdir", "."]
    run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr
    passed = set(re.findall(r"PASSED test_(\w+)\.py::\w+::(test_\w+)", run.stdout))
    assert passed >= {(name, law) for name in LAWS for law in dir(LAWS[name]) if law.startswith("test_")}
