"""Measure Quire, the floor (plain Python) and its peers with the same transcript, and judge the aims.

Usage: python bench/run.py [--peers PYTHON] [--only WORKLOAD ...] [--libraries NAME ...] [--sizes N ...]
                           [--rounds N] [--quick] [--json] [--page FILE]

Each library has a process of its own for each workload; figures are the best of all rounds.
"""

import json
import os
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import page
from libraries import OURS, PEERS, adapter
from page import number
from workloads import WORKLOADS

SIZES = (100, 1_000, 10_000, 100_000)
LARGEST = {"render": 10_000}
REFERENCE = 10_000
"""The size at which aims are set and ratios are taken."""

LONGEST = 300.0
"""Seconds that one library may take with one workload."""

TITLES = {
    "append": "append, µs a message",
    "memory": "memory, bytes a message beyond the text",
    "fork": "fork, µs",
    "truncate": "truncate to a tenth, ms",
    "tokens": "one more message, then the total of tokens, µs",
    "codec dump": "to JSON, ms",
    "codec load": "from JSON, ms",
    "render openai": "payload for OpenAI, ms",
    "render openai, one more": "one more message, then the payload again, ms",
    "render anthropic": "payload for Anthropic, ms",
    "render gemini": "payload for Gemini, ms",
    "turn within a tenth": "a turn that cuts to a tenth, ms",
    "turn with all of it": "a turn with nothing to cut, ms",
    "import": "import, ms",
}
METHOD = """\
Every library was given the same transcript: some 800 characters a message, one to three tool calls in every
second turn, a third of the outputs 2 to 8 KB long. Figures are the best CPU time. A library that cuts in
place is given a copy of the history for each turn, off the clock. `bench/libraries.py` and `bench/peers.py`
have the calls."""

WORK = [*WORKLOADS, "import"]
Cells = dict[str, dict[str, dict[int, dict[str, Any]]]]
"""By table, library and size: the figures."""


def measure(options: Any) -> tuple[Cells, dict[str, str]]:
    """The figures of all libraries, and why some have none."""
    cells: Cells = {}
    faults: dict[str, str] = {}
    libraries = [name for name in options.libraries if name in OURS or options.peers]
    for workload in options.only:
        for _ in range(options.rounds):
            for library in libraries:
                page.progress(f"{workload:9} {library}")
                python = sys.executable if library in OURS else options.peers
                for line in _lines(python, library, workload, options.sizes):
                    if "fault" in line:
                        faults[f"{library}, {workload}"] = line["fault"]
                        continue
                    row = cells.setdefault(line["table"], {}).setdefault(library, {})
                    known = row.setdefault(line["size"], line)
                    known["best"] = min(known["best"], line["best"])
    return cells, faults


def _lines(python: str, library: str, workload: str, sizes: list[int]) -> Iterator[dict[str, Any]]:
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [python, __file__, "--one", library, workload, "--sizes", *map(str, sizes)]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        try:
            out, _ = process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            process.kill()
            out, _ = process.communicate()
            yield {"fault": f"more than {LONGEST:g} s"}
    yield from (json.loads(line) for line in out.splitlines() if line.startswith(b"{"))


def measure_one(name: str, workload: str, sizes: list[int]) -> Iterator[dict[str, Any]]:
    """The figures of one library with one workload, in this process."""
    warnings.simplefilter("ignore")
    try:
        library = adapter(name)
        if workload == "import":
            yield {"table": "import", "size": 0, "how": f"`{library.module}`", **_imported(library.module)}
            return
        for size in sizes:
            if size > LARGEST.get(workload, size):
                continue
            for way, found in WORKLOADS[workload](library, size).items():
                table, how = f"{workload} {way}".strip(), library.how.get(workload, "")
                yield {"table": table, "size": size, "how": how, **found}
    except NotImplementedError:
        yield {"fault": "has no call for it"}
    except Exception as fault:
        yield {"fault": f"{type(fault).__name__}: {fault}"[:200]}


def _imported(module: str) -> dict[str, float]:
    def seconds(statement: str) -> float:
        before = os.times()
        subprocess.run([sys.executable, "-c", statement], check=True, capture_output=True)
        after = os.times()
        return sum(after[2:4]) - sum(before[2:4])

    pairs = [(seconds(f"import {module}"), seconds("pass")) for _ in range(5)]
    full, bare = zip(*pairs, strict=True)
    return {"best": 1e3 * (min(full) - min(bare)), "median": 1e3 * (median(full) - median(bare))}


# The page


def report(cells: Cells) -> str:
    """Aims, method and tables as Markdown."""
    stamp = f"{time.strftime('%Y-%m-%d', time.gmtime())}, {platform.machine()}, {os.cpu_count()} cores"
    libraries = list(dict.fromkeys(name for rows in cells.values() for name in rows))
    sizes = sorted({size for rows in cells.values() for row in rows.values() for size in row} - {0})
    size = REFERENCE if REFERENCE in sizes else sizes[-1]

    def cost(key: str, name: str, at: int) -> float | None:
        return cells[key].get(name, {}).get(0 if key == "import" else at, {}).get("best")

    keys = [key for key in TITLES if key in cells]
    rows = [
        (TITLES[key], *(cost(key, name, size) for name in libraries), cost(key, "quire", sizes[0]))
        for key in keys
    ]
    missed = [f"{aim}: {measured}" for aim, measured, verdict in aims(cells) if verdict == "fell short"]
    parts = [
        f"{stamp}, load {os.getloadavg()[0]:.1f}, Python {platform.python_version()}. {METHOD}",
        page.table((f"{size:,} messages", *libraries, f"quire, {sizes[0]:,}"), rows),
        f"Aims that were missed: {'; '.join(missed) or 'none'}.",
    ]
    return "\n\n".join(parts)


def aims(cells: Cells) -> Iterator[tuple[str, str, str]]:
    """Each aim, what was measured, and whether it was met."""

    def cost(key: str, library: str = "quire", size: int = REFERENCE) -> float | None:
        return cells.get(key, {}).get(library, {}).get(size, {}).get("best")

    def judged(aim: str, value: float | None, most: float, unit: str) -> tuple[str, str, str]:
        if value is None:
            return aim, "-", "not measured"
        return aim, f"{number(value)}{unit}", "met" if value <= most else "fell short"

    def ratio(key: str, other: float | None) -> float | None:
        own = cost(key)
        return None if own is None or not other else own / other

    def spread(key: str) -> float | None:
        costs = [found for size in SIZES if (found := cost(key, size=size)) is not None]
        return max(costs) / min(costs) if len(costs) == len(SIZES) else None

    peers = [found for name in PEERS if (found := cost("turn within a tenth", name)) is not None]
    yield judged("append: at most 4 times the floor", ratio("append", cost("append", "floor")), 4.0, "x")
    yield judged("memory beyond the text: at most 350 bytes a message", cost("memory"), 350, " bytes")
    yield judged("fork: at most 5 µs", cost("fork"), 5, " µs")
    yield judged("fork: flat from 100 to 100,000 messages", spread("fork"), 2.0, "x")
    yield judged("truncating to a tenth: at most 0.3 ms", cost("truncate"), 0.3, " ms")
    yield judged("one more message and the total of tokens: flat", spread("tokens"), 2.0, "x")
    for way, most in (("dump", 1.3), ("load", 1.6)):
        found = ratio(f"codec {way}", cost(f"codec {way}", "floor"))
        yield judged(f"codec, {way}: at most {most} times plain msgspec", found, most, "x")
    openai = cost("render openai")
    floor = ratio("render openai", cost("render openai", "floor"))
    yield judged("render: OpenAI in at most 1.5 times a plain loop", floor, 1.5, "x")
    copied = ratio("render openai, one more", cost("render openai, one more", "floor"))
    yield judged("render: one more message in at most 2 times `dict.copy` of each message", copied, 2.0, "x")
    for wire in ("anthropic", "gemini"):
        yield judged(
            f"render: {wire} within 2 times of OpenAI's figure", ratio(f"render {wire}", openai), 2, "x"
        )
    for way in ("within a tenth", "with all of it"):
        yield judged(f"a turn {way}: at most 0.3 ms", cost(f"turn {way}"), 0.3, " ms")
    yield judged(
        "a turn: ahead of every peer", ratio("turn within a tenth", min(peers, default=None)), 1, "x"
    )


def main() -> None:
    parser = page.options(__doc__)
    parser.add_argument("--peers", metavar="PYTHON", help="the Python that has the peers")
    parser.add_argument("--only", choices=WORK, nargs="+", default=WORK)
    parser.add_argument("--libraries", choices=[*OURS, *PEERS], nargs="+", default=[*OURS, *PEERS])
    parser.add_argument("--sizes", type=int, nargs="+", default=[*SIZES])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="small sizes and no peers")
    parser.add_argument("--one", nargs=2, metavar=("LIBRARY", "WORKLOAD"), help="in this process")
    options = parser.parse_args()
    if options.one:
        for line in measure_one(*options.one, options.sizes):
            print(json.dumps(line), flush=True)
        return
    if options.quick:
        options.peers, options.sizes = None, [100, 1_000]
    if options.peers and not Path(options.peers).exists():
        parser.error(f"there is no {options.peers}; make .venv-peers/.done sets the peers up")
    cells, faults = measure(options)
    page.report(options, {"run": report(cells)}, {"cells": cells, "faults": faults})


if __name__ == "__main__":
    main()
