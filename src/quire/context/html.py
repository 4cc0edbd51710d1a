"""Receipts as HTML, for notebooks: a bar of the budget, and tables.

All texts are escaped. There are no scripts or styles, only attributes, so that pages with a strict content
policy can show them. Such a page may set colours for the classes `section-0` to `section-7`.
"""

from collections.abc import Sequence
from html import escape

from quire.context.entries import not_shown
from quire.context.table import AnyReceipt, receipt_rows, sizes_of

COLOURS = ("#6e8efb", "#35b597", "#e0a03c", "#d9688f", "#8f7ae5", "#4aa8d8", "#9bb04a", "#b98a6a")
"""The colours of the sections in order, readable on light and dark pages."""

_WIDTH, _HEIGHT = 1_000, 26
_MAX_GROUPS = 20


def budget_bar(receipt: AnyReceipt) -> str:
    """Return the budget of a request as SVG: its sections, the free tokens, and the reserve for the answer.

    If the error of the counter is known, a band shows the possible range of the total.
    """
    tokens, reserve, sizes = receipt.tokens, receipt.reserve or 0, sizes_of(receipt)
    unit = _WIDTH / max(receipt.available + reserve, tokens, 1)
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
        drawn.append(_rect(receipt.available * unit, reserve * unit, grey, text))
    error = receipt.count_error
    if error is not None:
        start, stop = max(end * (1 - error), 0), min(end * (1 + error), _WIDTH)
        text = f"the count may be off by {error:.1%}: {round(tokens * error):,} tokens"
        band = 'class="error" fill="currentColor" opacity="0.6"'
        drawn.append(_rect(start, max(stop - start, 2), band, text, y=_HEIGHT / 3, height=_HEIGHT / 3))
    return (
        f'<svg class="quire-budget" role="img" aria-label="{tokens:,} of {receipt.available:,} tokens" '
        f'width="100%" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio="none">'
        f"{''.join(drawn)}</svg>"
    )


def receipt_html(receipt: AnyReceipt) -> str:
    """Return a receipt as HTML: the bar, the sections, the candidates that are not shown, the advice."""
    head, *lines = receipt_rows(receipt)
    rows = [
        (_swatch(number) if number < len(sizes_of(receipt)) else "", *map(escape, row))
        for number, row in enumerate(lines)
    ]
    absent = not_shown(receipt.entries)
    groups = [tuple(map(escape, (row.section, row.fate, f"{row.items:,}", row.reason))) for row in absent]
    if len(groups) > _MAX_GROUPS:
        groups[_MAX_GROUPS:] = [("", "", f"{len(groups) - _MAX_GROUPS:,}", "more groups")]
    table = _table(("not shown", "fate", "items", "reason"), groups) if groups else ""
    advice = "".join(f"<p>{escape(note)}</p>" for note in receipt.advice)
    return f'<div class="quire-receipt">{budget_bar(receipt)}{_table(("", *head), rows)}{table}{advice}</div>'


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
