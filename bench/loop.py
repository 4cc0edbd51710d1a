"""What a loop itself costs a turn, with a model that answers at once: ours and others', in the same run.

Usage: python bench/loop.py [--peers PYTHON] [--size N] [--turns N] [--rounds N] [--json] [--page FILE]

Each library asks an agent on a history of 1,000 messages in memory, turn after turn; each round runs each of
them in a process of its own. What is told is the best turn of all rounds, and the median.
"""

import argparse
import asyncio
import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

import marked
from peer_loops import LOOPS, seconds_of


def measured(python: str, name: str, size: int, turns: int) -> list[float]:
    """The seconds of one library's turns, in a process of its own."""
    command = [python, __file__, "--one", name, "--size", str(size), "--turns", str(turns)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name}: {done.stderr.strip().splitlines()[-1]}")
    return [float(one) for one in json.loads(done.stdout.splitlines()[-1])]


def table(found: dict[str, list[float]], size: int) -> str:
    """The figures as a table."""
    ours = min(found["quire"])
    lines = ["| library | best ms a turn | median | times ours |", "|---|---:|---:|---:|"]
    for name, taken in found.items():
        best = min(taken)
        lines.append(f"| {name} | {best * 1e3:.2f} | {median(taken) * 1e3:.2f} | {best / ours:.1f} |")
    return f"A turn on {size:,} messages in memory:\n\n" + "\n".join(lines)


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--peers", help="the Python of the environment that the others are in")
    parser.add_argument("--size", type=int, default=1_000)
    parser.add_argument("--turns", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--page", type=Path)
    parser.add_argument("--one", choices=LOOPS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(asyncio.run(seconds_of(given.one, given.size, given.turns))))
        return
    names = [name for name in LOOPS if name == "quire" or given.peers]
    found: dict[str, Any] = {name: [] for name in names}
    for _ in range(given.rounds):
        for name in names:
            python = sys.executable if name == "quire" else given.peers
            found[name] += measured(python, name, given.size, given.turns)
    print(json.dumps(found) if given.json else table(found, given.size))
    if given.page:
        marked.write(given.page, "loop", table(found, given.size))


if __name__ == "__main__":
    main()
