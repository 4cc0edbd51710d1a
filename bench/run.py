"""Measures Quire, its floors and its peers in one run; prints tables and can write the page about it.

Each library gets a process of its own for each workload: `run.py --one LIBRARY WORKLOAD`.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import page
from libraries import LEFT_OUT, OURS, PEERS, Adapter, adapter
from page import Results, as_dicts, as_text, grid, judged, tables
from workloads import SIZES, WORKLOADS, Patience, TooSlow

Report = dict[str, Any]
LONGEST = 900.0
"""Seconds that one library may take with one workload, sizes and runs together."""


def main() -> None:
    """Measure Quire, its floors and its peers."""
    options = _options()
    if options.one:
        print(json.dumps(_one(*options.one, options)))
        return
    report = _report(options)
    # Before anything is made of it: a long run is not to be lost to a fault in a table.
    print(json.dumps(report) if options.json else _as_text(report), flush=True)
    if options.write:
        page.write(options.write, report)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument(
        "--peers", metavar="PYTHON", help="the Python that has the peers; without it there are none"
    )
    parser.add_argument("--write", metavar="FILE", type=Path, help="write a page in Markdown")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument(
        "--sizes", type=int, nargs="+", help="numbers of messages, where a workload goes that far"
    )
    parser.add_argument("--only", choices=[*WORKLOADS, "import"], nargs="+", default=[*WORKLOADS, "import"])
    parser.add_argument("--libraries", choices=[*OURS, *PEERS], nargs="+", default=[*OURS, *PEERS])
    parser.add_argument("--rounds", type=int, default=3, help="how often each library gets its turn")
    parser.add_argument("--before", metavar="SRC", type=Path, help="an earlier source tree, measured beside")
    parser.add_argument("--one", nargs=2, metavar=("LIBRARY", "WORKLOAD"), help="in this process, as JSON")
    parser.add_argument("--patience", type=float, nargs=3, metavar=("RUNS", "SECONDS", "LIMIT"))
    parser.add_argument("--quick", action="store_true", help="a smoke test: small, few runs, no peers")
    options = parser.parse_args()
    if options.patience:
        runs, seconds, limit = options.patience
        options.patience = Patience(fewest=int(runs), seconds=seconds, limit=limit)
    else:
        options.patience = Patience(3, 20, 0.2, 5.0) if options.quick else _share(Patience(), options.rounds)
    if options.peers and not Path(options.peers).exists():
        parser.error(f"there is no {options.peers}; make .venv-peers/.done sets the peers up")
    if not options.before:
        options.libraries = [name for name in options.libraries if name != "before"]
    if options.quick:
        options.peers, options.sizes, options.rounds = None, options.sizes or [100, 1_000], 1
    return options


def _report(options: argparse.Namespace) -> dict[str, Any]:
    machine = _machine()
    pythons = dict.fromkeys(OURS, sys.executable) | (
        dict.fromkeys(PEERS, options.peers) if options.peers else {}
    )
    chosen = {name: python for name, python in pythons.items() if name in options.libraries}
    results: Results = {}
    for workload in options.only:
        results[workload] = _in_rounds(workload, chosen, options)
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "machine": machine,
        "versions": _versions(results),
        "settings": _settings(options),
        "left_out": LEFT_OUT,
        "results": results,
        "aims": as_dicts(judged(results)),
    }


def _in_rounds(workload: str, pythons: dict[str, str], options: argparse.Namespace) -> dict[str, Report]:
    found: dict[str, list[Report]] = {name: [] for name in pythons}
    for _ in range(options.rounds):
        for name, python in pythons.items():
            if not found[name] or not _failed(found[name][-1]):
                found[name].append(_measured(workload, name, python, options))
    return {name: _merged(reports) for name, reports in found.items()}


def _measured(workload: str, library: str, python: str, options: argparse.Namespace) -> dict[str, Any]:
    print(f"{workload:9} {library:14}", end="", file=sys.stderr, flush=True)
    start = time.perf_counter()
    environment = _environment(options.before if library == "before" else None)
    if workload == "import":
        found = _import_report(python, library, 3 if options.quick else 5, environment)
    else:
        found = _worked(workload, library, python, options, environment)
    faults = "; ".join(line["fault"] for line in found["lines"] if "fault" in line)
    print(f"{time.perf_counter() - start:7.1f} s  {faults}", file=sys.stderr)
    return found


def _worked(
    workload: str, library: str, python: str, options: argparse.Namespace, environment: dict[str, str]
) -> dict[str, Any]:
    reach = SIZES[workload]
    sizes = [size for size in options.sizes or reach if reach[0] <= size <= reach[-1]]
    patience: Patience = options.patience
    limits = (patience.fewest, patience.seconds, patience.limit)
    command = [python, __file__, "--one", library, workload, "--patience", *map(str, limits)]
    command += ["--sizes", *map(str, sizes)]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        return {"lines": [{"fault": f"did not end within {LONGEST:g} s"}]}
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["ended without a word"])[-1]
        return {"lines": [{"fault": re.sub(r" \(/[^)]*\)", "", last)[:200]}]}
    return json.loads(done.stdout.splitlines()[-1])


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    chosen = {"peers": bool(options.peers), "quick": options.quick, "rounds": options.rounds}
    return chosen | vars(options.patience)


def _machine() -> dict[str, Any]:
    return {
        "cpu": platform.machine(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
    }


def _versions(results: Results) -> dict[str, str]:
    reports = [report for libraries in results.values() for report in libraries.values()]
    return {report["package"]: report["version"] for report in reports if "package" in report}


def _as_text(report: dict[str, Any]) -> str:
    parts = []
    for table in tables(report["results"]):
        parts += [f"\n{table.title} ({table.unit})", as_text(*grid(table))]
    lines = [(aim["aim"], aim["measured"], aim["verdict"]) for aim in report["aims"]]
    return "\n".join([*parts, "\nAims", as_text(("aim", "measured", "verdict"), lines)])


# --- rounds ----------------------------------------------------------------------------------------------


def _share(patience: Patience, rounds: int) -> Patience:
    """What one of several rounds may take, so that all of them take what one would."""
    runs = -(-patience.fewest // rounds)
    return replace(patience, fewest=runs, most=-(-patience.most // rounds), seconds=patience.seconds / rounds)


def _failed(report: Report) -> bool:
    """Whether something failed, so that another round would tell nothing new; a missing way is no failure."""
    return any("fault" in line and "way" not in line for line in report["lines"])


def _merged(reports: Sequence[Report]) -> Report:
    """One report: the best of the bests, the median of the medians, and what failed in any round."""
    found: dict[tuple[Any, Any], list[Report]] = {}
    faults: list[Report] = []
    for line in (line for report in reports for line in report["lines"]):
        if line in faults:
            continue
        if "fault" in line:
            faults.append(line)
        else:
            found.setdefault((line.get("size"), line.get("way")), []).append(line)
    about = {name: value for report in reports for name, value in report.items()}
    return about | {"lines": [*map(_best, found.values()), *faults]}


def _best(lines: Sequence[Report]) -> Report:
    return lines[0] | {
        "best": min(line["best"] for line in lines),
        "median": median(line["median"] for line in lines),
        "runs": sum(line["runs"] for line in lines),
    }


# --- one library with one workload -----------------------------------------------------------------------


def _one(name: str, workload: str, options: argparse.Namespace) -> Report:
    warnings.simplefilter("ignore")
    library = adapter(name)
    sizes = options.sizes or SIZES[workload]
    return _about(library, workload) | {"lines": _lines(library, workload, sizes, options.patience)}


def _lines(library: Adapter, workload: str, sizes: Sequence[int], patience: Patience) -> list[Report]:
    """One line for each size and each way; after a size that took too long, larger ones are not tried."""
    if workload in library.absent:
        return [{"fault": library.absent[workload]}]
    lines: list[Report] = []
    for size in sizes:
        try:
            found = WORKLOADS[workload](library, size, patience)
        except TooSlow:
            return [*lines, {"size": size, "fault": f"over {patience.limit:g} s at N = {size:,}"}]
        except Exception as fault:
            return [*lines, {"size": size, "fault": f"{type(fault).__name__}: {fault}"[:200]}]
        lines += [{"size": size, "way": way, **figures} for way, figures in found.items()]
    return lines + _never_tried(library, workload)


def _never_tried(library: Adapter, workload: str) -> list[Report]:
    """A line for each way of a workload that the library does not have."""
    lacks = [(name.partition(" "), why) for name, why in library.absent.items()]
    return [{"way": way, "fault": why} for (of, _, way), why in lacks if of == workload and way]


def _about(library: Adapter, workload: str) -> dict[str, Any]:
    by = ("tokens" if library.by_tokens else "count") if workload == "truncate" else ""
    return {
        "package": library.package,
        "version": version(library.package),
        "how": library.how.get(workload, ""),
        "validates": library.validates,
        "by": by,
    }


# --- imports --------------------------------------------------------------------------------------------

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


def _environment(source: Path | None = None) -> dict[str, str]:
    """The environment of a measured process: bytecode is kept, and hashes are the same in each run.

    `source` is a source tree to import from in place of what is installed.
    """
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONHASHSEED": "0"} | ({"PYTHONPATH": str(source)} if source else {})


def _import_time(python: str, module: str, runs: int, env: dict[str, str]) -> dict[str, Any]:
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


def _import_report(python: str, library: str, runs: int, env: dict[str, str]) -> dict[str, Any]:
    """All that is imported to use a library."""
    return {"how": "", "lines": [_import_time(python, module, runs, env) for module in MODULES[library]]}


def _start(python: str, statement: str, env: dict[str, str]) -> float:
    start = time.perf_counter()
    subprocess.run([python, "-c", statement], env=env, check=True, capture_output=True)
    return 1e3 * (time.perf_counter() - start)


if __name__ == "__main__":
    main()
