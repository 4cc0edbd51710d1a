"""The page of figures: tables in Markdown, and the parts of the page that each script writes."""

import argparse
import re
from collections.abc import Sequence
from pathlib import Path


def options(doc: str | None) -> argparse.ArgumentParser:
    """A parser with the options that all scripts have."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=doc, formatter_class=raw)
    parser.add_argument("--json", action="store_true", help="print JSON in place of tables")
    parser.add_argument(
        "--page", metavar="FILE", type=lambda path: Path(path).resolve(), help="write the tables to this page"
    )
    return parser


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
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in (head, rule, *rows))


def number(value: float | None) -> str:
    """A figure with three significant digits."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
