"""Clocked calls: the best and the median of several, with a limit on how long one may take."""

import gc
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from statistics import median
from time import perf_counter
from typing import Any


class TooSlow(BaseException):
    """One call took longer than it may. Not an `Exception`, because a library may swallow those."""


@dataclass(frozen=True)
class Patience:
    """How long to measure: fewest and most runs, seconds in all, and a limit for one call."""

    fewest: int = 5
    most: int = 200
    seconds: float = 2.0
    limit: float = 20.0


@dataclass(frozen=True)
class Clocked:
    """Seconds that one call took, and in how many runs that was found."""

    best: float
    median: float
    runs: int


def clocked(call: Callable[[Any], object], ready: Callable[[], Any], patience: Patience) -> Clocked:
    """Time `call(ready())` over and over; making ready and letting go of the result are not timed."""
    samples: list[float] = []
    spent = 0.0
    while not _enough(samples, spent, patience):
        start = perf_counter()
        samples.append(_once(call, ready(), patience.limit))
        spent += perf_counter() - start
    return Clocked(min(samples), median(samples), len(samples))


def clocked_in_a_row(call: Callable[[Any], object], ready: Callable[[], Any], patience: Patience) -> Clocked:
    """Time calls that follow one another, each on what was made ready for it before the first.

    Making ready and letting go of the results are not timed.
    """

    def row(things: list[Any]) -> list[float]:
        taken: list[float] = []
        results: list[object] = []
        for thing in things:
            start = perf_counter()
            result = call(thing)
            taken.append(perf_counter() - start)
            results.append(result)
        return taken

    samples: list[float] = []
    spent = 0.0
    while not _enough(samples, spent, patience):
        start = perf_counter()
        things = [ready() for _ in range(20)]
        gc.collect()
        samples.extend(row(things))
        spent += perf_counter() - start
    return Clocked(min(samples), median(samples), len(samples))


def clocked_in_bulk(call: Callable[[], object], patience: Patience) -> Clocked:
    """Time a call too short for the clock as the average of as many as fill two milliseconds."""
    number = max(1, int(0.002 / max(_once(lambda _: call(), None, patience.limit), 1e-7)))

    def many(_: object) -> None:
        for _ in range(number):
            call()

    found = clocked(many, lambda: None, patience)
    return Clocked(found.best / number, found.median / number, found.runs)


def _enough(samples: list[float], spent: float, patience: Patience) -> bool:
    if samples and sum(samples) > patience.limit / 2:
        return True  # so slow that the noise of the machine does not matter
    return len(samples) >= patience.most or (len(samples) >= patience.fewest and spent > patience.seconds)


def _once(call: Callable[[Any], object], argument: Any, limit: float) -> float:
    gc.collect()
    with _limited(limit):
        start = perf_counter()
        kept = call(argument)
        taken = perf_counter() - start
    del kept
    return taken


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    previous = signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def _stop(_number: int, _frame: object) -> None:
    raise TooSlow


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
