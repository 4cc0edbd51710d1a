"""Receipts for people: a table in a terminal, and one in a notebook."""

from collections.abc import Sequence
from html import escape

Row = tuple[str, str, str, str, str]

TITLES: Row = ("section", "tokens", "shown", "left out", "")


def as_table(rows: Sequence[Row], notes: Sequence[str]) -> str:
    """Section by section, as text."""
    table = [TITLES, *rows]
    widths = [max(len(row[column]) for row in table) for column in range(len(TITLES))]
    lines = [_aligned(row, widths) for row in table]
    lines.insert(1, "-" * max(map(len, lines)))
    return "\n".join((*lines, *(f"! {note}" for note in notes)))


def as_html(rows: Sequence[Row], notes: Sequence[str]) -> str:
    """Section by section, as HTML."""
    head = "".join(f"<th>{escape(title)}</th>" for title in TITLES)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    told = "".join(f"<p>{escape(note)}</p>" for note in notes)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{told}"


def _aligned(row: Row, widths: Sequence[int]) -> str:
    name, *numbers, note = row
    aligned = [number.rjust(width) for number, width in zip(numbers, widths[1:-1], strict=True)]
    return "  ".join((name.ljust(widths[0]), *aligned, note)).rstrip()
