"""Several rounds of one measurement taken as one, so that a busy minute does not fall on one library."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import median
from typing import Any

from timing import Patience

Report = dict[str, Any]


def share(patience: Patience, rounds: int) -> Patience:
    """What one of several rounds may take, so that all of them take what one would."""
    runs = -(-patience.fewest // rounds)
    return replace(patience, fewest=runs, most=-(-patience.most // rounds), seconds=patience.seconds / rounds)


def failed(report: Report) -> bool:
    """Whether something failed, so that another round would tell nothing new; a missing way is no failure."""
    return any("fault" in line and "way" not in line for line in report["lines"])


def merged(reports: Sequence[Report]) -> Report:
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
    return about | {"lines": [*map(_merged, found.values()), *faults]}


def _merged(lines: Sequence[Report]) -> Report:
    return lines[0] | {
        "best": min(line["best"] for line in lines),
        "median": median(line["median"] for line in lines),
        "runs": sum(line["runs"] for line in lines),
    }
