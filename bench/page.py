"""The page of a run: tables with ratios to the floor and the best peer, aims, and the Markdown of all."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
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


FLAT = 2.0
"""How much dearer the dearest size may be for a cost to be called flat."""


@dataclass(frozen=True)
class Aim:
    """One aim, what was measured, and whether it was met; nothing if there was nothing to judge by."""

    aim: str
    measured: str
    met: bool | None

    @property
    def verdict(self) -> str:
        return {True: "met", False: "fell short", None: "not measured"}[self.met]


def judged(results: Results) -> list[Aim]:
    """All aims, in order."""
    by_key = {table.key: table for table in tables(results)}
    return [*_append(by_key.get("append"), results), *_others(by_key)]


def as_dicts(aims: Sequence[Aim]) -> list[dict[str, object]]:
    """For JSON."""
    return [asdict(aim) | {"verdict": aim.verdict} for aim in aims]


def _append(table: Table | None, results: Results) -> Iterator[Aim]:
    yield _to_floor("append: at most 4 times the floor", table, 4.0)
    rivals = {
        row.library: cost
        for row in (table.rows if table else ())
        if row.is_peer and results["append"][row.library].get("validates")
        if table and (cost := row.at(table.size)) is not None
    }
    ours = _ours(table)
    aim = "append: ahead of every peer that validates"
    if ours is None or not rivals or table is None:
        yield Aim(aim, "-", None)
        return
    nearest = min(rivals, key=lambda name: rivals[name])
    said = f"{number(ours)} µs; the nearest, {nearest}, {number(rivals[nearest])} µs{_where(table)}"
    yield Aim(aim, said, ours < rivals[nearest])


def _others(by_key: dict[str, Table]) -> Iterator[Aim]:
    yield _at_most("memory over the text: at most 350 bytes a message", by_key.get("memory"), 350, "bytes")
    yield _at_most("fork: at most 5 µs", by_key.get("fork"), 5, "µs")
    yield _flat("fork: flat from 100 to 100,000 messages", by_key.get("fork"))
    yield _at_most("truncating to a tenth: at most 0.3 ms", by_key.get("truncate"), 0.3, "ms")
    yield _flat("one more message and the total of tokens: flat, nothing counted again", by_key.get("tokens"))
    yield _to_floor("encode: at most 1.3 times plain msgspec", by_key.get("codec dump"), 1.3)
    yield _to_floor("decode: at most 1.6 times plain msgspec", by_key.get("codec load"), 1.6)
    yield from _render(by_key)
    yield from _turn(by_key)
    yield _import("`import quire`: at most 60 ms", by_key.get("import"), 60)


def _render(by_key: dict[str, Table]) -> Iterator[Aim]:
    openai, more = by_key.get("render openai"), by_key.get("render openai, one more")
    yield _to_floor("render: the whole OpenAI payload in at most 1.5 times a plain loop", openai, 1.5)
    yield _at_most("render: one more message and again in at most 0.1 ms", more, 0.1, "ms")
    for wire in ("Anthropic", "Gemini"):
        table = by_key.get(f"render {wire.lower()}")
        aim = f"render: {wire} within 2 times of OpenAI's figure"
        yield _to_other(aim, table, openai.ours if openai else None, 2.0)


def _turn(by_key: dict[str, Table]) -> Iterator[Aim]:
    tenth, whole = by_key.get("turn within a tenth"), by_key.get("turn with all of it")
    yield _at_most("a turn within a tenth: at most 0.3 ms", tenth, 0.3, "ms")
    yield _at_most("a turn with all of it: at most 0.3 ms", whole, 0.3, "ms")


def _at_most(aim: str, table: Table | None, limit: float, unit: str) -> Aim:
    ours = _ours(table)
    if ours is None or table is None:
        return Aim(aim, "-", None)
    return Aim(aim, f"{number(ours)} {unit}{_where(table)}", ours <= limit)


def _import(aim: str, table: Table | None, limit: float) -> Aim:
    found = {row.how: row.at(0) for row in table.rows if row.library == "quire"} if table else {}
    ours = found.get("`import quire`")
    if ours is None:
        return Aim(aim, "-", None)
    # The top module may leave its rooms for later, so what they take is said too.
    return Aim(aim, ", ".join(f"{how} {number(cost)} ms" for how, cost in found.items()), ours <= limit)


def _to_floor(aim: str, table: Table | None, limit: float) -> Aim:
    return _to_other(aim, table, table.floor if table else None, limit)


def _to_other(aim: str, table: Table | None, other: Row | None, limit: float) -> Aim:
    ratio = table.ratio(table.ours, other) if table and table.ours else None
    if ratio is None or table is None:
        return Aim(aim, "-", None)
    return Aim(aim, f"{times(ratio)}{_where(table)}", ratio <= limit)


def _flat(aim: str, table: Table | None) -> Aim:
    costs = _costs(table.ours) if table and table.ours else {}
    if not {100, 100_000} <= costs.keys():
        return Aim(aim, "-", None)
    said = ", ".join(f"{number(cost)} µs at {size:,}" for size, cost in costs.items())
    return Aim(aim, said, max(costs.values()) <= FLAT * min(costs.values()))


def _costs(row: Row) -> dict[int, float]:
    return {size: line["best"] for size, line in sorted(row.cells.items())}


def _ours(table: Table | None) -> float | None:
    return table.ours.at(table.size) if table and table.ours else None


def _where(table: Table) -> str:
    return f" at N = {table.size:,}" if table.size else ""


BEGIN, END = "<!-- more:begin -->", "<!-- more:end -->"

METHOD = """\
Every library was given the same transcript: about 790 characters a message, every second turn with one to
three tool calls, a third of the tool outputs 2 to 8 KB long; N counts chat messages. Each library builds
its own objects from the same strings. Where a library wants the arguments of a call as a dictionary, they
were parsed for it beforehand. Every library and every workload ran in a process of its own, with the
garbage collector on, and run before each measurement, and had its turn in {rounds} rounds. A fork, and a
total of tokens that is kept, is the average of many calls in a row; short truncations, and short payloads
after one more message, are timed in a row and, on a line of their own, right after a collection; all else
is one call right after a collection, so with cold caches. Figures are the best of the runs; the median,
at the size that the ratios are taken at, shows the spread. A call that took longer than {limit:g} s was
stopped. The floor is plain Python: structs of the same fields with ids and times and no checks, in a list.
A ratio below 1 means less than the floor, or less than the best peer.
"""
NOTES = {
    "append": "From strings to the last append. Some libraries make several records of a message with calls.",
    "memory": "Traced allocations of the filled history, less the size of the strings it was given.",
    "fork": "One copy that can be changed without changing the original, made and let go.",
    "truncate": "The first count of tokens is not part of it. The best peer is one that cuts by tokens;"
    " to cut by count needs no sizes.",
    "tokens": "One message built and appended to a history that was counted before, and the total asked for.",
    "codec dump": "The whole history.",
    "codec load": "The whole history.",
    "render openai": "From a history that was not rendered before to what the client is given; no tools are"
    " defined, and nothing becomes JSON text.",
    "render openai, one more": "One message built and appended to a history that was rendered before, and the"
    " whole payload again.",
    "render anthropic": "The same for its Messages API: arguments are parsed, roles take turns.",
    "render gemini": "The same for `generate_content`: arguments are parsed, roles take turns.",
    "turn within a tenth": "The budget is a tenth of what the whole history takes; who cuts in place is given"
    " a whole one for each turn, copied off the clock.",
    "turn with all of it": "The budget is more than the whole history takes.",
    "import": "Beyond the bare start of the interpreter, bytecode written.",
}


def write(path: Path, report: dict[str, Any]) -> None:
    """Write the page, with what stood between the markers."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render(report, _kept(path)), encoding="utf-8")


def render(report: dict[str, Any], more: str = "") -> str:
    """The page of a report."""
    results = report["results"]
    parts = [
        "# Benchmarks",
        "Written by `make bench`. Times are of one machine and one day; ratios carry further.",
        _about(report),
        "## Aims",
        _markdown(
            ("aim", "measured", "verdict"), [(aim.aim, aim.measured, aim.verdict) for aim in judged(results)]
        ),
        "## How it was measured",
        METHOD.format(**report["settings"]).strip(),
        *(part for table in tables(results) for part in _section(table)),
        f"{BEGIN}{more or chr(10)}{END}",
        "## Left out",
        _left_out(report),
    ]
    return "\n\n".join(parts) + "\n"


def _about(report: dict[str, Any]) -> str:
    machine = report["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in sorted(report["versions"].items()))
    return (
        f"{report['date']}. {machine['cpu']}, {machine['cores']} cores, {machine['system']},"
        f" load {machine['load']}; Python {machine['python']}. Versions: {versions}."
    )


def _section(table: Table) -> list[str]:
    head, lines = grid(table)
    at = f"; median and ratios at N = {table.size:,}" if table.size else ""
    return [f"## {table.title}", f"{NOTES[table.key]} In {table.unit}{at}.", _markdown(head, lines)]


def _left_out(report: dict[str, Any]) -> str:
    left_out = dict(report["left_out"])
    if not report["settings"]["peers"]:
        left_out = {"All peers": "this run was without them"}
    return "\n".join(f"- {name}: {reason}." for name, reason in left_out.items())


def _markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rule = ["---", *("---:" if len(head) > 3 else "---" for _ in head[2:]), "---"]
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, rule, *lines))


def _kept(path: Path) -> str:
    if not path.exists():
        return ""
    text = path.read_text(encoding="utf-8")
    if BEGIN not in text or END not in text:
        return ""
    return text.partition(BEGIN)[2].partition(END)[0]
