"""Measured lines side by side: a table for each thing measured, with ratios to floor and best peer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from libraries import OURS
from workloads import UNITS

REFERENCE = 10_000
"""The size at which aims are set and ratios are taken."""

Results = dict[str, dict[str, dict[str, Any]]]
"""By workload and library: what was called, and the lines that the worker gave."""

TITLES = {
    "append": "Append",
    "memory": "Memory",
    "fork": "Fork",
    "truncate": "Truncate to a tenth",
    "tokens": "One more message, then the total of tokens",
    "codec dump": "To JSON",
    "codec load": "From JSON",
    "render openai": "The whole payload for OpenAI",
    "render openai, one more": "One more message, then the payload for OpenAI again",
    "render anthropic": "The whole payload for Anthropic",
    "render gemini": "The whole payload for Gemini",
    "turn within a tenth": "A turn within a tenth: one more message, cut if due, the payload for OpenAI",
    "turn with all of it": "A turn with all of it: one more message, nothing to cut, the payload for OpenAI",
    "import": "Import",
}
SEPARATE = ("codec", "render", "turn")  # their ways are different work, so each has a table of its own


@dataclass
class Row:
    """One library, in one of its ways, at all sizes."""

    library: str
    how: str
    by: str = ""
    cells: dict[int, dict[str, Any]] = field(default_factory=dict)
    fault: str = ""

    @property
    def is_peer(self) -> bool:
        return self.library not in OURS

    def at(self, size: int, figure: str = "best") -> float | None:
        """What was measured at a size."""
        return self.cells[size][figure] if size in self.cells else None


@dataclass
class Table:
    """All rows of one thing measured; `size` is the one that ratios are taken at."""

    key: str
    unit: str
    rows: list[Row]
    sizes: list[int]
    size: int

    @property
    def title(self) -> str:
        return TITLES[self.key]

    @property
    def floor(self) -> Row | None:
        return next((row for row in self.rows if row.library == "floor"), None)

    @property
    def ours(self) -> Row | None:
        return next((row for row in self.rows if row.library == "quire"), None)

    @property
    def best_peer(self) -> Row | None:
        """The fastest peer; where there is a choice, of those that do the same and cut by tokens."""
        peers = [
            row for row in self.rows if row.is_peer and row.at(self.size) is not None and row.by != "count"
        ]
        return min(peers, key=lambda row: row.cells[self.size]["best"], default=None)

    def ratio(self, row: Row, other: Row | None) -> float | None:
        """How many times as much a row takes as another."""
        mine, theirs = row.at(self.size), other.at(self.size) if other else None
        return None if mine is None or not theirs else mine / theirs


def tables(results: Results) -> list[Table]:
    """The tables of a run, in the order of `TITLES`."""
    found: dict[str, list[Row]] = {}
    for workload, libraries in results.items():
        for library, report in libraries.items():
            for key, row in _rows(workload, library, report):
                found.setdefault(key, []).append(row)
    return [_table(key, found[key]) for key in TITLES if key in found]


def _table(key: str, rows: list[Row]) -> Table:
    sizes = sorted({size for row in rows for size in row.cells})
    size = REFERENCE if REFERENCE in sizes else max(sizes, default=0)
    return Table(key, UNITS[key.split()[0]], rows, sizes, size)


def _rows(workload: str, library: str, report: dict[str, Any]) -> Iterator[tuple[str, Row]]:
    measured = [line for line in report["lines"] if "fault" not in line]
    apart = workload in SEPARATE
    for way in _ways(workload, report["lines"]):
        cells = {line.get("size", 0): line for line in measured if line["way"] == way}
        of, _, variant = way.partition(": ") if apart else ("", "", way)
        fault = _fault(way, report["lines"])
        lacking = {"way": way, "fault": fault} in report["lines"]
        how = "" if lacking else variant or report.get("how", "")
        yield f"{workload} {of}".strip(), Row(library, how, report.get("by", ""), cells, fault)


def _ways(workload: str, lines: Sequence[dict[str, Any]]) -> list[str]:
    """The ways that a library has, and after them those that it should have had."""
    found = [line["way"] for line in lines if "way" in line]
    wanted = [key.partition(" ")[2] for key in TITLES if key.split()[0] == workload in SEPARATE]
    return list(dict.fromkeys([*found, *wanted])) or [""]


def _fault(way: str, lines: Sequence[dict[str, Any]]) -> str:
    """Why a way is not measured, at a size or at all."""
    return next((line["fault"] for line in lines if "fault" in line and line.get("way", way) == way), "")


def number(value: float | None) -> str:
    """A figure with three digits that count."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def times(value: float | None) -> str:
    """A ratio."""
    return "-" if value is None else f"{number(value)}x"


def grid(table: Table) -> tuple[list[str], list[list[str]]]:
    """The head and the lines of a table, as text."""
    head = ["", *(f"N = {size:,}" if size else "best" for size in table.sizes), "median"]
    return [*head, "to the floor", "to the best peer", "what was called"], [
        _line(table, row) for row in table.rows
    ]


def _line(table: Table, row: Row) -> list[str]:
    cells = [number(row.at(size)) for size in table.sizes]
    like = None if row.by == "count" else table.best_peer
    ratios = [times(table.ratio(row, table.floor)), times(table.ratio(row, like))]
    said = "; ".join(filter(None, (row.how, f"not measured: {row.fault}" if row.fault else "")))
    return [row.library, *cells, number(row.at(table.size, "median")), *ratios, said]


def as_text(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Columns for a terminal, the first and last to the left."""
    widths = [max(map(len, column)) for column in zip(head, *lines, strict=True)]
    last = len(head) - 1
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place in (0, last) else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in (head, *lines)
    )
