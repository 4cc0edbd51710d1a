"""The page of a run, in Markdown; a part of it belongs to other scripts and survives each writing."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from aims import judged
from tables import Table, grid, tables

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
