"""Running a function of a test module in a process that is killed by one of its tools, and such a tool."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

ALL = " ".join(f"A{number} is open." for number in range(5_000))
"""A result that has no room."""

ROOT = Path(__file__).parent.parent.parent


def die() -> None:
    """Kill this process, as the system does when memory runs out."""
    os.kill(os.getpid(), signal.SIGKILL)


def look_up(order: str) -> str:
    """What a tool says of an order, or of all; at A13 its process dies."""
    if order == "A13":
        die()
    return ALL if order == "all" else f"{order} is open. " + "It waits for the warehouse. " * 30


def handle_in(sent: object) -> str:
    """The handle that the last stub in a request names."""
    return str(re.findall("output-[0-9a-f]+", str(sent))[-1])


def run_killed(module: str, statement: str) -> None:
    """Run a statement after the names of a module are imported; the process must have been killed."""
    code = f"from {module} import *\n{statement}"
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
