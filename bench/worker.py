"""Measures one library with one workload, in a process of its own."""

import argparse
import json
import sys
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from libraries import OURS, PEERS, Adapter, adapter
from timing import Patience, TooSlow
from workloads import SIZES, UNITS, WORKLOADS

Line = dict[str, Any]


def measure(library: Adapter, workload: str, sizes: Sequence[int], patience: Patience) -> list[Line]:
    """One line for each size and each way; after a size that took too long, larger ones are not tried."""
    if workload in library.absent:
        return [{"fault": library.absent[workload]}]
    lines: list[Line] = []
    for size in sizes:
        try:
            found = WORKLOADS[workload](library, size, patience)
        except TooSlow:
            return [*lines, {"size": size, "fault": f"over {patience.limit:g} s at N = {size:,}"}]
        except Exception as fault:
            return [*lines, {"size": size, "fault": f"{type(fault).__name__}: {fault}"[:200]}]
        lines += [{"size": size, "way": way, **figures} for way, figures in found.items()]
    return lines + _never_tried(library, workload)


def _never_tried(library: Adapter, workload: str) -> list[Line]:
    """A line for each way of a workload that the library does not have."""
    lacks = [(name.partition(" "), why) for name, why in library.absent.items()]
    return [{"way": way, "fault": why} for (of, _, way), why in lacks if of == workload and way]


def main() -> None:
    """Measure one library with one workload."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("library", choices=[*OURS, *PEERS])
    parser.add_argument("workload", choices=WORKLOADS)
    parser.add_argument("--sizes", type=int, nargs="+")
    parser.add_argument("--runs", type=int, default=Patience.fewest, help="at least so many")
    parser.add_argument("--seconds", type=float, default=Patience.seconds, help="for one size, about")
    parser.add_argument("--limit", type=float, default=Patience.limit, help="seconds that one call may take")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    patience = Patience(fewest=options.runs, seconds=options.seconds, limit=options.limit)
    library = adapter(options.library)
    lines = measure(library, options.workload, options.sizes or SIZES[options.workload], patience)
    _print(_about(library, options.workload) | {"lines": lines}, UNITS[options.workload], options.json)


def _about(library: Adapter, workload: str) -> dict[str, Any]:
    by = ("tokens" if library.by_tokens else "count") if workload == "truncate" else ""
    return {
        "package": library.package,
        "version": version(library.package),
        "how": library.how.get(workload, ""),
        "validates": library.validates,
        "by": by,
    }


def _print(report: dict[str, Any], unit: str, as_json: bool) -> None:
    if as_json:
        print(json.dumps(report))
        return
    print(f"{report['how']}; {unit}")
    for line in report["lines"]:
        if "fault" in line:
            print(f"  not measured: {line['fault']}")
        else:
            print(
                "  N = {size:<8,} {way:36} best {best:12.3f}  median {median:12.3f}  {runs} runs".format(
                    **line
                )
            )


if __name__ == "__main__":
    sys.exit(main())
