"""Which parts of a page nobody sees, and where each ends, also where no tag of its own ends it."""

import re
from collections import Counter
from collections.abc import Mapping

Attributes = Mapping[str, str | None]

IN_LINE = frozenset(
    (
        *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "blink", "cite", "code", "data", "del", "dfn"),
        *("em", "font", "i", "img", "input", "ins", "kbd", "label", "mark", "meter", "nobr", "output"),
        *("picture", "progress", "q", "rb", "rp", "rt", "rtc", "ruby", "s", "samp", "small", "source"),
        *("span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr"),
    )
)
_EMPTY = "area base br col embed frame hr img input link meta param source track wbr"
EMPTIES = frozenset(_EMPTY.split())
"""Tags that hold nothing, and so end where they begin."""

_UNSEEN = frozenset(("script", "style", "noscript", "template", "svg", "iframe", "object"))
_AROUND = frozenset(("nav", "footer", "button", "select", "dialog"))
_NAMES = frozenset(("h1", "h2", "h3", "h4", "h5", "h6", "dt", "summary"))
"""They name what comes after them, and a button in them is what shows that: its words are the name."""

_MAIN = frozenset(("main", "article", "h1"))
_WHOLE = frozenset(("html", "body"))
"""A page that is hidden whole is shown by a script, or it has no reader at all."""

_HIDES = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))\s*(?:!|;|$)", re.IGNORECASE
)

_CELL = frozenset(("p", "td", "th"))
_ROWS = frozenset(("thead", "tbody", "tfoot"))
_ENDED_BY = {
    "li": frozenset(("p", "li")),
    **dict.fromkeys(("dt", "dd"), frozenset(("p", "dt", "dd"))),
    **dict.fromkeys(("td", "th"), _CELL),
    "tr": _CELL | {"tr"},
    **dict.fromkeys(_ROWS, _CELL | {"tr"} | _ROWS),
}
_A_PARAGRAPH = frozenset(("p",))
_REACH = 100
"""So many tags within lines are looked past: pages may have them open without end."""


def hides(tag: str, attributes: Attributes) -> bool:
    """Whether a tag says that it is not shown."""
    if tag in _WHOLE:
        return False
    return "hidden" in attributes or _HIDES.search(_uncommented(attributes.get("style") or "")) is not None


def _uncommented(style: str) -> str:
    first, *others = style.split("/*")
    return first + "".join(other.partition("*/")[2] for other in others)


class Unseen:
    """The tags that are open at a point of a page, and whether what stands there is left out."""

    def __init__(self) -> None:
        self._open: list[str] = []
        self._count: Counter[str] = Counter()
        self._first: int | None = None
        """Which of those that are open began what is left out."""

    @property
    def is_inside(self) -> bool:
        return self._first is not None

    def is_within(self, tag: str) -> bool:
        return self._count[tag] > 0

    def begins(self, tag: str, attributes: Attributes) -> bool:
        """A tag begins; whether it is left out."""
        if tag in EMPTIES:
            return self.is_inside or hides(tag, attributes)
        self._end_what_it_ends(tag)
        if self._first is None and (self._is_left_out(tag, attributes) or hides(tag, attributes)):
            self._first = len(self._open)
        self._open.append(tag)
        self._count[tag] += 1
        return self.is_inside

    def _is_left_out(self, tag: str, attributes: Attributes) -> bool:
        """Whether a tag has nothing to read, or what is there to get about."""
        if tag == "button" and any(map(self.is_within, _NAMES)):
            return False
        return tag in _UNSEEN or tag in _AROUND or attributes.get("role") == "navigation"

    def ends(self, tag: str) -> bool:
        """A tag ends; whether what it ends was left out."""
        at = self._begun(tag)
        if at is None:
            return self.is_inside
        was_left_out = self._first is not None and at >= self._first
        self._close(at)
        return was_left_out

    def _end_what_it_ends(self, tag: str) -> None:
        """End what has no end of its own where this begins, and what nobody closed before the page's text."""
        first = self._first
        if first is not None and (tag == "body" or (tag in _MAIN and self._open[first] in _AROUND)):
            self._close(first)
        if tag in IN_LINE:
            return
        ended = _ENDED_BY.get(tag, _A_PARAGRAPH)
        at = looked = len(self._open)
        while looked and at - looked < _REACH:
            looked -= 1
            if self._open[looked] in ended:
                self._close(at := looked)
            elif self._open[looked] not in IN_LINE:
                break

    def _begun(self, tag: str) -> int | None:
        """Where that began which a tag ends; one within lines ends no block, and neither does a paragraph."""
        if not self._count[tag]:
            return None
        is_weak = tag in IN_LINE or tag == "p"
        for at in range(len(self._open) - 1, -1, -1):
            if self._open[at] == tag:
                return at
            if is_weak and (self._open[at] not in IN_LINE or len(self._open) - at > _REACH):
                break
        return None

    def _close(self, at: int) -> None:
        self._count.subtract(self._open[at:])
        del self._open[at:]
        if self._first is not None and at <= self._first:
            self._first = None
