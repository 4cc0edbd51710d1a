"""Services and workers on one PostgreSQL: `bench/service.py`, with workers that die."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stores.server import database

SCRIPT = Path(__file__).parents[2] / "bench" / "service.py"


@pytest.mark.fuzz
@pytest.mark.skipif(not SCRIPT.exists(), reason="the script is in the repository alone")
def test_every_message_is_answered_once_whoever_dies() -> None:
    sizes = {"conversations": 30, "turns": 4, "kills": 4, "clients": 15, "workers": 3}
    options = [f"--{name}={value}" for name, value in sizes.items()]
    with database() as url:
        command = [sys.executable, str(SCRIPT), *options, f"--postgres={url}", "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    found = json.loads(done.stdout)
    assert found["wrong"] == {} and found["kills"] == sizes["kills"] and done.returncode == 0
