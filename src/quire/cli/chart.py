"""Charts of lines, as SVG: panels one below the other over the same steps, with one legend.

Nothing but text is needed to make one. It is the same for the same, and fits light pages and dark ones.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from math import floor, log10
from typing import NamedTuple
from xml.sax.saxutils import escape

WIDTH, LEFT, RIGHT = 980, 76, 746
_TOP, _HEIGHT, _GAP = 92, 190, 58
_LEGEND = RIGHT + 24
_COLUMN = 2  # pixels

_LIGHT = ("#0072b2", "#d55e00", "#00875f", "#b8448c", "#8a6d00", "#6a3d9a", "#a32020", "#707070")
_DARK = ("#5ab8f0", "#ff9147", "#35d3a4", "#f09ad0", "#e3c74a", "#bda4f5", "#ff8585", "#a8a8a8")
_DASHES = ("none", "8 3", "3 3", "9 3 2 3", "none", "8 3", "3 3", "1 3")
"""Lines differ by more than their colour."""


class Line(NamedTuple):
    """One line: `style` is which of eight it looks like; a point is a step and a value."""

    name: str
    note: str
    style: int
    points: Sequence[tuple[int, float]]


class Panel(NamedTuple):
    """Lines over the same steps, up to a `highest` value; `limit` is one to be seen, with its name."""

    title: str
    lines: Sequence[Line]
    highest: float
    limit: tuple[float, str] | None = None


def drawn(title: str, subtitle: str, panels: Sequence[Panel], steps: str, breaks: Sequence[int] = ()) -> str:
    """The chart as a document; `steps` says what is counted below, and `breaks` are steps to be marked."""
    last = max((x for panel in panels for line in panel.lines for x, _ in line.points), default=1)
    height = _TOP + len(panels) * (_HEIGHT + _GAP) + 14
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>{_text(title)}</title>",
        f"<desc>{_text(subtitle)}</desc>",
        f"<style>{_style()}</style>",
        f'<rect class="paper" width="{WIDTH}" height="{height}"/>',
        f'<text class="title" x="{LEFT}" y="34">{_text(title)}</text>',
        f'<text x="{LEFT}" y="55">{_text(subtitle)}</text>',
    ]
    for number, panel in enumerate(panels):
        parts += _panel(panel, number, _TOP + number * (_HEIGHT + _GAP), max(last, 2), breaks)
    parts.append(f'<text class="middle" x="{(LEFT + RIGHT) / 2:.0f}" y="{height - 16}">{_text(steps)}</text>')
    parts += _legend(panels[0].lines) if panels else ()
    return "\n".join((*parts, "</svg>")) + "\n"


def _panel(panel: Panel, number: int, top: int, last: int, breaks: Sequence[int]) -> Iterator[str]:
    bottom = top + _HEIGHT
    scale = _HEIGHT / panel.highest
    yield f'<text class="head" x="{LEFT}" y="{top - 10}">{_text(panel.title)}</text>'
    for value in _ticks(panel.highest):
        y = bottom - value * scale
        yield f'<path class="grid" d="M{LEFT} {y:.1f}H{RIGHT}"/>'
        yield f'<text class="end" x="{LEFT - 8}" y="{y + 4:.1f}">{_number(value)}</text>'
    for step in breaks:
        yield f'<path class="break" d="M{_x(step, last):.1f} {top}V{bottom}"/>'
    for value in _ticks(last, most=12, least=1)[1:]:  # there is no step 0
        yield f'<text class="middle" x="{_x(value, last):.1f}" y="{bottom + 18}">{_number(value)}</text>'
    frame = f"M{LEFT} {top - 1}H{RIGHT}V{bottom + 1}H{LEFT}Z"
    yield f'<clipPath id="panel-{number}"><path d="{frame}"/></clipPath>'
    yield f'<g clip-path="url(#panel-{number})">'
    for line in panel.lines:
        yield f'<polyline class="line s{line.style % 8}" points="{_points(line, last, bottom, scale)}"/>'
    yield "</g>"
    if panel.limit is not None:
        y = bottom - panel.limit[0] * scale
        yield f'<path class="limit" d="M{LEFT} {y:.1f}H{RIGHT}"/>'
        yield f'<text class="end" x="{RIGHT - 4}" y="{y - 5:.1f}">{_text(panel.limit[1])}</text>'


def _legend(lines: Sequence[Line]) -> Iterator[str]:
    for number, line in enumerate(lines):
        y = _TOP + 8 + number * 38
        yield f'<path class="line s{line.style % 8}" d="M{_LEGEND} {y}h26"/>'
        yield f'<text class="name" x="{_LEGEND + 34}" y="{y + 4}">{_text(line.name)}</text>'
        yield f'<text x="{_LEGEND + 34}" y="{y + 19}">{_text(line.note)}</text>'


def _points(line: Line, last: int, bottom: int, scale: float) -> str:
    """The points of a line, no more than can be seen: the lowest and the highest of each column."""
    placed = [(_x(step, last), bottom - value * scale) for step, value in line.points]
    shown: list[tuple[float, float]] = []
    for _, column in groupby(placed, key=lambda point: round(point[0] / _COLUMN)):
        alike = list(column)
        ends = {min(alike, key=lambda point: point[1]), max(alike, key=lambda point: point[1])}
        shown += (point for point in dict.fromkeys(alike) if point in ends)
    shown = shown * 2 if len(shown) == 1 else shown  # a point alone is drawn as a line of no length
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in shown)


def _x(step: float, last: int) -> float:
    """Where a step stands; the first is 1."""
    return LEFT + (step - 1) * (RIGHT - LEFT) / (last - 1)


def _ticks(highest: float, most: int = 6, least: float = 0.0) -> list[float]:
    """Round numbers from nothing up to a value, `most` of them after the first, and `least` apart."""
    rough = highest / most
    power = 10.0 ** floor(log10(rough))
    step = max(next(power * times for times in (1, 2, 5, 10) if power * times >= rough), least)
    return [step * number for number in range(floor(highest / step) + 1)]


def _number(value: float) -> str:
    if value >= 1_000_000:
        return f"{value / 1_000_000:,g}M"
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.2g}"


def _text(text: str) -> str:
    """A text that may stand in XML: names of files may hold anything."""
    return escape("".join(sign if sign.isprintable() else "\ufffd" for sign in text))


def _style() -> str:
    plain = (
        "text{font:12px system-ui,sans-serif;fill:#555}.title{font-size:18px;font-weight:600;fill:#111}"
        ".head,.name{font-weight:600;fill:#222}.end{text-anchor:end}.middle{text-anchor:middle}"
        ".paper{fill:#fff}.grid{stroke:#ddd}.break{stroke:#ececec}.limit{stroke:#333;stroke-dasharray:2 3}"
        ".line{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}"
    )
    dark = (
        "text{fill:#b4b4b4}.title{fill:#f4f4f4}.head,.name{fill:#e4e4e4}.paper{fill:#16181c}"
        ".grid{stroke:#363a42}.break{stroke:#24272d}.limit{stroke:#ddd}"
    )
    dashes = "".join(f".s{n}{{stroke-dasharray:{dash}}}" for n, dash in enumerate(_DASHES))
    return f"{plain}{dashes}{_colours(_LIGHT)}@media (prefers-color-scheme:dark){{{dark}{_colours(_DARK)}}}"


def _colours(colours: Sequence[str]) -> str:
    return "".join(f".s{number}{{stroke:{colour}}}" for number, colour in enumerate(colours))
