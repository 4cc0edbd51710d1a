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
    """Whether a report has a fault, so that another round would tell nothing new."""
    return any("fault" in line for line in report["lines"])


def merged(reports: Sequence[Report]) -> Report:
    """One report: the best of the bests, the median of the medians, the faults of the last round."""
    rounds = [{_key(line): line for line in report["lines"]} for report in reports]
    lines = [
        line if "fault" in line else _merged([found[key] for found in rounds if "best" in found.get(key, {})])
        for key, line in rounds[-1].items()
    ]
    return reports[-1] | {"lines": lines}


def _merged(lines: Sequence[Report]) -> Report:
    return lines[0] | {
        "best": min(line["best"] for line in lines),
        "median": median(line["median"] for line in lines),
        "runs": sum(line["runs"] for line in lines),
    }


def _key(line: Report) -> tuple[Any, Any]:
    return line.get("size"), line.get("way")
