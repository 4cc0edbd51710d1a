"""The SDK's own tests of sessions, run with ours. Its source is downloaded, and is not part of Quire."""

# pyright: basic

import os
import re
import subprocess
import sys
import tarfile
import tempfile
from importlib.metadata import version
from pathlib import Path

import pytest

import quire

pytest.importorskip("agents", reason="openai-agents is not installed")

HERE = Path(__file__).parent
CACHE = Path(tempfile.gettempdir()) / "quire-owners"


def source() -> Path:
    """The folder of the source distribution of the version that is installed."""
    name = f"openai_agents-{version('openai-agents')}"
    if not (CACHE / name).exists():
        wanted = f"openai-agents=={version('openai-agents')}"
        download = [sys.executable, "-m", "pip", "download", "--no-binary", ":all:", "--no-deps", wanted]
        if subprocess.run([*download, "-d", str(CACHE)], check=False, capture_output=True).returncode:
            pytest.skip(f"{wanted} cannot be downloaded")
        with tarfile.open(CACHE / f"{name}.tar.gz") as archive:
            archive.extractall(CACHE, filter="data")
    return CACHE / name


@pytest.mark.skipif(
    not os.environ.get("QUIRE_OWNERS"), reason="run by `make integrations`: it downloads the SDK"
)
def test_the_owners_tests_pass() -> None:
    root = source()
    paths = [*root.glob("tests/test_*.py"), *root.glob("tests/memory/test_*.py")]
    chosen = [str(path) for path in paths if "SQLiteSession(" in path.read_text()]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "openai_agents_owners",
            *chosen,
        ],
        cwd=root,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), str(Path(quire.__file__).parents[1])])},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-4_000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed[1]) > 200
