"""The page of figures: tables in Markdown, and the parts of the page that each script writes."""

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def options(doc: str | None) -> argparse.ArgumentParser:
    """A parser with the options that all scripts have."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=doc, formatter_class=raw)
    parser.add_argument("--json", action="store_true", help="print JSON in place of tables")
    parser.add_argument(
        "--page", metavar="FILE", type=lambda path: Path(path).resolve(), help="write the tables to this page"
    )
    return parser


def report(options: argparse.Namespace, parts: dict[str, str], figures: Any) -> None:
    """Print the parts of the page, or the figures as JSON; write the parts between their marks."""
    print(json.dumps(figures) if options.json else "\n\n".join(parts.values()))
    for name, text in parts.items():
        write(options.page, name, text)


def write(page: Path | None, name: str, text: str) -> None:
    """Put a text between the marks of a name, if there is a page."""
    if page is None:
        return
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    whole = page.read_text(encoding="utf-8")
    if begin not in whole or end not in whole:
        raise SystemExit(f"{page} has no {begin} and {end}")
    found = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    page.write_text(found.sub(lambda _: f"{begin}\n{text}\n{end}", whole), encoding="utf-8")


def table(head: Sequence[str], rows: Sequence[Sequence[object]], left: int = 1) -> str:
    """A table in Markdown; all but the first `left` columns are aligned to the right."""
    rule = ["---" if place < left else "---:" for place in range(len(head))]
    cells = [[number(cell) for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, rule, *cells))


def number(value: object) -> str:
    """A cell: a whole number with commas, another one with three significant digits."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def progress(text: str) -> None:
    """Say on standard error what is measured."""
    print(text, file=sys.stderr, flush=True)
