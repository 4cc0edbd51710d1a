"""Receipts as HTML, for notebooks: a bar of the budget, and tables.

All texts are escaped. There are no scripts and no styles, only attributes: a page with a strict policy shows
it too. Such a page may colour the classes `section-0` to `section-7` itself.
"""

from collections.abc import Sequence
from html import escape

from quire.context.entries import not_shown
from quire.context.table import Told, receipt_rows, sizes_of

COLOURS = ("#6e8efb", "#35b597", "#e0a03c", "#d9688f", "#8f7ae5", "#4aa8d8", "#9bb04a", "#b98a6a")
"""Of the sections in order, readable on a light and on a dark page."""

_WIDTH, _HEIGHT = 1_000, 26
_MOST_GROUPS = 20


def budget_bar(told: Told) -> str:
    """Return the budget of a request as SVG: its sections, what is free, and the reserve for the answer.

    If it is known how far off the counter was, a band shows how many tokens there may be.
    """
    tokens, reserve, sizes = told.tokens, told.reserve or 0, sizes_of(told)
    unit = _WIDTH / max(told.available + reserve, tokens, 1)
    counted = sum(sizes.values())
    drawn, at = [_rect(0, _WIDTH, 'class="free" fill="currentColor" opacity="0.07"')], 0.0
    for number, (name, size) in enumerate(sizes.items()):
        width = size * unit * min(tokens / max(counted, 1), 1)
        drawn.append(_rect(at, width, _coloured(number), f"{name}: {size:,} tokens"))
        at += width
    end = tokens * unit
    if tokens > counted:
        text = f"overhead: {tokens - counted:,} tokens"
        drawn.append(_rect(at, end - at, 'class="overhead" fill="currentColor" opacity="0.45"', text))
    if reserve:
        text = f"kept free for the answer: {reserve:,} tokens"
        grey = 'class="reserve" fill="currentColor" opacity="0.22"'
        drawn.append(_rect(told.available * unit, reserve * unit, grey, text))
    if told.error is not None:
        start, stop = max(end * (1 - told.error), 0), min(end * (1 + told.error), _WIDTH)
        text = f"the count may be off by {told.error:.1%}: {round(tokens * told.error):,} tokens"
        band = 'class="error" fill="currentColor" opacity="0.6"'
        drawn.append(_rect(start, max(stop - start, 2), band, text, y=_HEIGHT / 3, height=_HEIGHT / 3))
    return (
        f'<svg class="quire-budget" role="img" aria-label="{tokens:,} of {told.available:,} tokens" '
        f'width="100%" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio="none">'
        f"{''.join(drawn)}</svg>"
    )


def receipt_html(told: Told) -> str:
    """Return a receipt as HTML: its bar, the table of its sections, what is not shown and why, the advice."""
    head, *lines = receipt_rows(told)
    rows = [
        (_swatch(number) if number < len(sizes_of(told)) else "", *map(escape, row))
        for number, row in enumerate(lines)
    ]
    absent = not_shown(told.entries)
    groups = [tuple(map(escape, (one.section, one.fate, f"{one.items:,}", one.reason))) for one in absent]
    if len(groups) > _MOST_GROUPS:
        groups[_MOST_GROUPS:] = [("", "", f"{len(groups) - _MOST_GROUPS:,}", "more groups")]
    table = _table(("not shown", "fate", "items", "reason"), groups) if groups else ""
    advice = "".join(f"<p>{escape(note)}</p>" for note in told.advice)
    return f'<div class="quire-receipt">{budget_bar(told)}{_table(("", *head), rows)}{table}{advice}</div>'


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    names = "".join(f'<th scope="col">{name}</th>' for name in head)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"


def _cell(escaped: str) -> str:
    is_number = escaped.replace(",", "").removeprefix("-").isdigit()
    return f'<td align="{"right" if is_number else "left"}">{escaped}</td>'


def _swatch(number: int) -> str:
    return (
        f'<svg width="10" height="10"><rect width="10" height="10" rx="2" {_coloured(number)}></rect></svg>'
    )


def _coloured(number: int) -> str:
    place = number % len(COLOURS)
    return f'class="section-{place}" fill="{COLOURS[place]}"'


def _rect(
    x: float, width: float, attributes: str, title: str = "", y: float = 0, height: float = _HEIGHT
) -> str:
    place = f'x="{x:.2f}" y="{y:g}" width="{width:.2f}" height="{height:g}"'
    return f"<rect {place} {attributes}>{f'<title>{escape(title)}</title>' if title else ''}</rect>"
