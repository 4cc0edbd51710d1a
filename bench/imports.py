"""How long `import …` takes beyond the bare start of the interpreter, with bytecode written."""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

MODULES = {
    "floor": ("msgspec",),
    "before": ("quire", "quire.state"),
    "quire": ("quire", "quire.state"),
    "loom": ("loom",),
    "pydantic-ai": ("pydantic_ai.messages",),
    "langchain": ("langchain_core.messages",),
    "livekit": ("livekit.agents.llm",),
    "videosdk": ("videosdk.agents",),
    "llama-index": ("llama_index.core.memory",),
    "openai-agents": ("agents",),
}


def environment(source: Path | None = None) -> dict[str, str]:
    """The environment of a measured process: bytecode is kept, and hashes are the same in each run.

    `source` is a source tree to import from in place of what is installed.
    """
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONHASHSEED": "0"} | ({"PYTHONPATH": str(source)} if source else {})


def measure(python: str, module: str, runs: int, env: dict[str, str]) -> dict[str, Any]:
    """Milliseconds to import a module, or why it cannot be; the bare start is timed in turn with it."""
    statement = f"import {module}"
    tried = subprocess.run([python, "-c", statement], env=env, capture_output=True, text=True)
    if tried.returncode:
        return {"way": f"`{statement}`", "fault": (tried.stderr.strip().splitlines() or ["failed"])[-1][:200]}
    bare, full = zip(
        *((_start(python, "pass", env), _start(python, statement, env)) for _ in range(runs)), strict=True
    )
    found = {"best": min(full) - min(bare), "median": median(full) - median(bare), "runs": runs}
    return {"way": f"`{statement}`", **found}


def report(python: str, library: str, runs: int, env: dict[str, str]) -> dict[str, Any]:
    """All that is imported to use a library."""
    return {"how": "", "lines": [measure(python, module, runs, env) for module in MODULES[library]]}


def _start(python: str, statement: str, env: dict[str, str]) -> float:
    start = perf_counter()
    subprocess.run([python, "-c", statement], env=env, check=True, capture_output=True)
    return 1e3 * (perf_counter() - start)


def main(arguments: Sequence[str] | None = None) -> None:
    """Time the import of modules."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("modules", nargs="*", default=["msgspec", "quire", "quire.state"])
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    found = {
        module: measure(options.python, module, options.runs, environment()) for module in options.modules
    }
    if options.json:
        print(json.dumps(found))
        return
    for module, line in found.items():
        print(
            f"{module:28}", line.get("fault") or "best {best:8.1f} ms  median {median:8.1f} ms".format(**line)
        )


if __name__ == "__main__":
    main()
