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
PROFILE = """
from hypothesis import settings
settings.register_profile("page", max_examples={}, derandomize=True, database=None)
settings.load_profile("page")
"""
LAWS = {
    "store": testing.StoreLaws,
    "compactor": testing.CompactorLaws,
    "section": testing.SectionLaws,
    "provider": testing.ProviderLaws,
}


LONG = ("test_scrubbed_content_is_in_no_file", "test_items_of_every_kind_come_back_byte_for_byte")
"""Laws that take seconds with any store."""


@pytest.mark.laws
@pytest.mark.parametrize("is_whole", [False, pytest.param(True, marks=pytest.mark.fuzz)])
def test_the_example_of_each_page_passes_every_law(tmp_path: Path, is_whole: bool) -> None:
    left_out = () if is_whole else LONG
    (tmp_path / "conftest.py").write_text(PROFILE.format(20 if is_whole else 1))
    for name in LAWS:
        blocks = BLOCK.findall((PAGES / f"{name}.md").read_text())
        (tmp_path / f"test_{name}.py").write_text("\n".join(blocks))
    options = ["-q", "-rA", "-p", "no:cacheprovider", "-p", "no:langsmith_plugin", "-c", os.devnull]
    chosen = ["-k", " and ".join(f"not {law}" for law in left_out)]
    command = [sys.executable, "-m", "pytest", *options, "--rootdir", ".", *chosen]
    run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr
    passed = set(re.findall(r"PASSED test_(\w+)\.py::\w+::(test_\w+)", run.stdout))
    laws = {(name, law) for name in LAWS for law in dir(LAWS[name]) if law.startswith("test_")}
    assert passed >= {(name, law) for name, law in laws if law not in left_out}
