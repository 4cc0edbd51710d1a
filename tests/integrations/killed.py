"""Running a function of a test module in a process that is killed by one of its tools."""

import os
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def die() -> None:
    """Kill this process, as the system does when memory runs out."""
    os.kill(os.getpid(), signal.SIGKILL)


def run_killed(module: str, statement: str) -> None:
    """Run a statement after the names of a module are imported; the process must have been killed."""
    code = f"from {module} import *\n{statement}"
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
